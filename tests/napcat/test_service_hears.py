"""The whole service hears the group: receipts, recalls, what was missed, and lies of its NapCat."""

import json
import time
from typing import Any

import pytest

from perlica.demo.model import Held, Reply, ScriptedModel
from perlica.demo.napcat import Message, NapCatStandIn
from perlica.demo.napcat.faults import CloseBeforeAnswer, FailWith, NeverAnswer, TimeOut
from tests.behaviour.conftest import MakeLive, live, make_live, model
from tests.behaviour.live import MEMBER, OWNER, LivePerlica, is_final, marker, wait_until
from tests.protection.failing import failing_rule

__all__ = ["live", "make_live", "model"]

REACTION = "set_msg_emoji_like"
COUNT = "SELECT count(*) FROM group_messages"


def _answer(napcat: NapCatStandIn, model: ScriptedModel) -> Message:
    """The service is well: a question gets its answer."""
    model.add(Reply(text="好"))
    asked = napcat.say(OWNER, "还在吗", mention=True)
    return napcat.wait_for_reply(is_final, after=asked)


# -- receipts ----------------------------------------------------------------------------------


def test_a_task_that_was_taken_is_marked_on_its_message(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    held = Held(reply=Reply(text="好"))
    model.add(held)
    wait_until(lambda: live.wires.connection_fault == "")

    first = napcat.say(MEMBER, "做一件事", mention=True)
    call = napcat.wait_for_call(REACTION)
    second = napcat.say(OWNER, "也做一件", mention=True)
    napcat.wait_for_reply(lambda m: "正忙" in m.text, after=second)
    held.released.set()
    napcat.wait_for_reply(is_final, after=first)

    assert call.params["message_id"] == str(first.message_id)
    assert [c.action for c in napcat.calls].count(REACTION) == 1


@pytest.mark.parametrize("fault", [FailWith(text="no"), NeverAnswer()], ids=["fails", "silent"])
def test_a_mark_that_cannot_be_set_costs_nothing_and_is_not_repeated(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn, fault: Any
) -> None:
    napcat.faults.next_calls(fault, action=REACTION)
    wait_until(lambda: live.wires.connection_fault == "")

    _answer(napcat, model)
    napcat.wait_for_call(REACTION)
    _answer(napcat, model)
    napcat.wait_for_call(REACTION, number=2)

    assert [c.action for c in napcat.calls].count(REACTION) == 2


def test_marks_can_be_turned_off(
    make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    live = make_live(model.base_url)
    live.stop()
    outbox = live.config.outbox.model_copy(update={"receipt_emoji_id": 0})
    live.config = live.config.model_copy(update={"outbox": outbox})
    live.start()

    _answer(napcat, model)

    assert REACTION not in [call.action for call in napcat.calls]


# -- recalls and what was missed ---------------------------------------------------------------


def test_a_recall_that_names_another_author_takes_nothing_back(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    held = Held(reply=Reply(text="好"))
    model.add(held)
    said = napcat.say(OWNER, "做一件事", mention=True)
    model.wait_for_request()

    napcat.inject(_recall(napcat, said, author=MEMBER))
    held.released.set()

    napcat.wait_for_reply(is_final, after=said)
    assert live.count(f"{COUNT} WHERE recalled_at_ms IS NOT NULL") == 0


def test_mentions_from_an_hour_ago_get_one_line_and_no_task(
    make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    live = make_live(model.base_url)
    _answer(napcat, model)
    live.stop()
    an_hour_ago = int(time.time()) - 3600
    for number in range(3):
        napcat.say(MEMBER, f"帮我看看 {number}", mention=True, sent_at_s=an_hour_ago + number)
    napcat.say(MEMBER, "没有提到谁", sent_at_s=an_hour_ago)
    last = napcat.say(MEMBER, ".status", sent_at_s=an_hour_ago)

    live.start()
    missed = napcat.wait_for_reply(lambda m: "离线期间" in m.text, after=last)
    _answer(napcat, model)

    assert "有 3 条" in missed.text
    assert sum("离线期间" in message.text for message in napcat.sent) == 1
    assert live.count("SELECT count(*) FROM tasks") == 2
    assert live.count(f"{COUNT} WHERE content LIKE '%帮我看看%'") == 3


# -- lies --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"message_id": "2147483647", "real_seq": 7, "user_id": str(MEMBER)},
        {"message_id": -5},
        {"message_id": str(-(2**62))},
        {"message_id": 2**63 - 1, "real_seq": str(2**63 - 1)},
        {"real_seq": "1"},
        {"real_seq": "-3"},
        {"real_seq": None},
        {"real_seq": [1]},
        {"time": 1_796_036_873_000},
        {"time": "1796036873"},
        {"time": 1},
        {"time": 99_999_999_999_999},
        {"sender": None},
        {
            "sender": {
                "user_id": MEMBER,
                "card": "【Perlica 回答】\x00\x1b[31m\u202e",
                "role": "owner",
            }
        },
        {"raw_message": None, "font": {"a": [1]}, "group_name": 5},
    ],
    ids=lambda changes: json.dumps(changes)[:40],
)
def test_a_message_with_odd_fields_is_stored_once_and_the_service_lives(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn, changes: dict[str, Any]
) -> None:
    word = marker()
    frame = _message(napcat, word) | changes

    napcat.inject(frame)
    napcat.inject(frame)
    _answer(napcat, model)

    assert live.count(f"{COUNT} WHERE content = '{word}'") == 1
    assert not live.alarm.faults


@pytest.mark.parametrize(
    "changes",
    [
        {"message_id": 2**63},
        {"message_id": "12abc"},
        {"message_id": None},
        {"user_id": 0},
        {"user_id": -30001},
        {"user_id": 2**64},
        {"sender": {"user_id": OWNER}},
        {"time": "soon"},
        {"time": -1},
        {"time": 10**18},
        {"time": None},
        {"self_id": 10001},
    ],
    ids=lambda changes: json.dumps(changes)[:40],
)
def test_a_message_that_cannot_be_believed_is_not_stored_and_the_service_lives(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn, changes: dict[str, Any]
) -> None:
    word = marker()

    napcat.inject(_message(napcat, word) | changes)
    _answer(napcat, model)

    assert live.count(f"{COUNT} WHERE content = '{word}'") == 0
    assert word.encode() not in live.raw_files()
    assert not live.alarm.faults


@pytest.mark.parametrize(
    "message",
    [
        [{"type": "text", "data": {"text": "\ud800\udfff\x00\x1b\u202e"}}],
        [{"type": "text", "data": {"text": {"text": "x"}}}] * 50,
        [{"type": "at", "data": {"qq": "10000"}}] * 5_000,
        [{"type": "text", "data": {"text": "字"}}] * 60_000,
        [{"type": "reply", "data": {"id": "9" * 400}}, {"type": None}, None, 5, "x"],
        "[CQ:at,qq=[CQ:at,qq=10000]]" * 2_000,
        "[CQ:text,text=[CQ:text,text=" * 5_000,
        {"type": "text", "data": {"text": "no list"}},
        None,
    ],
    ids=lambda message: json.dumps(message)[:30],
)
def test_odd_segments_cost_their_message_alone(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn, message: Any
) -> None:
    frame = _message(napcat, "") | {"message": message, "user_id": 39999, "sender": {}}

    napcat.inject_text(json.dumps(frame))
    _answer(napcat, model)

    assert not live.alarm.faults


def test_ten_megabytes_of_segments_cost_the_connection_and_nothing_else(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    met = napcat.connection_count
    segments = [{"type": "text", "data": {"text": "x" * 1_000}}] * 10_000

    napcat.inject(_message(napcat, "") | {"message": segments})
    wait_until(lambda: napcat.connection_count > met and bool(napcat.connections))

    _answer(napcat, model)
    assert not live.alarm.faults


def test_answers_that_nobody_asked_for_settle_nothing(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    """A peer that answers the echoes of other calls, or of none."""
    napcat.faults.next_calls(NeverAnswer(delivered=True))
    model.add(Reply(text="答案"))
    asked = napcat.say(OWNER, "问题", mention=True)
    napcat.wait_for_reply(is_final, after=asked)
    other = next(call.echo for call in napcat.calls if call.action == "get_login_info")
    body = {"status": "ok", "retcode": 0, "data": {"message_id": 1}, "message": "", "wording": ""}
    for echo in (other, "", None, 5, [], {}, "0" * 32, True):
        napcat.inject(body | {"echo": echo, "stream": "normal-action"})

    _answer(napcat, model)

    assert live.count("SELECT count(*) FROM outbox_messages WHERE sent_message_id = 1") == 0
    assert len(napcat.sent) == 2


@pytest.mark.parametrize(
    "fault", [TimeOut(delivered=True), CloseBeforeAnswer(delivered=True)], ids=["timeout", "drop"]
)
def test_a_clock_of_qq_that_is_behind_doubles_nothing(
    make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn, fault: Any
) -> None:
    napcat.kernel.put_clock_back(90)
    live = make_live(model.base_url)
    napcat.faults.next_calls(fault)

    _answer(napcat, model)

    settled = "SELECT count(*) FROM outbox_messages WHERE state = 'sent'"
    wait_until(lambda: live.count(settled) == 1, what="the answer is known to be sent")
    assert len(napcat.sent) == 1
    assert live.count("SELECT sum(possible_duplicate) FROM outbox_messages") == 0


def test_the_same_message_under_another_id_makes_one_task(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    """A NapCat that was replaced by a version which makes its ids in another way."""
    model.add(Reply(text="好"))
    asked = napcat.say(OWNER, "只做一次", mention=True)
    napcat.wait_for_reply(is_final, after=asked)

    napcat.inject(dict(napcat.event_of(asked)) | {"message_id": asked.message_id ^ 1})
    _answer(napcat, model)

    assert live.count("SELECT count(*) FROM tasks") == 2
    assert live.count(f"{COUNT} WHERE content LIKE '%只做一次%'") == 1


def test_a_storm_of_broken_connections_ends_in_one_and_loses_nothing(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    words = [marker() for _ in range(10)]
    for number, word in enumerate(words):
        napcat.wait_for_connection()
        napcat.cut_connections(reset=bool(number % 2))
        napcat.say(MEMBER, word)

    wait_until(
        lambda: all(live.count(f"{COUNT} WHERE content = '{word}'") == 1 for word in words),
        what="every message once",
    )
    _answer(napcat, model)
    assert len(napcat.connections) == 1


def test_while_nothing_can_be_scanned_nothing_is_kept_and_the_service_lives(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    word = marker()
    with failing_rule():
        napcat.say(MEMBER, word, mention=True)
        wait_until(lambda: live.count(COUNT) == 1, what="a row without text")

    _answer(napcat, model)

    assert word.encode() not in live.raw_files()
    assert live.count(f"{COUNT} WHERE protection_status = 'scan_incomplete'") == 1
    assert not live.alarm.faults


def _message(napcat: NapCatStandIn, text: str) -> dict[str, Any]:
    return {
        "self_id": napcat.self_id,
        "user_id": MEMBER,
        "time": int(time.time()),
        "message_id": 1_234_567,
        "real_seq": "7001",
        "message_type": "group",
        "sender": {"user_id": MEMBER, "nickname": "阿杰", "card": "", "role": "member"},
        "raw_message": text,
        "sub_type": "normal",
        "message": [{"type": "text", "data": {"text": text}}],
        "message_format": "array",
        "post_type": "message",
        "group_id": napcat.group_id,
    }


def _recall(napcat: NapCatStandIn, said: Message, *, author: int) -> dict[str, Any]:
    return {
        "time": int(time.time()),
        "self_id": napcat.self_id,
        "post_type": "notice",
        "group_id": napcat.group_id,
        "user_id": author,
        "operator_id": author,
        "notice_type": "group_recall",
        "message_id": said.message_id,
    }
