"""Tickets: who may decide, how often, how long, and that one pays once."""

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import time_machine

from perlica.domain.approval import TicketState, Verdict, digest_code
from perlica.domain.clock import now_ms
from perlica.domain.errors import Refused, StaleState
from perlica.domain.ids import CallId, PlanHash, TicketId, UserId
from perlica.protection import not_scanned
from perlica.stores.approvals import MAX_ATTEMPTS, ApprovalStore, Ticket
from perlica.stores.database import Database
from tests.stores.rows import (
    CODE,
    HASH,
    OWNER,
    SECOND_OWNER,
    STRANGER,
    approve,
    begin_task,
    draw,
    end_task,
    new_ticket,
    spend,
)

TODAY = frozenset({OWNER, SECOND_OWNER})
TEN_MINUTES_S = 600


def say(
    db: Database,
    ticket: TicketId,
    *,
    user: UserId = OWNER,
    code: str = CODE,
    approves: bool = True,
    owners_today: frozenset[UserId] = TODAY,
) -> tuple[Verdict, Ticket | None]:
    """What becomes of `.approve <ticket> <code>` or `.deny <ticket>`, committed."""
    with db.transaction():
        return ApprovalStore(db).decide(
            ticket,
            decision="approved" if approves else "denied",
            user=user,
            code_digest=digest_code(ticket, code) if approves else None,
            now_ms=now_ms(),
            owners_today=owners_today,
        )


def consume(db: Database, ticket: TicketId, plan_hash: PlanHash = HASH) -> Ticket:
    with db.transaction():
        return ApprovalStore(db).consume(ticket, plan_hash=plan_hash, now_ms=now_ms())


def found(db: Database, ticket: TicketId) -> Ticket:
    ticket_now = ApprovalStore(db).find_ticket(ticket)
    assert ticket_now is not None
    return ticket_now


@pytest.mark.evidence(9)
def test_an_owner_approves_and_the_ticket_pays_once(db: Database) -> None:
    ticket = draw(db)

    verdict, decided = say(db, ticket.id)
    spent = consume(db, ticket.id)

    assert verdict is Verdict.approved
    assert decided is not None
    assert decided.decided_by == OWNER
    assert (spent.state, spent.consumed_at_ms) == (TicketState.consumed, spent.consumed_at_ms)
    with pytest.raises(StaleState):
        consume(db, ticket.id)


@pytest.mark.evidence(9)
@pytest.mark.parametrize(
    "who",
    [
        {"user": STRANGER},
        {"user": OWNER, "owners_today": frozenset({SECOND_OWNER})},
        {"user": STRANGER, "owners_today": frozenset({STRANGER})},
        {"user": STRANGER, "code": "000000"},
        {"user": STRANGER, "approves": False},
    ],
)
def test_who_is_no_owner_burns_no_attempt_and_learns_nothing(
    db: Database, who: dict[str, Any]
) -> None:
    ticket = draw(db)

    assert say(db, ticket.id, **who) == (Verdict.not_owner, None)

    assert found(db, ticket.id) == ticket


def test_a_stranger_does_not_even_learn_whether_there_is_such_a_ticket(db: Database) -> None:
    assert say(db, TicketId("NONE1"), user=STRANGER) == (Verdict.not_owner, None)
    assert say(db, TicketId("NONE1"), user=OWNER) == (Verdict.unknown_ticket, None)


def test_a_stranger_learns_nothing_of_a_ticket_that_is_spent_or_expired(db: Database) -> None:
    with time_machine.travel(1_000.0, tick=False) as clock:
        ticket = draw(db)
        say(db, ticket.id)
        assert say(db, ticket.id, user=STRANGER) == (Verdict.not_owner, None)
        clock.shift(TEN_MINUTES_S)
        assert say(db, ticket.id, user=STRANGER) == (Verdict.not_owner, None)


@pytest.mark.evidence(9)
def test_a_wrong_code_counts_and_after_five_no_code_helps(db: Database) -> None:
    ticket = draw(db)

    wrong = [say(db, ticket.id, code="000000")[0] for _ in range(MAX_ATTEMPTS)]
    right = say(db, ticket.id)[0]

    assert wrong == [Verdict.wrong_code] * (MAX_ATTEMPTS - 1) + [Verdict.too_many_attempts]
    assert right is Verdict.too_many_attempts
    assert found(db, ticket.id).attempts == MAX_ATTEMPTS
    with pytest.raises(StaleState):
        consume(db, ticket.id)


def test_five_wrong_codes_end_a_ticket_for_whatever_comes_after(db: Database) -> None:
    ticket = draw(db)
    for _ in range(MAX_ATTEMPTS):
        say(db, ticket.id, code="000000")

    assert found(db, ticket.id).state is TicketState.void
    assert say(db, ticket.id, approves=False)[0] is Verdict.too_many_attempts


def test_a_code_of_another_ticket_is_a_wrong_code(db: Database) -> None:
    ticket, second = draw(db), draw(db)
    with db.transaction():
        verdict, _ = ApprovalStore(db).decide(
            ticket.id,
            decision="approved",
            user=OWNER,
            code_digest=second.code_digest,
            now_ms=now_ms(),
            owners_today=TODAY,
        )

    assert verdict is Verdict.wrong_code


def test_a_denial_needs_no_code_and_is_final(db: Database) -> None:
    ticket = draw(db)

    assert say(db, ticket.id, approves=False)[0] is Verdict.denied

    assert say(db, ticket.id)[0] is Verdict.already_decided
    with pytest.raises(StaleState):
        consume(db, ticket.id)


def test_a_second_approve_is_refused_and_burns_no_attempt(db: Database) -> None:
    ticket = draw(db)
    say(db, ticket.id)

    verdict, again = say(db, ticket.id, user=SECOND_OWNER, code="000000")

    assert verdict is Verdict.already_decided
    assert again is not None
    assert (again.decided_by, again.attempts) == (OWNER, 0)


@pytest.mark.evidence(9)
def test_a_ticket_is_worthless_after_ten_minutes(db: Database) -> None:
    with time_machine.travel(1_000.0, tick=False) as clock:
        ticket = draw(db)
        clock.shift(TEN_MINUTES_S - 0.001)
        assert ApprovalStore(db).list_pending(now_ms()) == (ticket,)
        clock.shift(0.001)

        assert say(db, ticket.id)[0] is Verdict.expired
        assert say(db, ticket.id, approves=False)[0] is Verdict.expired
        assert ApprovalStore(db).list_pending(now_ms()) == ()


def test_a_ticket_can_be_approved_in_its_last_millisecond(db: Database) -> None:
    with time_machine.travel(1_000.0, tick=False) as clock:
        ticket = draw(db)
        clock.shift(TEN_MINUTES_S - 0.001)

        assert say(db, ticket.id)[0] is Verdict.approved


@pytest.mark.evidence(9)
def test_the_ten_minutes_bound_the_execution_too(db: Database) -> None:
    with time_machine.travel(1_000.0, tick=False) as clock:
        ticket = draw(db)
        say(db, ticket.id)
        clock.shift(TEN_MINUTES_S)

        with pytest.raises(StaleState):
            consume(db, ticket.id)


@pytest.mark.evidence(9)
def test_a_ticket_pays_only_for_the_plan_that_it_shows(db: Database) -> None:
    ticket = draw(db)
    say(db, ticket.id)

    with pytest.raises(StaleState):
        consume(db, ticket.id, PlanHash("b" * 64))

    assert found(db, ticket.id).state is TicketState.approved


def test_a_ticket_that_nobody_approved_pays_for_nothing(db: Database) -> None:
    ticket = draw(db)

    with pytest.raises(StaleState):
        consume(db, ticket.id)


@pytest.mark.evidence(9)
@pytest.mark.evidence(13)
def test_of_two_connections_that_spend_a_ticket_at_once_one_succeeds(path: Path) -> None:
    with Database.open(path) as db:
        tickets = [draw(db) for _ in range(20)]
        for ticket in tickets:
            approve(db, ticket)
    gate = threading.Barrier(2, timeout=30)
    outcomes: dict[TicketId, list[bool]] = {ticket.id: [] for ticket in tickets}

    def spend_all() -> None:
        with Database.open(path) as mine:
            for ticket in tickets:
                gate.wait()
                try:
                    consume(mine, ticket.id)
                    outcomes[ticket.id].append(True)
                except StaleState:
                    outcomes[ticket.id].append(False)

    threads = [threading.Thread(target=spend_all) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)

    assert [sorted(each) for each in outcomes.values()] == [[False, True]] * len(tickets)


@pytest.mark.parametrize("state", ["pending", "approved", "denied", "expired", "void"])
def test_a_spent_ticket_stays_spent_even_by_raw_sql(db: Database, state: str) -> None:
    ticket = draw(db)
    approve(db, ticket)
    spend(db, ticket)

    with pytest.raises(Refused), db.transaction():
        db.query(
            "UPDATE approvals SET state = :state, consumed_at_ms = NULL WHERE id = :id",
            {"state": state, "id": ticket.id},
        )


@pytest.mark.parametrize(
    "change",
    ["plan_hash = 'b'", "plan = '{}'", "owners = '[1]'", "expires_at_ms = expires_at_ms + 1"],
)
def test_what_a_ticket_is_bound_to_cannot_be_changed_even_by_raw_sql(
    db: Database, change: str
) -> None:
    ticket = draw(db)

    with pytest.raises(Refused, match="bindings"), db.transaction():
        db.query(f"UPDATE approvals SET {change}")

    assert found(db, ticket.id) == ticket


def test_a_call_waits_for_one_living_ticket(db: Database) -> None:
    task = begin_task(db).id
    first = draw(db, new_ticket(task=task, call="c_1"))

    with pytest.raises(Refused, match="ticket_living"):
        draw(db, new_ticket(task=task, call="c_1"))
    say(db, first.id, approves=False)

    assert draw(db, new_ticket(task=task, call="c_1")).state is TicketState.pending


def test_an_ended_task_draws_no_ticket(db: Database) -> None:
    task = end_task(db, begin_task(db).id)

    with pytest.raises(Refused, match="task_ended"):
        draw(db, new_ticket(task=task.id))


def test_a_plan_that_could_not_be_scanned_draws_no_ticket(db: Database) -> None:
    with pytest.raises(Refused, match="scan_incomplete"):
        draw(db, replace(new_ticket(), target_summary=not_scanned()))


def test_due_tickets_expire_once_with_those_approved_but_not_spent(db: Database) -> None:
    approvals = ApprovalStore(db)
    with time_machine.travel(1_000.0, tick=False) as clock:
        pending, approved, spent = draw(db), draw(db), draw(db)
        for ticket in (approved, spent):
            approve(db, ticket)
        spend(db, spent)
        clock.shift(TEN_MINUTES_S)
        with db.transaction():
            expired = approvals.expire_due(now_ms())
            again = approvals.expire_due(now_ms())

    assert {ticket.id for ticket in expired} == {pending.id, approved.id}
    assert again == ()
    assert found(db, spent.id).state is TicketState.consumed


def test_the_tickets_of_a_task_become_worthless_together(db: Database) -> None:
    task = begin_task(db).id
    of_task, of_command = draw(db, new_ticket(task=task, call="c_1")), draw(db)
    with db.transaction():
        voided = ApprovalStore(db).void_for_task(task)

    assert [ticket.id for ticket in voided] == [of_task.id]
    assert say(db, of_task.id)[0] is Verdict.already_decided
    assert say(db, of_command.id)[0] is Verdict.approved


def test_a_ticket_may_live_shorter_than_ten_minutes_but_never_longer(db: Database) -> None:
    short = draw(db, replace(new_ticket(), lifetime_ms=60_000))
    long = draw(db, replace(new_ticket(), lifetime_ms=60 * 60_000))

    assert short.expires_at_ms - short.created_at_ms == 60_000
    assert long.expires_at_ms - long.created_at_ms == TEN_MINUTES_S * 1000


def test_the_ticket_that_a_call_waits_for_is_the_newest_of_the_call(db: Database) -> None:
    task = begin_task(db).id
    approvals = ApprovalStore(db)
    first = draw(db, new_ticket(task=task, call="c_1"))
    say(db, first.id, approves=False)
    second = draw(db, new_ticket(task=task, call="c_1"))

    newest = approvals.find_for_call(CallId("c_1"))

    assert newest is not None
    assert newest.id == second.id
    assert approvals.find_for_call(CallId("c_2")) is None
    assert [ticket.id for ticket in approvals.list_pending_for_task(task)] == [second.id]


def test_whether_any_ticket_is_due_is_known_without_writing(db: Database) -> None:
    approvals = ApprovalStore(db)
    with time_machine.travel(1_000.0, tick=False) as clock:
        draw(db)
        early = approvals.has_due(now_ms())
        clock.shift(TEN_MINUTES_S)
        late = approvals.has_due(now_ms())
        with db.transaction():
            approvals.expire_due(now_ms())

        assert (early, late, approvals.has_due(now_ms())) == (False, True, False)


def test_a_ticket_that_cannot_be_delivered_is_made_worthless_once(db: Database) -> None:
    ticket = draw(db)
    with db.transaction():
        void = ApprovalStore(db).void(ticket.id)

    assert void.state is TicketState.void
    with pytest.raises(StaleState), db.transaction():
        ApprovalStore(db).void(ticket.id)
    assert say(db, ticket.id)[0] is Verdict.already_decided
