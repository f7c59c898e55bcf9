"""The log lines about what was committed: after the commit, with the ids that join them."""

import logging
from collections.abc import Callable

import pytest

from perlica.app.logs import ID_FIELDS
from perlica.domain.operation import OperationState
from perlica.domain.plan import Level
from perlica.domain.task import TaskState
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.operations import OperationStore
from perlica.stores.tasks import TaskStore
from tests.stores.rows import (
    approve,
    begin_task,
    draw,
    end_task,
    new_operation,
    new_ticket,
    queue,
    sealed_json,
    spend,
    start,
)

Told = Callable[[], list[dict[str, object]]]


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Told:
    """The lines of the stores so far: event and ids."""
    caplog.set_level(logging.INFO, logger="perlica.stores.commit_log")

    def lines() -> list[dict[str, object]]:
        return [
            {"event": record.getMessage()}
            | {name: record.__dict__[name] for name in ID_FIELDS if name in record.__dict__}
            for record in caplog.records
            if record.name == "perlica.stores.commit_log"
        ]

    return lines


def test_the_lines_of_a_task_join_its_operation_and_its_ticket(db: Database, told: Told) -> None:
    task = begin_task(db)
    ticket = draw(db, new_ticket(task=task.id))
    approve(db, ticket)
    spend(db, ticket)
    operation = queue(db, new_operation(level=Level.high, ticket=ticket.id, task=task.id))
    start(db, operation.id)
    with db.transaction():
        OperationStore(db).finish(operation.id, OperationState.succeeded, sealed_json(exit_code=0))
    end_task(db, task.id)

    lines = told()
    assert [line["event"] for line in lines] == [
        "task began",
        "operation started",
        "operation succeeded",
        "task cancelled",
    ]
    assert {line["task"] for line in lines} == {task.id}
    assert {line.get("ticket") for line in lines[1:3]} == {ticket.id}
    assert {line.get("operation") for line in lines[1:3]} == {operation.id}


def test_what_was_rolled_back_is_told_to_nobody(db: Database, told: Told) -> None:
    task = begin_task(db)
    before = told()

    def fail() -> None:
        with db.transaction():
            TaskStore(db).move_task(task.id, before=TaskState.received, after=TaskState.cancelled)
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    with db.transaction():
        pass

    assert told() == before


def test_a_line_is_written_after_the_commit_and_not_before(db: Database, told: Told) -> None:
    with db.transaction():
        AuditStore(db).add_event("ticket.expired", actor="perlica", detail=sealed_json(after_s=600))
        assert told() == []

    assert [line["event"] for line in told()] == ["ticket.expired"]


def test_a_deed_outside_a_transaction_is_refused(db: Database) -> None:
    with pytest.raises(RuntimeError):
        db.after_commit(lambda: None)
