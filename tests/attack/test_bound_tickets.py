"""What a ticket is bound to: one plan, one target, these Owners, ten minutes, one execution."""

from dataclasses import replace
from pathlib import Path

import pytest
import time_machine
from hypothesis import given
from hypothesis import strategies as st

from perlica.demo.model import Held, Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from perlica.demo.napcat.faults import Refuse
from perlica.domain.plan import ActionPlan, Origin, hash_plan
from perlica.stores.database import Database
from tests.attack.test_approvals import DELETIONS, PENDING
from tests.behaviour.asking import APPROVE, ask_for_delete, create, delete
from tests.behaviour.live import (
    MEMBER,
    OTHER_OWNER,
    OWNER,
    PATIENCE_S,
    TOMORROW_S,
    LivePerlica,
    is_final,
    live_config,
    wait_until,
)

PLAN = ActionPlan(
    action="sandbox.delete",
    origin=Origin(kind="task", id="T-AAAAAA"),
    identity="sandboxd",
    target={"sandbox": "main", "instance": "i1"},
    scope="sandbox",
    effect={"files": "destroyed"},
    destination="node:n1",
    expected="deleted",
    policy_version="1",
    display={"purpose": "one"},
)


@pytest.mark.evidence(9)
@pytest.mark.parametrize(
    "changed",
    [
        {"action": "sandbox.stop"},
        {"origin": Origin(kind="task", id="T-BBBBBB")},
        {"origin": Origin(kind="command", id="T-AAAAAA")},
        {"identity": "somebody"},
        {"target": {"sandbox": "main", "instance": "i2"}},
        {"scope": "service"},
        {"effect": {"files": "kept"}},
        {"effect": {"files": "destroyed", "more": 1}},
        {"destination": "node:n2"},
        {"expected": "gone"},
        {"policy_version": "2"},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_any_change_of_a_plan_makes_another_plan(changed: dict[str, object]) -> None:
    assert hash_plan(replace(PLAN, **changed)) != hash_plan(PLAN)  # type: ignore[arg-type]


@pytest.mark.evidence(9)
@given(wording=st.dictionaries(st.text(max_size=10), st.text(max_size=30), max_size=3))
def test_wording_is_no_part_of_what_is_approved(wording: dict[str, str]) -> None:
    assert hash_plan(replace(PLAN, display=dict(wording))) == hash_plan(PLAN)


@pytest.mark.evidence(9)
def test_a_target_that_changed_after_the_question_needs_a_new_approval(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    question, ticket, code = ask_for_delete(napcat, model)
    with Database.open(live.path) as database, database.transaction():
        database.change("UPDATE sandboxes SET instance = 'another' WHERE name = 'main'")

    napcat.say(OWNER, f".approve {ticket} {code}")

    changed = napcat.wait_for_reply(lambda m: "情况变了" in m.text, after=question)
    again = napcat.wait_for_reply(lambda m: bool(APPROVE.search(m.text)), after=changed)
    assert ticket in changed.text
    assert ticket not in again.text
    assert live.count(DELETIONS) == 0
    assert live.count(PENDING) == 1
    assert live.count("SELECT count(*) FROM approvals WHERE state = 'void'") == 1


@pytest.mark.evidence(9)
def test_a_target_that_is_gone_at_the_approval_voids_the_ticket_and_says_so(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    question, ticket, code = ask_for_delete(napcat, model)
    model.add(Reply(text="它已经不在了"))
    with Database.open(live.path) as database, database.transaction():
        database.change("UPDATE sandboxes SET state = 'lost', slot = NULL, ended_at_ms = 1")

    napcat.say(OWNER, f".approve {ticket} {code}")

    void = napcat.wait_for_reply(lambda m: "已作废" in m.text, after=question)
    napcat.wait_for_reply(is_final, after=question)
    assert ticket in void.text
    assert live.count(DELETIONS) == 0


@pytest.mark.evidence(9)
def test_a_member_who_tries_the_right_code_stands_in_the_audit(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    _, ticket, code = ask_for_delete(napcat, model)

    said = napcat.say(MEMBER, f".approve {ticket} {code}")
    answer = napcat.wait_for_reply(after=said)

    tried = f"""SELECT count(*) FROM audit_events WHERE kind = 'ticket.decision'
        AND actor = 'member:{MEMBER}' AND json_extract(detail, '$.verdict') = 'not_owner'"""
    assert "Owner" in answer.text
    assert live.count(tried) == 1
    assert live.count(PENDING) == 1


@pytest.mark.evidence(9)
def test_a_consumed_ticket_is_refused_in_a_later_task_and_after_a_restart(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    question, ticket, code = ask_for_delete(napcat, model)
    model.add(Reply(text="删好了"), Reply(calls=(create(), delete())))
    napcat.say(OWNER, f".approve {ticket} {code}")
    first = napcat.wait_for_reply(is_final, after=question)

    napcat.say(MEMBER, "再建再删", mention=True)
    second = napcat.wait_for_reply(lambda m: bool(APPROVE.search(m.text)), after=first)
    old = napcat.say(OWNER, f".approve {ticket} {code}")
    refused = napcat.wait_for_reply(lambda m: ticket in m.text, after=old)
    live.stop()
    live.start()
    napcat.wait_for_connection()
    again = napcat.say(OWNER, f".approve {ticket} {code}")
    refused_again = napcat.wait_for_reply(lambda m: ticket in m.text, after=again)

    assert ticket not in second.text
    assert "已经有过结果" in refused.text
    assert "已经有过结果" in refused_again.text
    assert live.count(DELETIONS) == 1
    assert live.count(PENDING) == 1


@pytest.mark.evidence(9)
def test_somebody_who_is_no_owner_any_more_cannot_approve_what_he_was_asked(
    tmp_path: Path, live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    _, ticket, code = ask_for_delete(napcat, model)
    live.stop()
    narrowed = live_config(tmp_path, napcat, model.base_url)
    members = narrowed.members.model_copy(update={"owners": (OWNER,), "members": (OTHER_OWNER,)})
    live.config = narrowed.model_copy(update={"members": members})
    live.start()
    napcat.wait_for_connection()

    said = napcat.say(OTHER_OWNER, f".approve {ticket} {code}")
    napcat.wait_for_reply(after=said)

    assert live.count(PENDING) == 1
    assert live.count(DELETIONS) == 0


@pytest.mark.evidence(9)
def test_a_question_that_cannot_be_delivered_ends_the_wait_and_says_so(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    held = Held(reply=Reply(calls=(delete(),)))
    model.add(Reply(calls=(create(),)), held)
    asked = napcat.say(OWNER, "删掉", mention=True)
    napcat.wait_for_reply(lambda m: "已按策略自动执行" in m.text, after=asked)

    napcat.faults.next_calls(Refuse(result=-1))
    held.released.set()

    wait_until(lambda: live.count("SELECT count(*) FROM tasks WHERE ended_at_ms IS NOT NULL") == 1)
    said = napcat.wait_for_reply(lambda m: "审批消息发不出去" in m.text, after=asked)
    ended = "SELECT count(*) FROM tasks WHERE end_reason = 'approval_undeliverable'"
    assert "未完成" in said.text
    assert live.count(ended) == 1
    assert live.count(PENDING) == 0
    assert live.count(DELETIONS) == 0


@pytest.mark.evidence(9)
def test_ten_minutes_without_a_connection_expire_the_question_and_free_the_slot(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    with time_machine.travel(TOMORROW_S, tick=True) as clock:
        question, ticket, _ = ask_for_delete(napcat, model)
        model.add(Reply(text="没有人批准"), Reply(text="下一个"))
        napcat.cut_connections()

        clock.shift(601)
        wait_until(lambda: live.count("SELECT count(*) FROM tasks WHERE state='completed'") == 1)

        expired = napcat.wait_for_reply(lambda m: "已过期" in m.text, PATIENCE_S, after=question)
        napcat.wait_for_reply(is_final, PATIENCE_S, after=question)
        following = napcat.say(MEMBER, "下一件", mention=True)
        answer = napcat.wait_for_reply(is_final, PATIENCE_S, after=following)
    assert ticket in expired.text
    assert "下一个" in answer.text
    assert live.count(DELETIONS) == 0


@pytest.mark.evidence(9)
def test_pending_questions_stand_in_the_status(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    _, ticket, code = ask_for_delete(napcat, model)

    said = napcat.say(MEMBER, ".status")
    status = napcat.wait_for_reply(after=said)

    assert ticket in status.text
    assert code not in status.text
    assert "等待 Owner 审批" in status.text


@pytest.mark.evidence(9)
def test_a_question_whose_task_was_cancelled_before_it_went_out_is_never_asked(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(calls=(create(), delete())))
    napcat.mute_bot()
    napcat.say(OWNER, "删掉", mention=True)
    wait_until(lambda: live.count(PENDING) == 1)

    napcat.say(OWNER, ".cancel")
    wait_until(lambda: live.count("SELECT count(*) FROM tasks WHERE state='cancelled'") == 1)
    napcat.unmute_bot()

    napcat.wait_for_reply(lambda m: "已取消" in m.text, PATIENCE_S)
    assert not any(APPROVE.search(message.text) for message in napcat.sent)


@pytest.mark.evidence(1)
@pytest.mark.evidence(9)
@pytest.mark.parametrize("elsewhere", [{"group_id": 1}, {"message_type": "private"}])
def test_an_owner_cannot_approve_from_another_group_or_in_private(
    live: LivePerlica,
    model: ScriptedModel,
    napcat: NapCatStandIn,
    elsewhere: dict[str, object],
) -> None:
    _, ticket, code = ask_for_delete(napcat, model)
    frame = {
        "post_type": "message",
        "message_type": "group",
        "sub_type": "normal",
        "group_id": napcat.group_id,
        "user_id": OWNER,
        "self_id": napcat.self_id,
        "time": 1_796_036_873,
        "message_id": 4_711,
        "real_seq": "4711",
        "message": [{"type": "text", "data": {"text": f".approve {ticket} {code}"}}],
    }

    napcat.inject({**frame, **elsewhere})
    said = napcat.say(OWNER, ".status")
    status = napcat.wait_for_reply(after=said)

    assert ticket in status.text
    assert live.count(PENDING) == 1
    assert live.count(DELETIONS) == 0
    assert live.count("SELECT count(*) FROM commands") == 1


@pytest.mark.evidence(9)
def test_a_clock_that_is_set_back_by_an_hour_ends_a_ticket_instead_of_prolonging_it(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    with time_machine.travel(TOMORROW_S, tick=True) as clock:
        question, ticket, code = ask_for_delete(napcat, model)
        model.add(Reply(text="没有删"))
        clock.shift(590)
        clock.shift(-3600)

        said = napcat.say(OWNER, f".approve {ticket} {code}")
        napcat.wait_for_reply(lambda m: ticket in m.text, after=said)
        napcat.wait_for_reply(is_final, after=question)

        assert live.count(DELETIONS) == 0
        assert live.count("SELECT count(*) FROM approvals WHERE state = 'expired'") == 1
