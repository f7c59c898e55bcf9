"""What an answer says about a send; whatever is not certain is unknown (S01 to S03, O3, O4)."""

import json
from typing import Any

import pytest

from perlica.clients.onebot import (
    SendOutcome,
    build_call,
    build_send,
    classify_send_failure,
    hash_text,
    look_for_text,
    new_echo,
)
from perlica.domain.errors import Refused
from perlica.domain.ids import GroupId, MessageId, UserId
from perlica.protection import Channel, not_scanned, protect
from tests.napcat.rig import BOT, MING, OUR_GROUP

EVENT_RET = 'EventRet:\n{{\n    "result": {result},\n    "errMsg": "发送失败"\n}}\n'


def refused(result: int) -> str:
    return f"EventChecker Failed: NTEvent serviceAndMethod:x {EVENT_RET.format(result=result)}"


def answer(retcode: int, message: str = "", **changes: Any) -> dict[str, Any]:
    status = "ok" if retcode == 0 else "failed"
    fields = {"status": status, "retcode": retcode, "data": None, "message": message}
    return {**fields, "wording": message, "echo": "e", **changes}


CASES = [
    (answer(0, data={"message_id": 214047596}), "sent"),
    (answer(0, data={"message_id": "214047596"}), "sent"),
    (answer(0), "unknown"),
    (answer(0, status="async", data={"message_id": 1}), "unknown"),
    (answer(1400, "Schema compilation error"), "not_sent_retry"),
    (answer(1404, "不支持的API x"), "not_sent_retry"),
    (answer(1403, "token验证失败"), "not_sent_retry"),
    (answer(1200, refused(120)), "refused_muted"),
    (answer(1200, refused(110)), "refused_removed"),
    (answer(1200, refused(1006514)), "offline"),
    (answer(1200, refused(-1)), "refused_content"),
    (answer(1200, refused(7)), "not_sent_retry"),
    (answer(1200, refused(0)), "unknown"),
    (answer(1200, f"Timeout: NTEvent x {EVENT_RET.format(result=0)}"), "unknown"),
    (answer(1200, "Timeout: NTEvent x EventRet:\n{}\n"), "unknown"),
    (answer(1200, "消息体无法解析, 请检查是否发送了不支持的消息类型"), "refused_content"),
    (answer(1200, "未知的消息类型：wat"), "refused_content"),
    (answer(1200, "请指定正确的 group_id 或 user_id"), "refused_content"),
    (answer(1200, "Get Uid Error"), "unknown_mention"),
    (answer(1200, "something new"), "unknown"),
    (answer(1200, "prefix EventChecker Failed"), "unknown"),
    (answer(1, ""), "unknown"),
    ({}, "unknown"),
    ({"retcode": None, "message": ["x"]}, "unknown"),
]


@pytest.mark.parametrize(("response", "outcome"), CASES)
def test_an_answer_is_classified(response: dict[str, Any], outcome: str) -> None:
    assert classify_send_failure(response) is SendOutcome(outcome)


def test_a_send_is_segments_with_ids_as_strings_and_a_deadline() -> None:
    frame = build_send(
        GroupId(OUR_GROUP),
        protect("[CQ:at,qq=all] 结果", Channel.OUTBOX),
        reply_to=MessageId(-5),
        at_user=UserId(MING),
        echo="e1",
        timeout_ms=15_000,
    )

    assert frame["action"] == "send_group_msg"
    assert frame["echo"] == "e1"
    assert frame["params"]["group_id"] == str(OUR_GROUP)
    assert frame["params"]["timeout"] == 15_000
    assert frame["params"]["message"] == [
        {"type": "reply", "data": {"id": "-5"}},
        {"type": "at", "data": {"qq": str(MING)}},
        {"type": "text", "data": {"text": " [CQ:at,qq=all] 结果"}},
    ]
    assert json.dumps(frame).isascii()


@pytest.mark.parametrize("text", [not_scanned(), protect(" \n", Channel.OUTBOX)])
def test_an_unscanned_or_empty_text_is_never_built(text: Any) -> None:
    with pytest.raises(Refused):
        build_send(GroupId(OUR_GROUP), text, reply_to=None, at_user=None, echo="e", timeout_ms=1)


def test_only_listed_actions_can_be_built() -> None:
    with pytest.raises(Refused):
        build_call("set_group_kick", {}, echo=new_echo())


def test_echoes_do_not_repeat() -> None:
    assert len({new_echo() for _ in range(1000)}) == 1000


# -- traces ------------------------------------------------------------------------------------


def seen(text: str, *, user: int = BOT, at_s: int = 100, message_id: int = 1) -> dict[str, Any]:
    return {
        "self_id": BOT,
        "user_id": user,
        "time": at_s,
        "message_id": message_id,
        "real_seq": str(at_s),
        "message_type": "group",
        "post_type": "message_sent" if user == BOT else "message",
        "group_id": OUR_GROUP,
        "message": [{"type": "text", "data": {"text": text}}],
    }


def look(messages: list[Any]) -> Any:
    response = answer(0, data={"messages": messages})
    fingerprint = hash_text("结果")
    return look_for_text(response, fingerprint, self_id=UserId(BOT), since_ms=95_000)


def test_our_text_after_the_attempt_is_a_trace() -> None:
    assert look([seen("结果", message_id=7), seen("别的")]).message_ids == (7,)


def test_older_other_or_foreign_texts_are_none() -> None:
    page = [seen("结果", at_s=90), seen("结果", user=MING), seen("结果 2"), "x", {"message": 1}]

    trace = look(page)

    assert trace.message_ids == ()
    assert trace.reaches_back


@pytest.mark.parametrize("size", [1, 20])
def test_a_page_of_newer_messages_proves_nothing_however_short_it_is(size: int) -> None:
    """NapCat leaves out of a page what it cannot show."""
    page = [seen(f"别的 {n}", user=MING, at_s=100 + n, message_id=n) for n in range(size)]

    trace = look(page[::-1])

    assert not trace.reaches_back
    assert (trace.oldest_id, trace.size) == (0, size)


@pytest.mark.parametrize(
    "response",
    [
        None,
        answer(1200, "x"),
        answer(0, data={"messages": 1}),
        answer(0, data={"messages": [{"message": 1}]}),
    ],
)
def test_no_readable_page_is_no_proof(response: Any) -> None:
    trace = look_for_text(response, "0", self_id=UserId(BOT), since_ms=0)

    assert not trace.is_readable
