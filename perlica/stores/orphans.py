"""Orphans: what may still lie on a node although it should not, until its clean-up is confirmed.

Written by whoever ends a deletion that failed and by the keeper, which tries again. An open one
keeps its name from being used again (the schema holds that).
"""

from dataclasses import dataclass
from typing import Final, Literal

from perlica.domain.clock import now_ms
from perlica.domain.ids import RowId
from perlica.stores.database import Database, Row
from perlica.stores.sandboxes import SandboxRow
from perlica.stores.sealed import reason_text

Cause = Literal["delete_failed", "unconfirmed", "node_lost", "returned", "unknown"]

FIRST_WAIT_MS: Final = 60_000
LONGEST_WAIT_MS: Final = 6 * 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphan:
    """A row of `orphans`; `attempts` counts deletions that failed."""

    id: RowId
    sandbox_id: RowId
    cause: Cause
    node: str
    name: str
    instance: str
    reason: str
    attempts: int
    next_try_ms: int
    found_at_ms: int
    is_announced: bool


_NOTE: Final = """
INSERT INTO orphans (sandbox_id, cause, node, name, instance, state, reason, attempts, next_try_ms,
    found_at_ms)
VALUES (:sandbox_id, :cause, :node, :name, :instance, 'open', :reason, :attempts, :next_try_ms,
    :now_ms)
ON CONFLICT (sandbox_id) WHERE state = 'open' DO UPDATE SET
    cause = excluded.cause,
    instance = excluded.instance,
    reason = excluded.reason,
    attempts = orphans.attempts + excluded.attempts,
    next_try_ms = iif(excluded.attempts = 0, orphans.next_try_ms,
        :now_ms + min(:longest_ms, :first_ms << min(orphans.attempts, 12)))
RETURNING *
"""
_CLEAR: Final = """
UPDATE orphans SET state = 'cleared', cleared_at_ms = :now_ms
WHERE sandbox_id = :sandbox_id AND state = 'open' RETURNING *
"""
_FIND: Final = "SELECT * FROM orphans WHERE id = :id AND state = 'open'"
_FIND_FOR: Final = "SELECT * FROM orphans WHERE sandbox_id = :sandbox_id AND state = 'open'"
_LIST_OPEN: Final = "SELECT * FROM orphans WHERE state = 'open' ORDER BY id"
_MARK_ANNOUNCED: Final = "UPDATE orphans SET is_announced = 1 WHERE id = :id"
_TRY_NOW: Final = "UPDATE orphans SET next_try_ms = :now_ms WHERE state = 'open'"


class OrphanStore:
    """Reads and writes `orphans`."""

    def __init__(self, db: Database) -> None:
        """Work on this connection."""
        self._db = db

    def note(self, row: SandboxRow, cause: Cause, reason: str, *, failed: bool) -> Orphan:
        """Open an orphan for a sandbox, or count one more failure of the open one.

        The next try waits a minute, then twice as long each time, six hours at most.
        """
        now = now_ms()
        bindings = {
            "sandbox_id": row.id,
            "cause": cause,
            "node": row.node,
            "name": row.name,
            "instance": row.instance,
            "reason": reason_text(reason),
            "attempts": int(failed),
            "next_try_ms": now + FIRST_WAIT_MS if failed else now,
            "now_ms": now,
            "first_ms": FIRST_WAIT_MS,
            "longest_ms": LONGEST_WAIT_MS,
        }
        return _orphan(self._db.change(_NOTE, bindings)[0])

    def clear(self, sandbox: RowId) -> Orphan | None:
        """Nothing of it is left; the orphan that this closed."""
        row = self._db.change_one(_CLEAR, {"sandbox_id": sandbox, "now_ms": now_ms()})
        return None if row is None else _orphan(row)

    def find(self, orphan: RowId) -> Orphan | None:
        """An open orphan by its number."""
        row = self._db.query_one(_FIND, {"id": orphan})
        return None if row is None else _orphan(row)

    def find_for(self, sandbox: RowId) -> Orphan | None:
        """The open orphan of a sandbox."""
        row = self._db.query_one(_FIND_FOR, {"sandbox_id": sandbox})
        return None if row is None else _orphan(row)

    def list_open(self) -> tuple[Orphan, ...]:
        """Every open orphan, oldest first."""
        return tuple(_orphan(row) for row in self._db.query(_LIST_OPEN))

    def mark_announced(self, orphan: RowId) -> None:
        """The group was told of it."""
        self._db.change(_MARK_ANNOUNCED, {"id": orphan})

    def try_now(self) -> None:
        """Let the next tries come at once."""
        self._db.change(_TRY_NOW, {"now_ms": now_ms()})


def _orphan(row: Row) -> Orphan:
    return Orphan(
        id=RowId(row["id"]),
        sandbox_id=RowId(row["sandbox_id"]),
        cause=row["cause"],
        node=row["node"],
        name=row["name"],
        instance=row["instance"],
        reason=row["reason"],
        attempts=row["attempts"],
        next_try_ms=row["next_try_ms"],
        found_at_ms=row["found_at_ms"],
        is_announced=bool(row["is_announced"]),
    )
