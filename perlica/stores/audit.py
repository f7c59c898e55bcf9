"""The audit trail: who did what and why, written in the transaction of the act, never changed."""

from dataclasses import dataclass, field
from typing import Final

from perlica.domain.clock import now_ms
from perlica.domain.ids import OperationId, TaskId, TicketId
from perlica.domain.plan import Level
from perlica.protection import Protected
from perlica.stores.commit_log import tell_when_committed
from perlica.stores.database import Database, Row
from perlica.stores.sealed import as_json, columns, restored

_LAST_ID: Final = 2**63 - 1
_TOLD_BY_THEIR_STORE: Final = {"task.ended", "operation.planned", "operation.resolved"}
"""Kinds whose log line another store writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    """A row of `audit_events`; `actor` is who did it, such as `user:123` or `reconciler`."""

    id: int
    at_ms: int
    kind: str
    actor: str
    task_id: TaskId | None
    ticket_id: TicketId | None
    operation_id: OperationId | None
    level: Level | None
    detail: Protected = field(repr=False)


_INSERT: Final = """
INSERT INTO audit_events (at_ms, kind, actor, task_id, ticket_id, operation_id, level, detail,
    protection_status, policy_version, finding_count)
VALUES (:at_ms, :kind, :actor, :task_id, :ticket_id, :operation_id, :level, :detail,
    :protection_status, :policy_version, :finding_count)
RETURNING id
"""
_LIST: Final = """
SELECT * FROM audit_events
WHERE id < :before_id AND (:kind IS NULL OR kind = :kind)
ORDER BY id DESC LIMIT :limit
"""
_LIST_FOR_TASK: Final = """
SELECT * FROM audit_events INDEXED BY audit_events_by_task
WHERE task_id = :task_id AND id < :before_id AND (:kind IS NULL OR kind = :kind)
ORDER BY id DESC LIMIT :limit
"""


class AuditStore:
    """Reads and writes `audit_events`."""

    def __init__(self, db: Database) -> None:
        """Work on this connection."""
        self._db = db

    def add_event(
        self,
        kind: str,
        *,
        actor: str,
        detail: Protected,
        task_id: TaskId | None = None,
        ticket_id: TicketId | None = None,
        operation_id: OperationId | None = None,
        level: Level | None = None,
    ) -> int:
        """Record an event; its number. A detail whose scan failed is kept as `{"withheld": …}`."""
        bindings = {
            "at_ms": now_ms(),
            "kind": kind,
            "actor": actor,
            "task_id": task_id,
            "ticket_id": ticket_id,
            "operation_id": operation_id,
            "level": None if level is None else level.value,
            **columns("detail", as_json(detail)),
        }
        number = int(self._db.change(_INSERT, bindings)[0]["id"])
        if kind not in _TOLD_BY_THEIR_STORE:
            tell_when_committed(
                self._db,
                kind,
                task=task_id,
                ticket=ticket_id,
                operation=operation_id,
            )
        return number

    def list_events(
        self,
        *,
        limit: int,
        before_id: int | None = None,
        task_id: TaskId | None = None,
        kind: str | None = None,
    ) -> tuple[AuditEvent, ...]:
        """The newest events first; `before_id` continues after a page."""
        page = {"before_id": _LAST_ID if before_id is None else before_id, "limit": limit}
        sql = _LIST if task_id is None else _LIST_FOR_TASK
        bindings = {**page, "kind": kind, "task_id": task_id}
        return tuple(_event(row) for row in self._db.query(sql, bindings))


def _event(row: Row) -> AuditEvent:
    return AuditEvent(
        id=row["id"],
        at_ms=row["at_ms"],
        kind=row["kind"],
        actor=row["actor"],
        task_id=row["task_id"],
        ticket_id=row["ticket_id"],
        operation_id=row["operation_id"],
        level=None if row["level"] is None else Level(row["level"]),
        detail=restored(row, "detail"),
    )
