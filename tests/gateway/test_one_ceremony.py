"""A model's call and an Owner's order take the same way; they differ in who asks and who waits."""

import threading
from collections.abc import Mapping
from typing import Any

import pytest

from perlica.domain.approval import digest_code
from perlica.domain.cancel import CancelToken
from perlica.domain.clock import now_ms
from perlica.domain.errors import Blocked, Refused
from perlica.domain.ids import RowId, TicketId, UserId
from perlica.domain.operation import OperationState
from perlica.domain.task import TaskState
from perlica.domain.texts import Language
from perlica.gateway.core.caller import TaskCaller
from perlica.gateway.core.family import ToolFamily
from perlica.gateway.core.gateway import Gateway, GivenCall
from perlica.gateway.core.orders import Asked, Done, Orders, OrderSpec
from perlica.gateway.core.outcomes import Answered, Suspended
from perlica.gateway.core.registry import Registry
from perlica.gateway.core.tool import CallContext, Planned
from perlica.gateway.core.work import Change, Mandate, Read, Remote, ToolResult, Work
from perlica.stores.approvals import ApprovalStore
from perlica.stores.commands import CommandStore
from perlica.stores.database import Database
from perlica.stores.service import ServiceStore
from perlica.stores.tasks import TaskStore
from tests.gateway.plans import (
    CANARY,
    DONE,
    Tool,
    call_of_a_task,
    ceremony_over,
    command,
    plan_of,
    states,
)
from tests.stores.rows import OWNER, stored

HIGH: Mapping[str, Any] = {"action": "sandbox.delete", "scope": "sandbox"}
PLACEHOLDER = "⟦凭据:password:1⟧"


def change(seen: list[Mandate] | None = None) -> Work:
    def run(mandate: Mandate) -> ToolResult:
        if seen is not None:
            seen.append(mandate)
        return DONE

    return Change(run=run)


def by_model(db: Database, work: Work, **more: Any) -> tuple[Gateway, TaskCaller, Any]:
    """What becomes of a call."""
    registry = Registry((ToolFamily(name="test", tools=(Tool(work, **more),)),))
    gateway = Gateway(database=db, registry=registry, ceremony=ceremony_over(db))
    caller = call_of_a_task(db)
    end = gateway.dispatch(caller.task, given(caller), CancelToken())
    return gateway, caller, end


def given(caller: TaskCaller) -> GivenCall:
    return GivenCall(id=caller.call, tool="test", arguments_json="{}")


def orders_over(db: Database, *specs: OrderSpec, owners: frozenset[UserId] | None = None) -> Orders:
    ceremony = ceremony_over(db, owners=owners or frozenset({OWNER}))
    return Orders(
        database=db,
        ceremony=ceremony,
        specs=specs,
        policy_version="1",
        language=Language.zh,
    )


def by_order(db: Database, work: Work, **more: Any) -> Any:
    return orders_over(db).give(command(), lambda c: plan_of(c.caller, work, **more))


def approve(db: Database, ticket: TicketId, user: UserId = OWNER) -> None:
    (row,) = db.query("SELECT content FROM outbox_messages WHERE ticket_id = ?", (ticket,))
    code = str(row["content"]).split(f".approve {ticket} ")[1][:6]
    with db.transaction():
        ApprovalStore(db).decide(
            ticket,
            decision="approved",
            user=user,
            code_digest=digest_code(ticket, code),
            now_ms=now_ms(),
            owners_today=frozenset({user}),
        )


# --- the same judgement -----------------------------------------------------------------------

REFUSALS: Mapping[str, tuple[Work, dict[str, Any], str]] = {
    "a blocked action": (change(), {"action": "host.access", "scope": "node"}, "blocked"),
    "an unknown scope": (change(), {"scope": "everywhere"}, "blocked"),
    "a placeholder": (change(), {"effect": {"text": PLACEHOLDER}}, "placeholder"),
    "a credential in what people are shown": (
        change(),
        {**HIGH, "effect": {"text": CANARY}},
        "credential",
    ),
    "a wrong destination": (change(), {"destination": "mail:x"}, "destination"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_is_refused_to_a_model_is_refused_to_an_owner(db: Database, name: str) -> None:
    work, more, word = REFUSALS[name]

    _, _, end = by_model(db, work, **more)
    with pytest.raises((Refused, Blocked)) as refused:
        by_order(db, work, **more)

    assert isinstance(end, Answered)
    assert end.failed
    assert word in end.content.content
    assert word in f"{refused.value.code} {refused.value.text}"
    assert states(db) == []
    assert db.query("SELECT id FROM approvals") == []


def test_a_read_may_quote_a_placeholder_for_both(db: Database) -> None:
    quoting = {"effect": {"query": PLACEHOLDER}}

    _, _, end = by_model(db, Read(run=lambda: DONE), **quoting)

    assert isinstance(end, Answered)
    assert not end.failed
    assert isinstance(by_order(db, Read(run=lambda: DONE), **quoting), Done)


def test_a_high_plan_asks_for_both_and_runs_once_by_its_ticket(db: Database) -> None:
    seen: list[Mandate] = []
    gateway, caller, end = by_model(db, change(seen), **HIGH)
    assert isinstance(end, Suspended)
    row = stored(db, ".sbx delete main", kind="control")
    spec = OrderSpec(
        action="sandbox.delete",
        plan_again=lambda c, _t, _e: plan_of(c.caller, change(seen), **HIGH),
        announce=lambda _plan, _language: "删掉了",
    )
    orders = orders_over(db, spec)
    with db.transaction():
        _keep_command(db, row)
    asked = orders.give(command(row), lambda c: plan_of(c.caller, change(seen), **HIGH))
    assert isinstance(asked, Asked)
    assert seen == []

    approve(db, end.ticket)
    approve(db, asked.ticket)
    _resume(db, gateway, caller)
    orders.execute_approved()
    orders.execute_approved()

    assert [mandate.ticket for mandate in seen] == [end.ticket, asked.ticket]
    assert states(db) == [OperationState.succeeded] * 2
    assert len(db.query("SELECT id FROM outbox_messages WHERE content LIKE '%删掉了%'")) == 1


def _resume(db: Database, gateway: Gateway, caller: TaskCaller) -> Any:
    with db.transaction():
        task = TaskStore(db).move_task(
            caller.task.id,
            before=TaskState.waiting_approval,
            after=TaskState.running,
            step=caller.task.step,
        )
    return gateway.resume(task, given(caller), CancelToken())


def _keep_command(db: Database, row: RowId) -> None:
    CommandStore(db).insert_command(
        row, user_id=OWNER, name="sbx", arguments={"action": "delete", "name": "main"}
    )


# --- approved orders --------------------------------------------------------------------------


def approved_order(
    db: Database, plan_again: Any, work: Work | None = None
) -> tuple[Orders, TicketId]:
    row = stored(db, ".sbx delete main", kind="control")
    with db.transaction():
        _keep_command(db, row)
    spec = OrderSpec(
        action="sandbox.delete",
        plan_again=plan_again,
        announce=lambda _plan, _language: "删掉了",
    )
    orders = orders_over(db, spec)
    asked = orders.give(command(row), lambda c: plan_of(c.caller, work or change(), **HIGH))
    assert isinstance(asked, Asked)
    approve(db, asked.ticket)
    return orders, asked.ticket


def state_of(db: Database, ticket: TicketId) -> str:
    found = ApprovalStore(db).find_ticket(ticket)
    assert found is not None
    return found.state.value


def said(db: Database) -> str:
    return "\n".join(row["content"] for row in db.query("SELECT content FROM outbox_messages"))


@pytest.mark.parametrize(
    "error", [KeyError("target"), ValueError("x"), Refused("gone", "it is gone")]
)
def test_an_order_that_cannot_be_planned_again_dies_and_the_group_is_told(
    db: Database, error: Exception
) -> None:
    def plan_again(_c: CallContext, _t: Mapping[str, Any], _e: Mapping[str, Any]) -> Planned:
        raise error

    orders, ticket = approved_order(db, plan_again)

    orders.execute_approved()

    assert state_of(db, ticket) == "void"
    assert f"审批 {ticket} 已作废" in said(db)
    assert "删掉了" not in said(db)
    assert states(db) == []


def test_an_order_that_fails_is_not_told_as_done(db: Database) -> None:
    def fail(_: Mandate) -> ToolResult:
        ServiceStore(db).set("half", "done")
        raise Refused("not_now", "the disk is full")

    orders, ticket = approved_order(
        db, lambda c, _t, _e: plan_of(c.caller, Change(run=fail), **HIGH)
    )

    orders.execute_approved()

    assert state_of(db, ticket) == "void"
    assert "删掉了" not in said(db)
    assert ServiceStore(db).find("half") is None
    (audited,) = db.query("SELECT detail FROM audit_events WHERE kind = 'ticket.void'")
    assert "not_now" in audited["detail"]


def test_changed_facts_are_asked_for_anew_and_the_old_ticket_dies(db: Database) -> None:
    def changed(c: CallContext, _t: Mapping[str, Any], _e: Mapping[str, Any]) -> Planned:
        return plan_of(c.caller, change(), **HIGH, effect={"files": "destroyed"})

    orders, ticket = approved_order(db, changed)

    orders.execute_approved()

    assert state_of(db, ticket) == "void"
    assert len(db.query("SELECT id FROM approvals WHERE state = 'pending'")) == 1
    assert states(db) == []


def test_an_approval_of_somebody_who_is_no_owner_any_more_is_worth_nothing(db: Database) -> None:
    orders, ticket = approved_order(db, lambda c, _t, _e: plan_of(c.caller, change(), **HIGH))
    later = orders_over(db, *orders.specs, owners=frozenset({UserId(99)}))

    later.execute_approved()

    assert state_of(db, ticket) == "void"
    assert states(db) == []


@pytest.mark.parametrize("when", ["given", "planned again"])
def test_an_order_that_would_wait_for_the_outside_is_refused(db: Database, when: str) -> None:
    outside = Remote(call=lambda _: DONE, within_s=1)
    if when == "given":
        with pytest.raises(Refused, match="order_would_wait"):
            by_order(db, outside, destination="web:example.org")
        return

    orders, ticket = approved_order(
        db, lambda c, _t, _e: plan_of(c.caller, outside, **HIGH, destination="web:example.org")
    )
    orders.execute_approved()

    assert state_of(db, ticket) == "void"
    assert states(db) == []


def test_two_hands_carry_an_approved_order_out_once(db: Database, path: Any) -> None:
    seen: list[Mandate] = []

    def again(c: CallContext, _t: Mapping[str, Any], _e: Mapping[str, Any]) -> Planned:
        return plan_of(c.caller, change(seen), **HIGH)

    orders, ticket = approved_order(db, again)
    start = threading.Barrier(2)

    def carry_out() -> None:
        with Database.open(path) as mine:
            hands = orders_over(mine, *orders.specs)
            start.wait(10)
            hands.execute_approved()

    threads = [threading.Thread(target=carry_out) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert len(seen) == 1
    assert state_of(db, ticket) == "consumed"
    assert states(db) == [OperationState.succeeded]


def test_an_order_of_a_family_that_is_off_waits_untouched(db: Database) -> None:
    _, ticket = approved_order(db, lambda c, _t, _e: plan_of(c.caller, change(), **HIGH))

    orders_over(db).execute_approved()

    assert state_of(db, ticket) == "approved"
