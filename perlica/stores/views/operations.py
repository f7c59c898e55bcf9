"""Operations as the console shows them: of a task, of a sandbox, and the recovery queue."""

from dataclasses import dataclass
from typing import Final

from perlica.stores.database import Database, Row
from perlica.stores.views.columns import (
    DOCUMENT_CODE_POINTS,
    Excerpt,
    excerpt,
    ordered_by,
    read_all,
    read_one,
    texts,
    with_excerpts,
)

MAX_OPERATIONS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationView:
    """An operation; `plan` and `outcome` are protected JSON, perhaps cut.

    `ordered_by` is the Owner whose command it carries out, None for a task's and once the command
    is forgotten.
    """

    id: str
    origin_kind: str
    origin_id: str
    task_id: str | None
    call_id: str | None
    action: str
    level: str
    identity: str
    plan_hash: str
    plan: Excerpt
    policy_version: str
    ticket_id: str | None
    state: str
    outcome: Excerpt
    created_at_ms: int
    started_at_ms: int | None
    ended_at_ms: int | None
    ordered_by: int | None

    @property
    def took_ms(self) -> int | None:
        """Milliseconds from its start to its end; None while it has no end."""
        if self.started_at_ms is None or self.ended_at_ms is None:
            return None
        return self.ended_at_ms - self.started_at_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxAct:
    """What was done in or to a sandbox."""

    kind: str
    is_write: bool
    operation: OperationView


_TEXTS: Final = texts(
    "operations.id",
    "operations.origin_kind",
    "operations.origin_id",
    "operations.task_id",
    "operations.call_id",
    "operations.action",
    "operations.level",
    "operations.identity",
    "operations.plan_hash",
    "operations.policy_version",
    "operations.ticket_id",
    "operations.state",
)
_PLAN: Final = excerpt("operations.plan", DOCUMENT_CODE_POINTS)
_OUTCOME: Final = excerpt("operations.outcome", DOCUMENT_CODE_POINTS)
_COLUMNS: Final = f"""
    {_TEXTS}, {_PLAN}, {_OUTCOME},
    operations.created_at_ms, operations.started_at_ms, operations.ended_at_ms,
    {ordered_by("operations")}
"""
_FIND: Final = f"SELECT {_COLUMNS} FROM operations WHERE id = :id"  # noqa: S608
_FOR_TICKET: Final = f"SELECT {_COLUMNS} FROM operations WHERE ticket_id = :id"  # noqa: S608
_FOR_CALL: Final = f"SELECT {_COLUMNS} FROM operations WHERE call_id = :id"  # noqa: S608
_FOR_TASK: Final = f"""
SELECT {_COLUMNS} FROM operations WHERE task_id = :id ORDER BY rowid LIMIT :limit
"""  # noqa: S608
_UNKNOWN: Final = f"""
SELECT {_COLUMNS} FROM operations WHERE state = 'unknown' ORDER BY rowid LIMIT :limit
"""  # noqa: S608
_KIND: Final = texts("done.kind")
_IN_SANDBOX: Final = f"""
SELECT {_KIND}, done.is_write, {_COLUMNS}
FROM sandbox_operations AS done JOIN operations ON operations.id = done.operation_id
WHERE done.sandbox_id = :sandbox AND done.rowid < :before
ORDER BY done.rowid DESC LIMIT :limit
"""  # noqa: S608
_PLACE: Final = "SELECT rowid AS place FROM sandbox_operations WHERE operation_id = :id"


def find_operation(db: Database, operation: str) -> OperationView | None:
    """An operation by its id."""
    row = read_one(db, _FIND, {"id": operation})
    return None if row is None else _operation(row)


def find_for_ticket(db: Database, ticket: str) -> OperationView | None:
    """The operation that a ticket paid for."""
    row = read_one(db, _FOR_TICKET, {"id": ticket})
    return None if row is None else _operation(row)


def find_for_call(db: Database, call: str) -> OperationView | None:
    """The operation that executes a call."""
    row = read_one(db, _FOR_CALL, {"id": call})
    return None if row is None else _operation(row)


def list_for_task(db: Database, task: str) -> tuple[OperationView, ...]:
    """The operations of a task in their order, the first `MAX_OPERATIONS` of them."""
    rows = read_all(db, _FOR_TASK, {"id": task, "limit": MAX_OPERATIONS})
    return tuple(map(_operation, rows))


def list_unknown(db: Database) -> tuple[OperationView, ...]:
    """The recovery queue, oldest first, the first `MAX_OPERATIONS` of it."""
    return tuple(map(_operation, read_all(db, _UNKNOWN, {"limit": MAX_OPERATIONS})))


def list_in_sandbox(
    db: Database, sandbox: int, *, limit: int, before: str | None = None
) -> tuple[SandboxAct, ...]:
    """What was done in or to a sandbox, newest first; `before` is the last id of a page."""
    found = None if before is None else db.query_one(_PLACE, {"id": before})
    place = 2**62 if found is None else found["place"]
    bindings = {"sandbox": sandbox, "before": place, "limit": limit}
    return tuple(
        SandboxAct(
            kind=row.pop("kind"), is_write=bool(row.pop("is_write")), operation=_operation(row)
        )
        for row in read_all(db, _IN_SANDBOX, bindings)
    )


def _operation(row: Row) -> OperationView:
    return OperationView(**with_excerpts(row, "plan", "outcome"))
