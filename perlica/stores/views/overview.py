"""The few figures that every page of the console shows, and the facts of the database itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from perlica.stores.backup import LAST_BACKUP_KEY, RESTORED_FROM_KEY
from perlica.stores.database import Database
from perlica.stores.health import DatabaseSize, measure
from perlica.stores.service import ServiceStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What waits for somebody. `sends` are unknown ones, `failed_sends` will never be sent."""

    tickets: int
    operations: int
    sends: int
    queued_sends: int
    failed_sends: int
    sandboxes: int
    orphans: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseFacts:
    """The database file: schema, sizes, epoch, where it came from, its last backup."""

    schema: int
    size: DatabaseSize
    epoch: int
    last_backup_at_ms: int | None
    restored_from: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashedMessage:
    """A message that was in hand at crashes of the service; ids only."""

    message_id: int
    crashes: int
    marked_at_ms: int


_WAITING: Final = """
SELECT
    (SELECT count(*) FROM approvals WHERE state IN ('pending', 'approved')
        AND expires_at_ms > :now_ms) AS tickets,
    (SELECT count(*) FROM operations WHERE state IN ('queued', 'started', 'unknown')
        AND state = 'unknown') AS operations,
    (SELECT count(*) FROM outbox_messages WHERE state IN ('queued', 'sending', 'unknown')
        AND state = 'unknown') AS sends,
    (SELECT count(*) FROM outbox_messages WHERE state IN ('queued', 'sending', 'unknown')
        AND state <> 'unknown') AS queued_sends,
    (SELECT count(*) FROM outbox_messages WHERE state IN ('refused', 'dead')
        AND last_error NOT IN ('coalesced', 'ticket_over')) AS failed_sends,
    (SELECT count(*) FROM sandboxes WHERE slot IS NOT NULL) AS sandboxes,
    (SELECT count(*) FROM orphans WHERE state = 'open')
        + (SELECT count(*) FROM sandboxes WHERE slot IS NOT NULL AND state = 'unconfirmed'
            AND id NOT IN (SELECT sandbox_id FROM orphans WHERE state = 'open')) AS orphans
"""
_SCHEMA: Final = "SELECT max(version) AS version FROM schema_versions"
_LAST_HEARD: Final = "SELECT max(stored_at_ms) AS at_ms FROM group_messages"
_CRASHED: Final = """
SELECT message_id, crashes, marked_at_ms FROM messages_in_hand WHERE crashes > 0
ORDER BY crashes DESC, marked_at_ms DESC LIMIT :limit
"""
_QUARANTINED: Final = "SELECT count(*) AS rows FROM group_messages WHERE kind = 'quarantined'"

MAX_CRASHED: Final = 100


@contextmanager
def snapshot(db: Database) -> Iterator[None]:
    """One moment for all reads of the block: a page never mixes before and after."""
    db.query("BEGIN")
    try:
        yield
    finally:
        db.query("ROLLBACK")


def count_waiting(db: Database, now_ms: int) -> Waiting:
    """What waits for somebody now."""
    (row,) = db.query(_WAITING, {"now_ms": now_ms})
    return Waiting(**row)


def read_database_facts(db: Database) -> DatabaseFacts:
    """The facts of the database file."""
    service = ServiceStore(db)
    (row,) = db.query(_SCHEMA)
    last = service.find(LAST_BACKUP_KEY)
    return DatabaseFacts(
        schema=int(row["version"] or 0),
        size=measure(db.path),
        epoch=service.epoch(),
        last_backup_at_ms=int(last) if last else None,
        restored_from=service.find(RESTORED_FROM_KEY),
    )


def last_heard_at_ms(db: Database) -> int | None:
    """When the newest message of the group was stored."""
    (row,) = db.query(_LAST_HEARD)
    return None if row["at_ms"] is None else int(row["at_ms"])


def list_crashed(db: Database) -> tuple[CrashedMessage, ...]:
    """Messages that were in hand at a crash, the worst first."""
    return tuple(CrashedMessage(**row) for row in db.query(_CRASHED, {"limit": MAX_CRASHED}))


def count_quarantined(db: Database) -> int:
    """How many messages broke the service so often that they were put away."""
    (row,) = db.query(_QUARANTINED)
    return int(row["rows"])
