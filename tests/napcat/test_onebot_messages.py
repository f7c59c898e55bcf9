"""Frames become messages: both formats alike, ids in any form, dirty text clean (A5 to A11)."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from perlica.clients.onebot import (
    NoticeKind,
    clean_text,
    group_of,
    hash_message,
    hash_text,
    parse_message,
    parse_notice,
)
from perlica.demo.napcat import NapCatStandIn, Settings
from perlica.domain.ids import UserId
from perlica.domain.message import IncomingGroupMessage, SegmentKind
from tests.napcat.rig import BOT, MING, OUR_GROUP, LinkRig, settings_for

SECRET_KEY = "RKEY-4f7c-do-not-store"
IMAGE_URL = f"https://multimedia.nt.qq.com.cn/download?appid=1407&fileid=F&rkey={SECRET_KEY}"


def message_frame(message: Any, **changes: Any) -> dict[str, Any]:
    return {
        "self_id": BOT,
        "user_id": MING,
        "time": 1796028366,
        "message_id": 1883464147,
        "real_seq": "5018",
        "message_type": "group",
        "sender": {"user_id": MING, "nickname": "小明", "card": "小明的名片", "role": "member"},
        "sub_type": "normal",
        "message": message,
        "post_type": "message",
        "group_id": OUR_GROUP,
        **changes,
    }


def parse(message: Any, **changes: Any) -> IncomingGroupMessage:
    return parse_message(message_frame(message, **changes), self_id=UserId(BOT))


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "data": {"text": content}}


def at(qq: Any) -> dict[str, Any]:
    return {"type": "at", "data": {"qq": qq}}


# -- ids, time, names --------------------------------------------------------------------------


@pytest.mark.parametrize("as_text", [False, True])
def test_ids_are_taken_as_numbers_or_digit_strings(as_text: bool) -> None:
    def shape(number: int) -> Any:
        return str(number) if as_text else number

    message = parse(
        [text("x")],
        self_id=shape(BOT),
        user_id=shape(MING),
        group_id=shape(OUR_GROUP),
        message_id=shape(-77),
        real_seq=shape(5018),
        sender={"user_id": shape(MING)},
    )

    assert (message.user_id, message.group_id) == (MING, OUR_GROUP)
    assert (message.message_id, message.real_seq) == (-77, 5018)


@pytest.mark.parametrize("seq", [None, "", "x", "5018.0", 50.18, True, [5018]])
def test_a_sequence_that_is_no_number_is_none(seq: object) -> None:
    assert parse([], real_seq=seq).real_seq is None


@pytest.mark.parametrize(
    "changes",
    [
        {"self_id": 10001},
        {"self_id": None},
        {"user_id": "0"},
        {"user_id": "30001x"},
        {"user_id": True},
        {"user_id": 10**30},
        {"group_id": None},
        {"group_id": -1},
        {"message_id": None},
        {"message_id": "１２３"},
        {"time": 0},
        {"time": "soon"},
        {"time": 10**18},
        {"sender": {"user_id": 30002}},
        {"message_type": "private"},
        {"post_type": "notice"},
        {"message": None},
        {"message": 7},
    ],
)
def test_a_frame_that_is_no_message_of_ours_is_refused_by_its_field(changes: Any) -> None:
    with pytest.raises(ValueError, match=r"is|differs") as caught:
        parse_message({**message_frame([text("内容")]), **changes}, self_id=UserId(BOT))

    assert "内容" not in str(caught.value)


def test_a_refusal_never_quotes_the_value() -> None:
    with pytest.raises(ValueError, match="user_id") as caught:
        parse([], user_id="秘密")

    assert "秘密" not in str(caught.value)


def test_a_time_may_come_in_milliseconds() -> None:
    assert parse([], time=1796028366).sent_at_ms == 1796028366000
    assert parse([], time=1796028366123).sent_at_ms == 1796028366123


@pytest.mark.parametrize(
    ("sender", "name"),
    [
        ({"card": "名片", "nickname": "昵称"}, "名片"),
        ({"card": "", "nickname": "昵称"}, "昵称"),
        ({"card": "  \n ", "nickname": "昵称"}, "昵称"),
        ({"card": "两\n行", "nickname": ""}, "两 行"),
        ({"card": "假[图片]\x1b[31m"}, "假图片31m"),
        ({}, ""),
        (None, ""),
        ("x", ""),
    ],
)
def test_the_name_is_the_card_else_the_nickname_on_one_line(sender: Any, name: str) -> None:
    assert parse([], sender=sender).display_name == name


def test_our_own_messages_are_known_by_kind_or_number() -> None:
    assert parse([], post_type="message_sent", user_id=BOT, sender=None).is_self
    assert parse([], user_id=BOT, sender=None).is_self
    assert not parse([]).is_self


# -- mentions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("qq", [str(BOT), BOT])
def test_a_mention_is_an_at_segment_with_our_number(qq: object) -> None:
    assert parse([at(qq), text(" 帮忙")]).mentions_us


@pytest.mark.parametrize(
    "message",
    [
        [at("all")],
        [at(30002)],
        [text("@Perlica @10000 [CQ:at,qq=10000]")],
        [{"type": "reply", "data": {"id": "1"}}],
        [{"type": "forward", "data": {"id": "1", "content": [message_frame([at(BOT)])]}}],
        [{"type": "json", "data": {"data": '{"prompt":"@10000","at":"10000"}'}}],
        [{"type": "node", "data": {"content": [at(BOT)]}}],
        [{"type": "AT", "data": {"qq": "10000"}}],
        "&#91;CQ:at,qq=10000&#93; 帮忙",
        "[CQ:at,qq=all] 帮忙",
        "[CQ:at,qq=10000",
    ],
)
def test_nothing_else_is_a_mention(message: Any) -> None:
    assert not parse(message).mentions_us


# -- segments ----------------------------------------------------------------------------------

SEGMENTS: list[tuple[Any, str, SegmentKind]] = [
    ({"type": "image", "data": {"file": "A.png", "url": IMAGE_URL}}, "[图片]", SegmentKind.image),
    (
        {"type": "image", "data": {"file": "A.gif", "summary": "[赞]", "key": SECRET_KEY}},
        "[图片:赞]",
        SegmentKind.image,
    ),
    (
        {"type": "file", "data": {"file": "report.pdf", "file_id": "/u", "file_size": "2048"}},
        "[文件:report.pdf]",
        SegmentKind.file,
    ),
    ({"type": "record", "data": {"file": "x.amr", "path": "/app/x"}}, "[语音]", SegmentKind.audio),
    ({"type": "video", "data": {"file": "x.mp4", "url": IMAGE_URL}}, "[视频]", SegmentKind.video),
    (
        {"type": "face", "data": {"id": "178", "raw": {"faceText": "/斜眼笑"}}},
        "[表情:斜眼笑]",
        SegmentKind.face,
    ),
    ({"type": "face", "data": {"id": "178"}}, "[表情]", SegmentKind.face),
    (
        {"type": "json", "data": {"data": '{"prompt":"[QQ小程序]x","meta":{}}'}},
        "[卡片:QQ小程序x]",
        SegmentKind.card,
    ),
    ({"type": "json", "data": {"data": "[" * 60_000}}, "[卡片]", SegmentKind.card),
    ({"type": "forward", "data": {"id": "7"}}, "[合并转发]", SegmentKind.forward),
    ({"type": "markdown", "data": {"content": "# hi"}}, "[Markdown]# hi", SegmentKind.other),
    ({"type": "dice", "data": {"result": "3"}}, "[骰子:3]", SegmentKind.other),
    ({"type": "poke", "data": {"type": "1"}}, "[戳一戳]", SegmentKind.other),
    ({"type": "wat", "data": {}}, "[wat]", SegmentKind.other),
    ({"type": "w]a[t\n", "data": None}, "[wat]", SegmentKind.other),
    ({"type": "at", "data": {"qq": "x"}}, "[at]", SegmentKind.other),
    ({"type": "reply", "data": {}}, "[回复]", SegmentKind.other),
    ({}, "[未知]", SegmentKind.other),
    ("text", "[未知]", SegmentKind.other),
    ({"type": "text", "data": {"text": 7}}, "7", SegmentKind.text),
    ({"type": "text"}, "", SegmentKind.text),
]


@pytest.mark.parametrize(("raw", "shown", "kind"), SEGMENTS)
def test_a_segment_is_shown_by_a_placeholder(raw: Any, shown: str, kind: SegmentKind) -> None:
    (segment,) = parse([raw]).segments

    assert (segment.text, segment.kind) == (shown, kind)


@pytest.mark.parametrize("raw", [raw for raw, _, _ in SEGMENTS])
def test_no_segment_keeps_an_address_or_a_key(raw: Any) -> None:
    (segment,) = parse([raw]).segments

    kept = f"{segment.text} {segment.name} {segment.handle}"
    assert SECRET_KEY not in kept
    assert "://" not in kept
    assert "/app/" not in kept


def test_metadata_of_a_file_is_kept() -> None:
    data = {"file": "a/../报告.pdf", "file_id": "/uuid-file", "file_size": "2048"}
    (segment,) = parse([{"type": "file", "data": data}]).segments

    assert (segment.name, segment.handle, segment.size_bytes) == ("报告.pdf", "/uuid-file", 2048)


def test_the_order_of_segments_is_kept_and_empty_messages_are_messages() -> None:
    message = parse([{"type": "reply", "data": {"id": "9"}}, at(BOT), text(" 看看 "), at("all")])

    assert message.plain_text == f"[回复]@{BOT} 看看 @全体成员"
    assert message.quoted_id == 9
    assert parse([]).plain_text == ""


# -- text --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dirty", "clean"),
    [
        ("a\ud83d b", "a\ufffd b"),
        ("\x00a\x1b[31mb\x07", "a[31mb"),
        ("a\r\nb\rc\n\td", "a\nb\nc\n\td"),
        ("\x9b31m\x7f", "31m"),
        ("😀👨‍👩‍👧", "😀👨‍👩‍👧"),
        ("正常\u202e文字", "正常\u202e文字"),
    ],
)
def test_text_is_cleaned(dirty: str, clean: str) -> None:
    assert clean_text(dirty) == clean
    assert parse([text(dirty)]).plain_text == clean
    clean.encode()


def test_cq_text_is_unescaped_once() -> None:
    message = parse("hello &#91;CQ:at,qq=1&#93; &amp; &amp;#91; &#44;[CQ:face,id=1]尾")

    assert message.plain_text == "hello [CQ:at,qq=1] & &#91; ,[表情]尾"


def test_the_fingerprint_of_a_message_is_that_of_the_text_that_was_sent() -> None:
    sent = "第一行\r\n  第二行 "
    shown = parse([{"type": "reply", "data": {"id": "1"}}, at(MING), text(" 第一行\n  第二行")])

    assert hash_message(shown) == hash_text(sent)
    assert hash_text("甲") != hash_text("乙")


# -- notices -----------------------------------------------------------------------------------


def notice_frame(notice_type: str, **fields: Any) -> dict[str, Any]:
    head = {"time": 1796028373, "self_id": BOT, "post_type": "notice", "notice_type": notice_type}
    return {**head, "group_id": OUR_GROUP, **fields}


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        (notice_frame("group_recall", user_id=MING, message_id="5"), NoticeKind.recalled),
        (notice_frame("group_ban", sub_type="ban", user_id=BOT, duration=60), NoticeKind.muted),
        (notice_frame("group_ban", sub_type="ban", user_id=0, duration=-1), NoticeKind.muted),
        (notice_frame("group_ban", sub_type="ban", user_id=MING, duration=60), NoticeKind.other),
        (notice_frame("group_ban", sub_type="lift_ban", user_id=BOT), NoticeKind.unmuted),
        (notice_frame("group_ban", sub_type="lift_ban", user_id=0), NoticeKind.unmuted),
        (notice_frame("group_decrease", sub_type="kick_me", user_id=BOT), NoticeKind.removed),
        (notice_frame("group_decrease", sub_type="disband", user_id=0), NoticeKind.removed),
        (notice_frame("group_decrease", sub_type="leave", user_id=MING), NoticeKind.other),
        (notice_frame("bot_offline", group_id=None, user_id=BOT), NoticeKind.offline),
        (notice_frame("group_upload", user_id=MING, file={}), NoticeKind.other),
        (notice_frame("notify", sub_type="poke", user_id=BOT), NoticeKind.other),
        (notice_frame("forged_tip", sub_type=["ban"]), NoticeKind.other),
    ],
)
def test_notices_are_told_apart(frame: dict[str, Any], kind: NoticeKind) -> None:
    assert parse_notice(frame).kind is kind


def test_a_mute_of_the_whole_group_has_no_end() -> None:
    ours = parse_notice(notice_frame("group_ban", sub_type="ban", user_id=BOT, duration=60))
    whole = parse_notice(notice_frame("group_ban", sub_type="ban", user_id=0, duration=-1))

    assert (ours.duration_s, whole.duration_s) == (60, None)


def test_a_recall_without_an_id_is_refused() -> None:
    with pytest.raises(ValueError, match="message_id"):
        parse_notice(notice_frame("group_recall", user_id=MING))


# -- against recorded and real frames ----------------------------------------------------------


def test_both_formats_give_the_same_message_over_the_socket() -> None:
    seen = []
    for form in ("array", "string"):
        settings = Settings(heartbeat_interval_ms=0, message_format=form)
        with NapCatStandIn(settings=settings) as napcat, LinkRig(settings_for(napcat)) as rig:
            rig.wait_ready()
            source = napcat.say(MING, "原文", message_id=77)
            napcat.say(MING, "看 [CQ:at,qq=1] & ,", mention=True, reply_to=source)
            frame = rig.wait_text("看").frame
            seen.append(parse_message(frame, self_id=UserId(BOT)))

    array, string = seen
    assert array.segments == string.segments
    assert array.mentions_us
    assert array.quoted_id == 77


def _recorded() -> list[Any]:
    beside = Path(__file__).parents[2].parent / "shared"
    path = Path(os.environ.get("PERLICA_SHARED", beside)) / "napcat" / "golden-frames.json"
    if not path.exists():
        return []
    return list(json.loads(path.read_bytes())["cases"])


RECORDED = _recorded()


@pytest.mark.skipif(
    not RECORDED and os.environ.get("CI") != "true",
    reason="no recorded frames here (set PERLICA_SHARED)",
)
def test_every_recorded_event_is_understood_and_alike_in_both_formats() -> None:
    assert RECORDED
    by_name: dict[str, list[IncomingGroupMessage]] = {}
    for case in RECORDED:
        frames = case["frames"] if isinstance(case["frames"], list) else []
        for frame in frames:
            if not isinstance(frame, dict) or group_of(frame) is None:
                continue
            if frame.get("post_type") in {"message", "message_sent"}:
                name = case["name"].removeprefix("event ").removeprefix("string ")
                message = parse_message(frame, self_id=UserId(BOT))
                by_name.setdefault(name, []).append(message)
            elif frame.get("post_type") == "notice":
                parse_notice(frame)

    assert len(by_name) > 20
    trimmed = "leading space raw trim"  # NapCat trims the string form
    for name, messages in by_name.items():
        assert name == trimmed or all(m.segments == messages[0].segments for m in messages), name
