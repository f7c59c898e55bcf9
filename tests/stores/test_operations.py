"""Operations: each is written before its effect, runs once, and needs its spent ticket."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from perlica.domain.errors import Refused, StaleState
from perlica.domain.ids import CallId, PlanHash
from perlica.domain.operation import OperationState
from perlica.domain.plan import Level
from perlica.protection import not_scanned
from perlica.stores.database import Database
from perlica.stores.operations import OperationStore
from tests.stores.rows import (
    OWNER,
    approve,
    draw,
    new_operation,
    queue,
    sealed,
    sealed_json,
    spend,
    start,
)


def test_an_operation_goes_from_queued_over_started_to_its_outcome(db: Database) -> None:
    operation = queue(db)
    operations = OperationStore(db)
    assert operations.list_open() == (operation,)
    start(db, operation.id)

    with db.transaction():
        ended = operations.finish(operation.id, OperationState.succeeded, sealed_json(exit_code=0))

    assert operation.state is OperationState.queued
    assert ended.state is OperationState.succeeded
    assert ended.outcome.content == '{"exit_code":0}'
    assert ended.plan.content == operation.plan.content
    assert operations.find(operation.id) == ended
    assert operations.list_open() == ()


@pytest.mark.evidence(14)
def test_an_operation_starts_once(db: Database) -> None:
    operation = queue(db)
    start(db, operation.id)

    with pytest.raises(StaleState):
        start(db, operation.id)


@pytest.mark.evidence(14)
def test_when_one_gives_up_while_another_begins_exactly_one_wins(path: Path) -> None:
    with Database.open(path) as db:
        ids = [queue(db).id for _ in range(20)]
    gate = threading.Barrier(2, timeout=30)
    wins: list[tuple[str, str]] = []

    def race(way: str) -> None:
        with Database.open(path) as mine:
            for operation in ids:
                gate.wait()
                try:
                    with mine.transaction():
                        getattr(OperationStore(mine), way)(operation)
                    wins.append((operation, way))
                except StaleState:
                    pass

    threads = [threading.Thread(target=race, args=(way,)) for way in ("start", "abandon")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)

    assert sorted(operation for operation, _ in wins) == sorted(ids)


@pytest.mark.evidence(9)
def test_a_high_operation_needs_a_ticket(db: Database) -> None:
    with pytest.raises(Refused):
        queue(db, new_operation(level=Level.high))


@pytest.mark.evidence(9)
def test_an_operation_cannot_name_a_ticket_that_was_drawn_for_another_plan(db: Database) -> None:
    ticket = draw(db)
    operation = new_operation(level=Level.high, ticket=ticket.id)
    other_plan = replace(operation, plan_hash=PlanHash("b" * 64))

    with pytest.raises(Refused, match="no_ticket"):
        queue(db, other_plan)


@pytest.mark.evidence(9)
def test_nothing_starts_on_a_ticket_before_it_is_spent(db: Database) -> None:
    ticket = draw(db)
    operation = queue(db, new_operation(level=Level.high, ticket=ticket.id))
    with pytest.raises(Refused, match="ticket_not_consumed"):
        start(db, operation.id)
    approve(db, ticket)
    with pytest.raises(Refused, match="ticket_not_consumed"):
        start(db, operation.id)
    spend(db, ticket)

    start(db, operation.id)

    assert OperationStore(db).list_open()[0].state is OperationState.started


@pytest.mark.evidence(9)
def test_a_ticket_pays_for_one_operation_ever(db: Database) -> None:
    ticket = draw(db)
    queue(db, new_operation(level=Level.high, ticket=ticket.id))

    with pytest.raises(Refused, match="ticket_spent"):
        queue(db, new_operation(level=Level.high, ticket=ticket.id))


@pytest.mark.evidence(14)
def test_a_call_is_executed_at_most_once(db: Database) -> None:
    first = queue(db, new_operation(call="c_1"))

    with pytest.raises(Refused, match="call_executed"):
        queue(db, new_operation(call="c_1"))

    assert OperationStore(db).find_for_call(CallId("c_1")) == first


@pytest.mark.evidence(14)
@pytest.mark.parametrize("state", ["queued", "started"])
def test_what_was_done_cannot_be_made_undone_even_by_raw_sql(db: Database, state: str) -> None:
    operation = queue(db)
    start(db, operation.id)
    with db.transaction():
        OperationStore(db).finish(operation.id, OperationState.failed, sealed_json())

    with pytest.raises(Refused, match="moved on"), db.transaction():
        db.query("UPDATE operations SET state = :state", {"state": state})


@pytest.mark.evidence(14)
def test_an_unknown_outcome_waits_until_an_owner_resolves_it(db: Database) -> None:
    operations = OperationStore(db)
    operation = queue(db)
    start(db, operation.id)
    with db.transaction():
        operations.mark_unknown(operation.id, "connection_lost")
    (waiting,) = operations.list_unknown()
    with pytest.raises(StaleState):
        start(db, operation.id)

    with db.transaction():
        resolved = operations.resolve(operation.id, OWNER, sealed("看过，已删除"))

    assert waiting.outcome.content == '{"reason":"connection_lost"}'
    assert resolved.state is OperationState.resolved
    assert str(OWNER) in resolved.outcome.content
    assert "看过，已删除" in resolved.outcome.content
    assert operations.list_unknown() == ()


def test_an_unknown_outcome_that_the_backend_remembers_after_all_is_kept(db: Database) -> None:
    operations = OperationStore(db)
    operation = queue(db)
    start(db, operation.id)
    with db.transaction():
        operations.mark_unknown(operation.id, "no_answer")
        operations.mark_unknown(operation.id, "still_no_answer")

    with db.transaction():
        ended = operations.finish(operation.id, OperationState.succeeded, sealed_json(exit_code=0))

    assert ended.state is OperationState.succeeded


def test_only_an_unknown_operation_is_resolved(db: Database) -> None:
    operation = queue(db)

    with pytest.raises(StaleState), db.transaction():
        OperationStore(db).resolve(operation.id, OWNER, sealed("x"))


@pytest.mark.evidence(6)
def test_an_outcome_that_could_not_be_scanned_is_told_as_that(db: Database) -> None:
    operation = queue(db)
    start(db, operation.id)

    with db.transaction():
        ended = OperationStore(db).finish(operation.id, OperationState.succeeded, not_scanned())

    assert ended.outcome.content == '{"withheld":"not_scanned"}'
