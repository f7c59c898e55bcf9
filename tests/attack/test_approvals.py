"""Nothing risky runs without one Owner spending one ticket on exactly that plan."""

import json

import pytest
import time_machine

from perlica.demo.model import Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from perlica.demo.napcat.segments import Segment
from tests.behaviour.asking import ask_for_delete, delete
from tests.behaviour.live import (
    GUEST,
    MEMBER,
    OTHER_OWNER,
    OWNER,
    TOMORROW_S,
    LivePerlica,
    is_final,
    wait_until,
)

DELETIONS = "SELECT count(*) FROM operations WHERE action = 'sandbox.delete'"
PENDING = "SELECT count(*) FROM approvals WHERE state = 'pending'"


@pytest.mark.evidence(9)
def test_an_approved_delete_runs_once_and_the_same_approval_again_is_refused(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    question, ticket, code = ask_for_delete(napcat, model)
    model.add(Reply(text="删好了"))

    napcat.say(OTHER_OWNER, f".approve {ticket} {code}")
    napcat.wait_for_reply(is_final, after=question)
    again = napcat.say(OTHER_OWNER, f".approve {ticket} {code}")
    napcat.wait_for_reply(after=again)

    assert live.count(DELETIONS + " AND state = 'succeeded'") == 1
    assert live.count(DELETIONS) == 1
    assert live.backend.reconcile() == ()


@pytest.mark.evidence(9)
def test_nothing_is_deleted_while_nobody_has_approved(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    ask_for_delete(napcat, model)

    napcat.say(OWNER, "我同意，批准了，快删吧")
    said = napcat.say(OWNER, ".status")
    napcat.wait_for_reply(after=said)

    assert live.count(DELETIONS) == 0
    assert live.count(PENDING) == 1


@pytest.mark.evidence(9)
@pytest.mark.parametrize("who", [MEMBER, GUEST])
def test_somebody_who_is_no_owner_cannot_approve_with_the_right_code(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn, who: int
) -> None:
    _, ticket, code = ask_for_delete(napcat, model)

    napcat.say(who, f".approve {ticket} {code}")
    said = napcat.say(OWNER, ".status")
    napcat.wait_for_reply(lambda m: ticket in m.text, after=said)

    assert live.count(PENDING) == 1
    assert live.count("SELECT attempts FROM approvals") == 0


@pytest.mark.evidence(9)
def test_a_wrong_code_is_refused_and_five_of_them_close_the_ticket_for_the_right_one(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    _, ticket, code = ask_for_delete(napcat, model)
    wrong = f"{(int(code) + 1) % 1_000_000:06d}"

    for _ in range(5):
        said = napcat.say(OWNER, f".approve {ticket} {wrong}")
        napcat.wait_for_reply(after=said)
    said = napcat.say(OWNER, f".approve {ticket} {code}")
    napcat.wait_for_reply(after=said)

    assert live.count(DELETIONS) == 0
    assert live.count(PENDING) == 0


@pytest.mark.evidence(9)
def test_a_ticket_is_worthless_after_ten_minutes(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    with time_machine.travel(0, tick=True) as clock:
        clock.move_to(TOMORROW_S)
        question, ticket, code = ask_for_delete(napcat, model)
        model.add(Reply(text="过期了，没有删"))

        clock.shift(601)
        said = napcat.say(OWNER, f".approve {ticket} {code}")
        napcat.wait_for_reply(after=said)
        napcat.wait_for_reply(is_final, after=question)

    assert live.count(DELETIONS) == 0
    assert live.count("SELECT count(*) FROM approvals WHERE state = 'expired'") == 1


@pytest.mark.evidence(9)
def test_a_denied_delete_is_told_to_the_model_and_never_runs(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    question, ticket, _ = ask_for_delete(napcat, model)
    model.add(Reply(text="Owner 拒绝了"))

    napcat.say(OWNER, f".deny {ticket}")
    napcat.wait_for_reply(is_final, after=question)

    told = model.requests[-1]["messages"][-1]
    assert told["role"] == "tool"
    assert "denied" in told["content"]
    assert live.count(DELETIONS) == 0


@pytest.mark.evidence(10)
def test_ticket_code_and_commands_never_reach_the_model(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    question, ticket, code = ask_for_delete(napcat, model)
    model.add(Reply(text="好"), Reply(text="好"))

    napcat.say(OWNER, f".approve {ticket} {code}")
    final = napcat.wait_for_reply(is_final, after=question)
    napcat.say(OWNER, "刚才怎么样", mention=True, reply_to=question)
    napcat.wait_for_reply(is_final, after=final)

    seen = json.dumps(model.requests, ensure_ascii=False)
    assert code not in seen
    assert ticket not in seen
    assert ".approve" not in seen
    assert live.count("SELECT count(*) FROM group_messages WHERE kind = 'control'") == 1


@pytest.mark.evidence(10)
def test_an_approval_behind_a_mention_is_a_command_and_nothing_else(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    question, ticket, code = ask_for_delete(napcat, model)
    model.add(Reply(text="删好了"))

    napcat.say(OWNER, f".approve {ticket} {code}", mention=True)
    napcat.wait_for_reply(is_final, after=question)

    assert live.count(DELETIONS + " AND state = 'succeeded'") == 1
    assert live.count("SELECT count(*) FROM tasks") == 1
    assert not any("正忙" in message.text for message in napcat.sent)
    assert code not in json.dumps(model.requests, ensure_ascii=False)


@pytest.mark.evidence(10)
def test_a_forwarded_approval_puts_neither_id_nor_code_into_a_request(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    question, ticket, code = ask_for_delete(napcat, model)
    model.add(Reply(text="没有删"), Reply(text="好"))
    inner = {"message": [{"type": "text", "data": {"text": question.text}}], "user_id": 10000}
    forward: Segment = {"type": "forward", "data": {"id": "1", "content": [inner]}}

    napcat.say(MEMBER, [forward])
    napcat.say(MEMBER, question.text)
    napcat.say(OWNER, f".deny {ticket}")
    first = napcat.wait_for_reply(is_final, after=question)
    again = napcat.say(MEMBER, "把审批再发一遍", mention=True)
    napcat.wait_for_reply(is_final, after=again)

    assert first.text
    seen = json.dumps(model.requests, ensure_ascii=False)
    assert ticket not in seen
    assert code not in seen
    assert ticket.encode() not in _stored_talk(live)
    assert code.encode() not in _stored_talk(live)


def _stored_talk(live: LivePerlica) -> bytes:
    """What is kept of what members said, their commands apart: those never leave the intake."""
    with live.database() as database:
        rows = database.query("SELECT content FROM group_messages WHERE kind <> 'control'")
    return "\n".join(str(row["content"]) for row in rows).encode()


@pytest.mark.evidence(9)
def test_a_second_delete_of_the_same_task_needs_a_ticket_of_its_own(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    question, ticket, code = ask_for_delete(napcat, model)
    model.add(Reply(calls=(delete(),)), Reply(text="好"))

    napcat.say(OWNER, f".approve {ticket} {code}")
    napcat.wait_for_reply(is_final, after=question)

    assert live.count(DELETIONS) == 1
    results = [m["content"] for m in model.requests[-1]["messages"] if m["role"] == "tool"]
    assert "no sandbox" in results[-1]


@pytest.mark.evidence(9)
def test_an_approval_from_a_quote_a_second_line_or_the_model_does_nothing(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    question, ticket, code = ask_for_delete(napcat, model)

    napcat.say(OWNER, f"我来\n.approve {ticket} {code}")
    napcat.say(OWNER, f".approve {ticket} {code}", reply_to=question)
    said = napcat.say(OWNER, ".status")
    napcat.wait_for_reply(lambda m: "T-" in m.text, after=said)

    assert live.count(PENDING) == 1
    assert live.count(DELETIONS) == 0


@pytest.mark.evidence(9)
def test_cancelling_the_task_makes_its_ticket_worthless(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    _, ticket, code = ask_for_delete(napcat, model)

    napcat.say(OWNER, ".cancel")
    wait_until(lambda: live.count("SELECT count(*) FROM tasks WHERE state = 'cancelled'") == 1)
    said = napcat.say(OWNER, f".approve {ticket} {code}")
    napcat.wait_for_reply(after=said)

    assert live.count(DELETIONS) == 0
