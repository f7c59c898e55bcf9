"""Operations: the gateway and the workers write what they are about to do, and what came of it.

`queued → started → succeeded | failed | cancelled | unknown`, or `queued → abandoned`. When a
caller gives up while a worker begins, exactly one of `start` and `abandon` wins.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal

from perlica.domain.clock import now_ms
from perlica.domain.errors import StaleState
from perlica.domain.ids import CallId, OperationId, PlanHash, RowId, TaskId, TicketId, UserId
from perlica.domain.operation import OperationState
from perlica.domain.plan import Level, Origin
from perlica.protection import Protected
from perlica.stores.commit_log import tell_when_committed
from perlica.stores.database import Database, Row
from perlica.stores.sealed import as_json, columns, reason_text, require_usable, restored

Ending = Literal[OperationState.succeeded, OperationState.failed, OperationState.cancelled]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewOperation:
    """An operation to queue. `plan` is protected JSON; a High one names its ticket.

    `executor` is a kind of work (`perlica.domain.operation`) or the name of an executor.
    """

    id: OperationId
    origin: Origin
    task_id: TaskId | None
    call_id: CallId | None
    action: str
    level: Level
    identity: str
    executor: str
    plan_hash: PlanHash
    plan: Protected = field(repr=False)
    ticket_id: TicketId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A row of `operations`; `outcome` is protected JSON, `{}` until there is one."""

    id: OperationId
    origin: Origin
    task_id: TaskId | None
    call_id: CallId | None
    action: str
    level: Level
    identity: str
    executor: str
    plan_hash: PlanHash
    plan: Protected = field(repr=False)
    ticket_id: TicketId | None
    state: OperationState
    outcome: Protected = field(repr=False)
    created_at_ms: int
    started_at_ms: int | None
    ended_at_ms: int | None


_INSERT: Final = """
INSERT INTO operations (id, origin_kind, origin_id, task_id, call_id, action, level, identity,
    executor, plan_hash, plan, protection_status, policy_version, finding_count, ticket_id, state,
    created_at_ms)
VALUES (:id, :origin_kind, :origin_id, :task_id, :call_id, :action, :level, :identity,
    :executor, :plan_hash, :plan, :protection_status, :policy_version, :finding_count, :ticket_id,
    'queued', :created_at_ms)
RETURNING *
"""
_START: Final = """
UPDATE operations SET state = 'started', started_at_ms = :now_ms
WHERE id = :id AND state = 'queued' RETURNING *
"""
_ABANDON: Final = """
UPDATE operations SET state = 'abandoned', ended_at_ms = :now_ms
WHERE id = :id AND state = 'queued' RETURNING *
"""
_FINISH: Final = """
UPDATE operations SET state = :state, ended_at_ms = :now_ms, outcome = :outcome,
    protection_status = iif(:protection_status = 'redacted', 'redacted', protection_status),
    finding_count = finding_count + :finding_count
WHERE id = :id AND state IN ('started', 'unknown') RETURNING *
"""
_MARK_UNKNOWN: Final = """
UPDATE operations SET state = 'unknown', outcome = json_object('reason', :reason)
WHERE id = :id AND state IN ('started', 'unknown') RETURNING *
"""
_RESOLVE: Final = """
UPDATE operations SET state = 'resolved', ended_at_ms = :now_ms,
    outcome = json_set(outcome, '$.resolved_by', :by, '$.resolution', :reason),
    protection_status = iif(:protection_status = 'redacted', 'redacted', protection_status),
    finding_count = finding_count + :finding_count
WHERE id = :id AND state = 'unknown' RETURNING *
"""
_FIND: Final = "SELECT * FROM operations WHERE id = :id"
_FIND_FOR_CALL: Final = "SELECT * FROM operations WHERE call_id = :call_id"
_FIND_FOR_COMMAND: Final = """
SELECT * FROM operations WHERE origin_kind = 'command' AND origin_id = :origin_id
ORDER BY rowid DESC LIMIT 1
"""
_LIST_FOR_TASK: Final = "SELECT * FROM operations WHERE task_id = :task_id ORDER BY rowid"
# Asked every second: SQLite takes the partial index only for a query that repeats its condition.
_OPEN: Final = """
SELECT * FROM operations INDEXED BY operations_open
WHERE state IN ('queued', 'started', 'unknown')
"""
_LIST_OPEN: Final = f"{_OPEN} AND state IN ('queued', 'started') ORDER BY rowid"
_LIST_UNKNOWN: Final = f"{_OPEN} AND state = 'unknown' ORDER BY rowid"


class OperationStore:
    """Reads and writes `operations`."""

    def __init__(self, db: Database) -> None:
        """Work on this connection."""
        self._db = db

    def insert_operation(self, operation: NewOperation) -> Operation:
        """Queue an operation; nothing has happened yet.

        Raises: Refused when its call or ticket has an operation already, when it is High without a
        ticket drawn for exactly this plan, or when the group's rules forbid it.
        """
        row = self._db.change(
            _INSERT,
            {
                "id": operation.id,
                "origin_kind": operation.origin.kind,
                "origin_id": operation.origin.id,
                "task_id": operation.task_id,
                "call_id": operation.call_id,
                "action": operation.action,
                "level": operation.level.value,
                "identity": operation.identity,
                "executor": operation.executor,
                "plan_hash": operation.plan_hash,
                "ticket_id": operation.ticket_id,
                "created_at_ms": now_ms(),
                **columns("plan", as_json(operation.plan)),
            },
        )[0]
        return _operation(row)

    def start(self, operation: OperationId) -> Operation:
        """Say that the effect may begin once this is committed.

        Raises: StaleState when it is not queued any more; Refused when its ticket is not consumed.
        """
        return self._moved(_START, operation)

    def abandon(self, operation: OperationId) -> Operation:
        """Take a queued operation back. Raises: StaleState when it has started."""
        return self._moved(_ABANDON, operation)

    def finish(
        self, operation: OperationId, state: OperationState, outcome: Protected
    ) -> Operation:
        """Keep how it ended: succeeded, failed or cancelled, of a started or an unknown one.

        Raises: StaleState when it has ended already.
        """
        bindings = columns("outcome", as_json(outcome))
        del bindings["policy_version"]  # the plan's stays
        return self._moved(_FINISH, operation, state=state.value, **bindings)

    def mark_unknown(self, operation: OperationId, reason: str) -> Operation:
        """Put it into the recovery queue: it may have happened. Raises: StaleState."""
        return self._moved(_MARK_UNKNOWN, operation, reason=reason_text(reason))

    def resolve(self, operation: OperationId, by: UserId, reason: Protected) -> Operation:
        """Close an unknown one on an Owner's word. Raises: StaleState; Refused without a scan."""
        bindings = columns("reason", require_usable(reason))
        del bindings["policy_version"]
        return self._moved(_RESOLVE, operation, by=by, **bindings)

    def find(self, operation: OperationId) -> Operation | None:
        """An operation by its id."""
        row = self._db.query_one(_FIND, {"id": operation})
        return None if row is None else _operation(row)

    def find_for_call(self, call: CallId) -> Operation | None:
        """The operation that executes a call."""
        row = self._db.query_one(_FIND_FOR_CALL, {"call_id": call})
        return None if row is None else _operation(row)

    def find_for_command(self, message_row: RowId) -> Operation | None:
        """The newest operation of a member's command."""
        row = self._db.query_one(_FIND_FOR_COMMAND, {"origin_id": str(message_row)})
        return None if row is None else _operation(row)

    def list_for_task(self, task: TaskId) -> tuple[Operation, ...]:
        """The operations of a task in the order they were queued."""
        return _operations(self._db.query(_LIST_FOR_TASK, {"task_id": task}))

    def list_open(self) -> tuple[Operation, ...]:
        """Those that are queued or started: at the start of the service, what was in hand."""
        return _operations(self._db.query(_LIST_OPEN))

    def list_unknown(self) -> tuple[Operation, ...]:
        """The recovery queue, oldest first."""
        return _operations(self._db.query(_LIST_UNKNOWN))

    def _moved(self, sql: str, operation: OperationId, **bindings: object) -> Operation:
        needed = {"id": operation, "now_ms": now_ms(), **bindings}
        row = self._db.change_one(sql, needed)
        if row is None:
            raise StaleState("operation_moved", f"operation {operation} has moved on")
        moved = _operation(row)
        tell_when_committed(
            self._db,
            f"operation {moved.state.value}",
            operation=moved.id,
            kind=moved.action,
            task=moved.task_id,
            call=moved.call_id,
            ticket=moved.ticket_id,
        )
        return moved


def _operations(rows: Iterable[Row]) -> tuple[Operation, ...]:
    return tuple(_operation(row) for row in rows)


def _operation(row: Row) -> Operation:
    return Operation(
        id=OperationId(row["id"]),
        origin=Origin(kind=row["origin_kind"], id=row["origin_id"]),
        task_id=row["task_id"],
        call_id=row["call_id"],
        action=row["action"],
        level=Level(row["level"]),
        identity=row["identity"],
        executor=row["executor"],
        plan_hash=PlanHash(row["plan_hash"]),
        plan=restored(row, "plan"),
        ticket_id=row["ticket_id"],
        state=OperationState(row["state"]),
        outcome=restored(row, "outcome"),
        created_at_ms=row["created_at_ms"],
        started_at_ms=row["started_at_ms"],
        ended_at_ms=row["ended_at_ms"],
    )
