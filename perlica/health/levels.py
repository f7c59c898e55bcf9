"""Levels: what there is at this moment; each query walks an index that holds little."""

from pathlib import Path
from typing import Final

from perlica.domain.clock import now_ms
from perlica.domain.operation import OperationState
from perlica.domain.outbox import OutboxState
from perlica.domain.sandbox import MAX_SANDBOXES, OCCUPYING
from perlica.domain.task import FINAL_STATES, TaskState
from perlica.health.instruments import Levels
from perlica.stores.backup import LAST_BACKUP_KEY, list_backups
from perlica.stores.database import Database
from perlica.stores.health import last_check, measure
from perlica.stores.model_standing import SERVICE_TROUBLES, read_model_standing
from perlica.stores.service import ServiceStore

_TASK: Final = """
SELECT state, created_at_ms,
    (SELECT max(at_ms) FROM task_events WHERE task_id = tasks.id) AS moved_at_ms
FROM tasks INDEXED BY one_active_task
WHERE state NOT IN ('completed', 'failed', 'cancelled')
"""
_TICKETS: Final = """
SELECT count(*) AS rows, min(created_at_ms) AS oldest_ms
FROM approvals INDEXED BY approvals_living
WHERE state IN ('pending', 'approved') AND state = 'pending'
"""
_OPERATIONS: Final = """
SELECT state, count(*) AS rows, min(created_at_ms) AS oldest_ms
FROM operations INDEXED BY operations_open
WHERE state IN ('queued', 'started', 'unknown') GROUP BY state
"""
_OUTBOX: Final = """
SELECT state, count(*) AS rows, min(created_at_ms) AS oldest_ms
FROM outbox_messages INDEXED BY outbox_messages_open
WHERE state IN ('queued', 'sending', 'unknown') GROUP BY state
"""
_COMMANDS: Final = "SELECT count(*) AS rows FROM commands WHERE state = 'pending'"
_IN_HAND: Final = "SELECT count(*) AS rows FROM messages_in_hand WHERE in_hand = 1"
_NEWEST_MESSAGE: Final = "SELECT max(stored_at_ms) AS at_ms FROM group_messages"
_SANDBOXES: Final = """
SELECT state, count(*) AS rows FROM sandboxes WHERE slot IS NOT NULL GROUP BY state
"""
_OPEN_OPERATIONS: Final = (OperationState.queued, OperationState.started, OperationState.unknown)
_OPEN_SENDS: Final = (OutboxState.queued, OutboxState.sending, OutboxState.unknown)


def read_levels(database: Database, levels: Levels) -> None:
    """Set every gauge that comes from a table."""
    at_ms = now_ms()
    _read_task(database, levels, at_ms)
    (tickets,) = database.query(_TICKETS)
    levels.tickets.set(tickets["rows"])
    levels.tickets_age.set(_age_s(tickets["oldest_ms"], at_ms))
    _read_open(database, levels, at_ms)
    levels.commands.set(database.query(_COMMANDS)[0]["rows"])
    levels.in_hand.set(database.query(_IN_HAND)[0]["rows"])
    levels.message_stored.set((database.query(_NEWEST_MESSAGE)[0]["at_ms"] or 0) / 1000)
    standing = read_model_standing(database)
    for reason in SERVICE_TROUBLES:
        levels.model_trouble.labels(reason.value).set(int(reason is standing.trouble))
    living = {row["state"]: int(row["rows"]) for row in database.query(_SANDBOXES)}
    for state in sorted(OCCUPYING):
        levels.sandboxes.labels(state.value).set(living.get(state.value, 0))
    levels.slots_free.set(MAX_SANDBOXES - sum(living.values()))
    checked = last_check(database)
    levels.database_checked.set(checked.at_ms / 1000)
    levels.database_faults.set(len(checked.faults))
    # Remembered by the database, so that one that was moved elsewhere counts too.
    levels.backup.set(int(ServiceStore(database).find(LAST_BACKUP_KEY) or 0) / 1000)


def _read_task(database: Database, levels: Levels, at_ms: int) -> None:
    row = database.query_one(_TASK)
    for state in TaskState:
        if state not in FINAL_STATES:
            is_now = row is not None and row["state"] == state.value
            levels.task.labels(state.value).set(int(is_now))
    levels.task_age.set(_age_s(row["created_at_ms"] if row else None, at_ms))
    levels.task_state_age.set(_age_s(row["moved_at_ms"] if row else None, at_ms))


def _read_open(database: Database, levels: Levels, at_ms: int) -> None:
    operations = {row["state"]: row for row in database.query(_OPERATIONS)}
    for operation in _OPEN_OPERATIONS:
        row = operations.get(operation.value)
        levels.operations.labels(operation.value).set(row["rows"] if row else 0)
        age_s = _age_s(row["oldest_ms"] if row else None, at_ms)
        levels.operations_age.labels(operation.value).set(age_s)
    sends = {row["state"]: row for row in database.query(_OUTBOX)}
    for send in _OPEN_SENDS:
        row = sends.get(send.value)
        levels.outbox.labels(send.value).set(row["rows"] if row else 0)
        levels.outbox_age.labels(send.value).set(_age_s(row["oldest_ms"] if row else None, at_ms))


def measure_levels(database_path: Path, backups: Path, min_free_bytes: int, levels: Levels) -> None:
    """Set every gauge that comes from the disk. Raises: OSError when it cannot be looked at."""
    size = measure(database_path)
    levels.database.set(size.database_bytes)
    levels.wal.set(size.wal_bytes)
    levels.disk_free.set(size.free_bytes)
    levels.disk_wanted.set(min_free_bytes)
    newest = next(iter(list_backups(backups)), None)
    levels.backup_size.set(newest.size_bytes if newest else 0)


def _age_s(since_ms: int | None, at_ms: int) -> float:
    return 0.0 if since_ms is None else max(0, at_ms - since_ms) / 1000
