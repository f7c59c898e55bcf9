"""Every event that the stand-in can push is read by nonebot's models, and read as we read it."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from perlica.clients.onebot import parse_message
from perlica.demo.napcat import NapCatStandIn, Settings
from perlica.demo.napcat import segments as s
from perlica.domain.ids import UserId
from perlica.domain.message import SegmentKind
from tests.demo.peer import Peer

pytestmark = pytest.mark.timeout(180)
MING, JIE = 30001, 30003
SCRIPT = Path(__file__).with_name("read_with_nonebot.py")
MESSAGES: list[list[s.Segment]] = [
    [s.text("你好 &[CQ:at,qq=all]")],
    [s.at(10000), s.text(" 帮我看下")],
    [s.at("all"), s.text(" 开会")],
    [s.image("a.png"), s.text("看图")],
    [s.file("报告.pdf", "/uuid")],
    [s.record("voice.amr")],
    [s.video("clip.mp4")],
    [s.face(178, "/斜眼笑")],
    [s.forward("7300000000000000000")],
    [s.card({"app": "x", "prompt": "[QQ小程序]x"})],
    [s.markdown("# 标题")],
    [s.dice(3), s.rps(1), s.poke(1, -1)],
    [s.market_face("[赞]", "0123456789abcdef0123456789abcdef")],
]
NOTICES = {
    "group_recall": "GroupRecallNoticeEvent",
    "group_ban": "GroupBanNoticeEvent",
    "group_decrease": "GroupDecreaseNoticeEvent",
    "group_upload": "GroupUploadNoticeEvent",
}


def read_with_nonebot(python: Path, frames: list[dict[str, Any]]) -> list[dict[str, Any]]:
    lines = "".join(f"{json.dumps(frame)}\n" for frame in frames)
    done = subprocess.run(
        [str(python), str(SCRIPT)], input=lines, capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


@pytest.mark.parametrize("form", ["array", "string"])
def test_messages_are_read_as_we_read_them(nonebot_python: Path, form: Any) -> None:
    settings = Settings(message_format=form, heartbeat_interval_ms=0)
    with NapCatStandIn(settings=settings) as napcat, Peer(napcat) as peer:
        peer.frame()
        for message in MESSAGES:
            napcat.say(MING, message)
        frames = [f for f in peer.frames_so_far() if f["post_type"] == "message"]

    theirs = read_with_nonebot(nonebot_python, frames)

    assert len(theirs) == len(MESSAGES)
    for frame, read in zip(frames, theirs, strict=True):
        ours = parse_message(frame, self_id=UserId(10000))
        text = "".join(x.text for x in ours.segments if x.kind is SegmentKind.text)
        assert read["model"] == "GroupMessageEvent"
        assert (read["user_id"], read["group_id"]) == (ours.user_id, ours.group_id)
        assert read["message_id"] == ours.message_id
        assert len(read["segments"]) == len(ours.segments)
        assert read["text"] == text


def test_notices_and_meta_events_are_read(nonebot_python: Path, napcat: NapCatStandIn) -> None:
    with Peer(napcat) as peer:
        lifecycle = peer.frame()
        said = napcat.say(JIE, [s.file("a.txt", "/uuid")])
        napcat.recall(said)
        napcat.mute_bot()
        napcat.remove_bot()
        napcat.beat()
        frames = [lifecycle, *peer.frames_so_far()]

    read = read_with_nonebot(nonebot_python, frames)

    models = {
        f.get("notice_type") or f.get("meta_event_type"): r["model"]
        for f, r in zip(frames, read, strict=True)
    }
    assert models.items() >= NOTICES.items()
    assert models["lifecycle"] == "LifecycleMetaEvent"
    assert models["heartbeat"] == "HeartbeatMetaEvent"


def test_answers_are_no_events(nonebot_python: Path, napcat: NapCatStandIn) -> None:
    with Peer(napcat) as peer:
        peer.frame()
        answer = peer.answer("get_login_info", {})

    (read,) = read_with_nonebot(nonebot_python, [answer])

    assert read["model"] is None
