"""The last look at what is to be sent: a question that nobody could answer is not asked."""

import pytest
import time_machine

from actors.outbox.last_check import LastCheck, Rejected
from perlica.domain.approval import TICKET_LIFETIME_MS, TicketState
from perlica.domain.clock import now_ms
from perlica.domain.ids import TicketId, UserId
from perlica.domain.outbox import OutboxKind
from perlica.protection import Channel, Protected, protect, restore
from perlica.stores.database import Database
from perlica.stores.outbox import OutboxRow, OutboxStore
from tests.protection.failing import failing_rule
from tests.stores.rows import draw, sealed

MEMBER = UserId(30_003)
SECRET = "gh" + "p_" + "Ab3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"


def row_of(
    db: Database,
    *,
    ticket: TicketId | None = None,
    kind: OutboxKind = OutboxKind.approval,
    content: Protected | None = None,
) -> OutboxRow:
    """A row that waits to be sent."""
    store = OutboxStore(db)
    with db.transaction():
        (row,) = store.enqueue(
            key=f"{kind}:{ticket}:{now_ms()}",
            kind=kind,
            content=content or sealed("请批准"),
            at_user=MEMBER,
            ticket_id=ticket,
        )
    found = store.find(row)
    assert found is not None
    return found


def examine(db: Database, row: OutboxRow) -> Protected | Rejected:
    return LastCheck(db, busy_every_s=10).examine(row, 0.0, now_ms())


@pytest.mark.evidence(9)
@pytest.mark.parametrize("state", TicketState)
def test_a_question_is_asked_only_while_its_ticket_is_pending(
    db: Database, state: TicketState
) -> None:
    ticket = draw(db)
    row = row_of(db, ticket=ticket.id)
    path = ["approved", "consumed"] if state is TicketState.consumed else [state.value]
    with db.transaction():
        for step in path if state is not TicketState.pending else []:
            db.change(
                "UPDATE approvals SET state = :state, decided_by = 20001, decided_at_ms = 1,"
                " consumed_at_ms = iif(:state = 'consumed', 1, NULL)",
                {"state": step},
            )

    looked = examine(db, row)

    if state is TicketState.pending:
        assert isinstance(looked, Protected)
    else:
        assert looked == Rejected(reason="ticket_over")


@pytest.mark.evidence(9)
def test_a_question_is_not_asked_when_its_ten_minutes_are_over_though_nobody_noted_it(
    db: Database,
) -> None:
    with time_machine.travel(1_796_100_000, tick=False) as clock:
        ticket = draw(db)
        row = row_of(db, ticket=ticket.id)
        clock.shift(TICKET_LIFETIME_MS / 1000 - 1)
        before = examine(db, row)
        clock.shift(1)
        after = examine(db, row)

    assert isinstance(before, Protected)
    assert after == Rejected(reason="ticket_over")


def test_other_messages_about_a_dead_ticket_are_sent(db: Database) -> None:
    ticket = draw(db)
    row = row_of(db, ticket=ticket.id, kind=OutboxKind.command, content=sealed("已作废"))
    with db.transaction():
        db.change("UPDATE approvals SET state = 'void'", {})

    assert isinstance(examine(db, row), Protected)


@pytest.mark.evidence(5)
def test_a_text_that_cannot_be_scanned_now_is_not_sent_and_says_so(db: Database) -> None:
    row = row_of(db, kind=OutboxKind.final)

    with failing_rule("请批准"):
        looked = examine(db, row)

    assert looked == Rejected(reason="scan_incomplete")


@pytest.mark.evidence(5)
def test_a_text_in_which_something_is_found_only_now_goes_out_redacted(db: Database) -> None:
    old_rules = protect("x", Channel.OUTBOX)
    content = restore(f"键是 {SECRET}", old_rules.status, old_rules.policy_version, 0)
    row = row_of(db, kind=OutboxKind.final, content=content)

    looked = examine(db, row)

    assert isinstance(looked, Rejected)
    assert looked.reason == "scan_found"
    assert looked.instead is not None
    assert SECRET not in looked.instead.content


def test_a_member_hears_once_in_a_while_that_we_are_busy(db: Database) -> None:
    check = LastCheck(db, busy_every_s=10)
    first = row_of(db, kind=OutboxKind.busy, content=sealed("正忙"))

    said = check.examine(first, 0.0, now_ms())
    check.note_sent(first, 0.0)

    assert isinstance(said, Protected)
    assert check.examine(first, 9.0, now_ms()) == Rejected(reason="coalesced")
    assert isinstance(check.examine(first, 11.0, now_ms()), Protected)
