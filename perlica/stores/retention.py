"""Deleting what is older than it may be, in short transactions, so that nothing stays on disk.

The reconciler calls `Retention.clean_up` again and again; a restore runs it to the end before the
service starts. Ages count from a record's creation.

What outlives what: a ticket and an operation name their task without a foreign key and stay when it
goes; a ticket keeps the end of its task itself, and one of a living task is never deleted; open and
unknown operations stay until they are settled.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from perlica.domain.clock import monotonic_s, now_ms
from perlica.stores.database import Database
from perlica.stores.deletions import DeletionLog, Deletions
from perlica.stores.service import ServiceStore

_DAY_MS: Final = 86_400_000
_APPLIED_KEY: Final = "deleted_through"
TRANSACTION_S: Final = 0.025
"""What a deletion aims at; write transactions stay under 50 ms."""
FIRST_ROWS: Final = 4
MAX_ROWS: Final = 256
"""Rows of one transaction at first and at most; in between what the last one took decides, because
the index does its work at the commit: of a million messages, one takes 5 ms."""
CLEAN_UP_WITHIN_S: Final = 2.0
"""What the reconciler spends at once; it has other things to look at."""
PAGES_AT_ONCE: Final = 128
KEPT_FREE_PAGES: Final = 1_024
"""Free pages over this go back to the file system; these wait for the next messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionAges:
    """How long each kind of record is kept; the defaults are the specification's."""

    message_ms: int = 90 * _DAY_MS
    session_ms: int = 30 * _DAY_MS
    tool_output_ms: int = 14 * _DAY_MS
    audit_ms: int = 30 * _DAY_MS
    ticket_ms: int = 30 * _DAY_MS
    ticket_after_task_ms: int = 7 * _DAY_MS

    def limits(self, at_ms: int) -> dict[str, int]:
        """For each age the time before which a record is too old."""
        return {
            "message_ms": at_ms - self.message_ms,
            "session_ms": at_ms - self.session_ms,
            "tool_output_ms": at_ms - self.tool_output_ms,
            "audit_ms": at_ms - self.audit_ms,
            "ticket_ms": at_ms - self.ticket_ms,
            "task_end_ms": at_ms - self.ticket_after_task_ms,
            "message_day": (at_ms - self.message_ms) // _DAY_MS,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    """Rows of `table` that the condition chooses; it names times of `limits`."""

    table: str
    condition: str

    @property
    def sql(self) -> str:
        """Delete a few of them; what it returns is counted."""
        return f"""
            DELETE FROM {self.table} WHERE rowid IN (
                SELECT rowid FROM {self.table} WHERE {self.condition} LIMIT :rows)
            RETURNING 1
        """  # noqa: S608 - table and condition are the constants below


# An index in one piece gives its rows up ten times faster; making it one takes seconds.
_MERGE_INDEX: Final = "INSERT INTO message_index (message_index) VALUES ('optimize')"
_OF_NO_LIVING_TASK: Final = """
    NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.id = task_id AND tasks.ended_at_ms IS NULL)
"""
_OPEN_OPERATIONS: Final = "('queued', 'started', 'unknown')"
# Children before parents, so that no single deletion takes a whole transcript with it.
# Attachments, commands and the search index go with their message.
_RULES: Final = (
    _Rule(table="tool_outputs", condition="created_at_ms < :tool_output_ms"),
    _Rule(
        table="group_messages",
        condition="""stored_at_ms < :message_ms AND NOT EXISTS (
            SELECT 1 FROM tasks WHERE trigger_row = group_messages.id AND ended_at_ms IS NULL)""",
    ),
    _Rule(
        table="session_events",
        condition=f"created_at_ms < :session_ms AND {_OF_NO_LIVING_TASK}",
    ),
    _Rule(table="tool_calls", condition=f"created_at_ms < :session_ms AND {_OF_NO_LIVING_TASK}"),
    _Rule(
        table="session_summaries",
        condition=f"created_at_ms < :session_ms AND {_OF_NO_LIVING_TASK}",
    ),
    _Rule(
        table="outbox_messages",
        condition="created_at_ms < :session_ms AND state NOT IN ('queued', 'sending')",
    ),
    _Rule(
        table="approvals",
        condition="""created_at_ms < :ticket_ms
            AND (task_id IS NULL OR task_ended_at_ms < :task_end_ms)""",
    ),
    _Rule(
        table="tasks",
        condition="""created_at_ms < :session_ms AND ended_at_ms IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM session_events WHERE task_id = tasks.id)
            AND NOT EXISTS (SELECT 1 FROM tool_calls WHERE task_id = tasks.id)""",
    ),
    _Rule(
        table="operations",
        condition=f"created_at_ms < :audit_ms AND state NOT IN {_OPEN_OPERATIONS}",
    ),
    _Rule(table="orphans", condition="cleared_at_ms < :audit_ms"),
    _Rule(
        table="sandboxes",
        condition="""ended_at_ms < :audit_ms
            AND NOT EXISTS (SELECT 1 FROM sandbox_operations WHERE sandbox_id = sandboxes.id)
            AND NOT EXISTS (SELECT 1 FROM orphans WHERE sandbox_id = sandboxes.id)""",
    ),
    _Rule(
        table="image_switches",
        condition="changed_at_ms < :audit_ms AND state = 'activated'",
    ),
    _Rule(table="node_observations", condition="last_at_ms < :audit_ms"),
    _Rule(table="audit_events", condition="at_ms < :audit_ms"),
    _Rule(
        table="message_days",
        condition="""day < :message_day AND NOT EXISTS (
            SELECT 1 FROM group_messages WHERE id BETWEEN first_row AND last_row)""",
    ),
    _Rule(
        table="messages_in_hand",
        condition="marked_at_ms < :message_ms AND in_hand = 0",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaned:
    """How many rows each table lost; `more` says that there is something left to do."""

    rows: Mapping[str, int]
    more: bool


class Retention:
    """Deletes expired records on a connection of the reconciler's."""

    def __init__(
        self,
        db: Database,
        ages: RetentionAges | None = None,
        *,
        deleted: Deletions | None = None,
        is_logged: bool = True,
    ) -> None:
        """Keep records by these ages; under disk pressure the caller gives shorter ones.

        What was `deleted` before goes again, whatever its age. Unless it is not to be logged, each
        deletion stands in the deletion log before it happens.
        """
        self._db = db
        self._ages = RetentionAges() if ages is None else ages
        self._deleted = Deletions() if deleted is None else deleted
        self._log = DeletionLog.beside(db.path) if is_logged else None
        self._at_once: dict[str, int] = {}

    def clean_up(
        self, within_s: float = CLEAN_UP_WITHIN_S, *, kept_free_pages: int = KEPT_FREE_PAGES
    ) -> Cleaned:
        """Delete what is due, in short transactions, for about `within_s` seconds in all.

        Free pages above `kept_free_pages` go back to the file system. Deleted text may stand in the
        WAL file until `more` is False: call it again later.

        Raises: Retryable when the database is locked, Misconfigured when it cannot be written.
        """
        until_s = monotonic_s() + within_s
        limits = self._limits()
        rows: dict[str, int] = {}
        is_through = False
        while not is_through and monotonic_s() < until_s:
            # Every rule in each round: a parent is due only when its children are gone.
            throughs = [self._apply(rule, limits, rows) for rule in _RULES]
            is_through = all(throughs)
        if is_through and rows:
            self._note_applied(limits)
        while self._db.free_pages() > kept_free_pages and monotonic_s() < until_s:
            self._db.release_pages(PAGES_AT_ONCE)
        return Cleaned(rows=rows, more=not is_through or not self._db.truncate_wal())

    def run_to_end(self) -> Cleaned:
        """Delete all that is due, however long it takes, while nobody else uses the database.

        `more` is True only where another connection reads it all the same.
        """
        with self._db.transaction():
            self._db.change(_MERGE_INDEX)
        cleaned = self.clean_up(within_s=math.inf)
        self._note_applied(self._limits())
        return cleaned

    def _limits(self) -> dict[str, int]:
        """Our own, or those of an earlier deletion that the database has not been through yet.

        What it has been through says nothing of records that came later, even if they are dated
        before it: the clock may have been wrong then.
        """
        applied = self._applied()
        own = self._ages.limits(now_ms())
        gone = {
            name: at
            for name, at in self._deleted.kept_since.items()
            if name not in applied or at > applied[name]
        }
        return {name: max(limit, gone.get(name, limit)) for name, limit in own.items()}

    def _applied(self) -> dict[str, int]:
        found = json.loads(ServiceStore(self._db).find(_APPLIED_KEY) or "{}")
        return {str(name): int(at) for name, at in found.items()}

    def _note_applied(self, limits: Mapping[str, int]) -> None:
        """Nothing that these limits mean is left here, and so in no later backup."""
        applied = self._applied()
        both = {name: max(at, applied.get(name, at)) for name, at in limits.items()}
        with self._db.transaction():
            ServiceStore(self._db).set(_APPLIED_KEY, json.dumps(both))

    def _apply(self, rule: _Rule, limits: Mapping[str, int], rows: dict[str, int]) -> bool:
        """Delete a few in one transaction, counting into `rows`; whether the rule is through."""
        at_once = self._at_once.get(rule.table, FIRST_ROWS)
        bindings = {**limits, "rows": at_once}
        if not self._has_any(rule, bindings):
            return True
        if not rows and self._log is not None:
            self._log.note_kept_since(limits)
        began_s = monotonic_s()
        with self._db.transaction():
            count = len(self._db.change(rule.sql, bindings))
        took_s = max(monotonic_s() - began_s, TRANSACTION_S / MAX_ROWS)
        rows[rule.table] = rows.get(rule.table, 0) + count
        self._at_once[rule.table] = min(max(1, int(count * TRANSACTION_S / took_s)), MAX_ROWS)
        return count < at_once

    def _has_any(self, rule: _Rule, bindings: Mapping[str, int]) -> bool:
        """Look before the write lock is taken: most of the time nothing is due."""
        sql = f"SELECT 1 FROM {rule.table} WHERE {rule.condition} LIMIT 1"  # noqa: S608
        return self._db.query_one(sql, bindings) is not None


def make_room(db: Database, ages: RetentionAges) -> Cleaned:
    """Delete by these shorter ages and give every page back: the disk runs full.

    Raises: as `Retention.clean_up`.
    """
    return Retention(db, ages).clean_up(kept_free_pages=0)
