"""What the whole service makes of messages as NapCat really brings them: order, mentions, media."""

import json
import time

import pytest
import time_machine

from perlica.demo.model import Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from perlica.demo.napcat import segments as s
from perlica.demo.napcat.faults import Swap
from tests.behaviour.conftest import live, make_live, model
from tests.behaviour.live import GUEST, MEMBER, OWNER, LivePerlica, is_final, marker, wait_until

__all__ = ["live", "make_live", "model"]

COUNT = "SELECT count(*) FROM group_messages"


def _is_stored(live: LivePerlica, *words: str) -> bool:
    return all(live.count(f"{COUNT} WHERE content LIKE '%{word}%'") for word in words)


def test_two_messages_that_share_an_id_are_two_messages(
    live: LivePerlica, napcat: NapCatStandIn
) -> None:
    first, second = marker(), marker()
    one = napcat.say(MEMBER, first)

    napcat.say(OWNER, second, message_id=one.message_id)

    wait_until(lambda: _is_stored(live, first, second), what="both")


def test_the_window_has_the_groups_order_whatever_the_order_of_arrival(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(text="好"))
    earlier, later = marker(), marker()
    napcat.faults.next_events(Swap())

    napcat.say(MEMBER, earlier)
    napcat.say(MEMBER, later)
    wait_until(lambda: _is_stored(live, earlier, later), what="both")
    asked = napcat.say(OWNER, "哪句先说的", mention=True)
    napcat.wait_for_reply(is_final, after=asked)

    seen = json.dumps(model.requests[0], ensure_ascii=False)
    assert seen.index(earlier) < seen.index(later)


@pytest.mark.parametrize(
    "message",
    [
        [s.at("all"), s.text(" 开会")],
        [s.text("@Perlica 帮我看看")],
        [s.text("[CQ:at,qq=10000] 帮我看看")],
        [s.at(30001), s.text(" 帮我看看")],
        [s.card({"app": "x", "prompt": "@Perlica", "at": [{"qq": "10000"}]})],
        [s.forward("7300000000000000000")],
    ],
    ids=["all", "pasted", "cq text", "somebody else", "card", "forward"],
)
def test_nothing_but_a_real_mention_makes_a_task(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn, message: list[s.Segment]
) -> None:
    model.add(Reply(text="好"))

    napcat.say(OWNER, message)
    asked = napcat.say(OWNER, "在吗", mention=True)
    napcat.wait_for_reply(is_final, after=asked)

    assert live.count("SELECT count(*) FROM tasks") == 1


def test_a_bare_mention_is_told_how_to_ask_and_with_a_quote_it_is_a_task(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(text="好"))
    word = marker()
    quoted = napcat.say(MEMBER, word)

    bare = napcat.say(OWNER, [s.at(napcat.self_id)])
    hint = napcat.wait_for_reply(after=bare)
    asked = napcat.say(OWNER, [s.at(napcat.self_id)], reply_to=quoted)
    napcat.wait_for_reply(is_final, after=asked)

    assert "@" in hint.text
    assert live.count("SELECT count(*) FROM tasks") == 1
    sql = "SELECT quoted_message_id FROM group_messages WHERE kind = 'trigger' ORDER BY id DESC"
    assert live.count(sql) == quoted.message_id
    assert word in json.dumps(model.requests, ensure_ascii=False)


def test_an_empty_message_is_a_message(live: LivePerlica, napcat: NapCatStandIn) -> None:
    napcat.say(MEMBER, [])

    wait_until(lambda: live.count(COUNT) == 1, what="stored")


def test_a_name_or_a_rank_of_qq_gives_nobody_a_right(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(text="好"))
    napcat.change_card(GUEST, "小明")
    said = napcat.say(GUEST, "做一件事", mention=True)
    frame = napcat.event_of(said)

    napcat.inject(
        {
            **frame,
            "message_id": 5,
            "real_seq": "9000",
            "sender": {**frame["sender"], "role": "owner"},
        }
    )
    asked = napcat.say(OWNER, "在吗", mention=True)
    napcat.wait_for_reply(is_final, after=asked)

    assert live.count("SELECT count(*) FROM tasks") == 1
    assert len(napcat.sent) == 1


def test_of_media_only_metadata_is_kept_and_no_address(
    live: LivePerlica, napcat: NapCatStandIn
) -> None:
    key = marker()
    address = f"https://multimedia.nt.qq.com.cn/download?appid=1407&rkey={key}"
    napcat.say(MEMBER, [s.image("ABC.png", url=address), s.text("看图")])
    napcat.say(MEMBER, [s.file("报告.pdf", "/uuid-7", size_bytes=2048)])

    wait_until(lambda: live.count("SELECT count(*) FROM attachments") == 2, what="metadata")

    assert live.count("SELECT size_bytes FROM attachments WHERE kind = 'file'") == 2048
    assert key.encode() not in live.raw_files()
    assert b"multimedia.nt.qq" not in live.raw_files()


def test_a_trigger_that_is_recalled_before_it_began_is_cancelled(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    napcat.say(GUEST, "说来话长，" * 4_000)  # intake is busy with this one for a moment

    asked = napcat.say(MEMBER, "做一件事", mention=True)
    napcat.recall(asked)
    ended = napcat.wait_for_reply(lambda m: "撤回" in m.text, after=asked)

    assert "已取消" in ended.text
    assert not model.requests


def test_deleted_talk_is_in_no_file_after_its_day(live: LivePerlica, napcat: NapCatStandIn) -> None:
    """The service's own retention, its clean-up at a start, and the history of NapCat together."""
    word = marker()
    napcat.say(MEMBER, word)
    wait_until(lambda: _is_stored(live, word), what="stored")
    assert word.encode() in live.raw_files()
    live.stop()

    with time_machine.travel(_days_from_now(91)):
        live.start()
        wait_until(lambda: not _is_stored(live, word), what="deleted")
        wait_until(lambda: word.encode() not in live.raw_files(), what="gone from the files")
        napcat.wait_for_call("get_group_msg_history", number=2)
        after = marker()
        napcat.say(MEMBER, after)
        wait_until(lambda: _is_stored(live, after), what="caught up")
        live.stop()

    assert word.encode() not in live.raw_files()


def _days_from_now(days: int) -> float:
    return time.time() + days * 86_400
