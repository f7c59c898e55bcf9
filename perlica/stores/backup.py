"""Backups of the running database, and the way back: `perlica backup`, `perlica restore`.

A backup is a whole database file of one moment. Its age is bounded like that of everything else,
and a restored database is cleaned before it is used: what was deleted since does not come back.
"""

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import apsw

from perlica.domain.clock import now_ms
from perlica.domain.errors import Misconfigured, Refused, Retryable
from perlica.protection import Channel, protect
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database, connect
from perlica.stores.faults import translated
from perlica.stores.health import Severity, check_database
from perlica.stores.migrations import migrate
from perlica.stores.retention import Retention, RetentionAges
from perlica.stores.service import ServiceStore

LAST_BACKUP_KEY: Final = "last_backup_at_ms"
RESTORED_FROM_KEY: Final = "restored_from"
RESTORED_REASON: Final = "restored"
"""Why tasks, tickets and sends of the old time ended."""
_NAME: Final = "perlica-{second:%Y%m%dT%H%M%S}{ms:03d}Z.sqlite3"
_NAME_PATTERN: Final = re.compile(r"perlica-(\d{8}T\d{6})(\d{3})Z\.sqlite3")
# One file without a WAL beside it, readable where nothing can be written.
_SINGLE_FILE: Final = "PRAGMA journal_mode = DELETE"

_END_TASKS: Final = """
UPDATE tasks SET state = 'failed', ended_at_ms = :now_ms, active_since_ms = NULL,
    end_reason = :reason
WHERE ended_at_ms IS NULL RETURNING id
"""
_VOID_TICKETS: Final = """
UPDATE approvals SET state = 'void' WHERE state IN ('pending', 'approved') RETURNING id
"""
_ABANDON_OPERATIONS: Final = """
UPDATE operations SET state = 'abandoned', ended_at_ms = :now_ms
WHERE state = 'queued' RETURNING id
"""
_DOUBT_OPERATIONS: Final = """
UPDATE operations SET state = 'unknown', outcome = json_object('reason', :reason)
WHERE state = 'started' RETURNING id
"""
_HOLD_SENDS: Final = """
UPDATE outbox_messages SET state = 'dead', last_error = :reason, updated_at_ms = :now_ms
WHERE state IN ('queued', 'sending', 'unknown') RETURNING id
"""
_CLOSE_COMMANDS: Final = "UPDATE commands SET state = 'done' WHERE state = 'pending' RETURNING 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """A finished and verified backup file."""

    path: Path
    size_bytes: int
    made_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What a restore did: the new epoch, and how much of the old time was ended."""

    epoch: int
    schema_version: int
    tasks_ended: int
    tickets_void: int
    operations_unknown: int
    sends_held: int


def back_up(db: Database, folder: Path) -> Backup:
    """Copy the database of one moment into a new file of `folder` and verify it.

    Writers go on meanwhile. The file appears under its name only when it is whole and on disk.

    Raises: Misconfigured when the folder cannot be written or the copy is damaged; RuntimeError
    within a transaction.
    """
    if db.in_transaction:
        raise RuntimeError("a backup is made outside of transactions")
    made_at_ms = now_ms()
    second = datetime.fromtimestamp(made_at_ms // 1000, UTC)
    target = folder / _NAME.format(second=second, ms=made_at_ms % 1000)
    partial = target.with_name(target.name + ".partial")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _copy(db.path, partial)
        verify(partial)
        _settle(partial, target)
    except OSError as error:
        raise Misconfigured(
            "backup_failed", f"no backup in {folder}: {error.strerror}", remedy="check the folder"
        ) from error
    finally:
        _remove(partial)
    _note_time(db, made_at_ms)
    return _backup(target, made_at_ms)


def _note_time(db: Database, made_at_ms: int) -> None:
    """Keep when the last backup was made; a lock that is held too long takes no backup back."""
    with suppress(Retryable), db.transaction():
        ServiceStore(db).set(LAST_BACKUP_KEY, str(made_at_ms))


def verify(path: Path) -> None:
    """Read the whole of a backup. Raises: Misconfigured when it is damaged or not ours."""
    faults = [item for item in check_database(path) if item.severity is Severity.fault]
    if faults:
        raise Misconfigured("backup_damaged", f"{path.name}: {faults[0].text}")


def prune(folder: Path, *, keep_ms: int) -> tuple[Path, ...]:
    """Delete the backups of `folder` that are older than that; those it deleted."""
    before_ms = now_ms() - keep_ms
    old = tuple(backup.path for backup in list_backups(folder) if backup.made_at_ms < before_ms)
    for path in old:
        _remove(path)
    return old


def list_backups(folder: Path) -> tuple[Backup, ...]:
    """The finished backups of a folder, newest first; other files are passed over."""
    if not folder.is_dir():
        return ()
    found = [
        _backup(path, made_at_ms)
        for path in folder.iterdir()
        if (made_at_ms := _made_at_ms(path)) is not None
    ]
    return tuple(sorted(found, key=lambda backup: backup.made_at_ms, reverse=True))


def _backup(path: Path, made_at_ms: int) -> Backup:
    return Backup(path=path, size_bytes=path.stat().st_size, made_at_ms=made_at_ms)


def _made_at_ms(path: Path) -> int | None:
    """When a backup was made, by its name; None for a file that is none."""
    match = _NAME_PATTERN.fullmatch(path.name)
    if match is None:
        return None
    second = datetime.strptime(match[1], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
    return int(second.timestamp()) * 1000 + int(match[2])


def restore_backup(backup: Path, target: Path, ages: RetentionAges | None = None) -> Restored:
    """Make a usable database at `target` from a backup; there must be none yet.

    It gets a higher epoch, so that a node daemon starts nothing that belongs to the old time. Tasks
    of that time are ended, their tickets void, started operations unknown, unsent messages held,
    and everything that has expired meanwhile is deleted, all before it appears at `target`.

    Raises: Refused when there is a database at `target`; Misconfigured when the backup is damaged
    or newer than this program.
    """
    if target.exists():
        raise Refused("database_exists", f"there is a database at {target}; move it away first")
    verify(backup)
    partial = target.with_name(target.name + ".partial")
    _remove(partial)
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _copy(backup, partial)
        version = migrate(partial)
        with Database.open(partial) as db:
            restored = _end_old_time(db, backup.name, version)
            Retention(db, ages).run_to_end()
        _settle(partial, target)
    except OSError as error:
        raise Misconfigured(
            "restore_failed", f"nothing was restored to {target}: {error.strerror}"
        ) from error
    finally:
        _remove(partial)
    return restored


def _end_old_time(db: Database, origin: str, version: int) -> Restored:
    at_ms = now_ms()
    told = {"now_ms": at_ms, "reason": RESTORED_REASON}
    with db.transaction():
        service = ServiceStore(db)
        service.set(RESTORED_FROM_KEY, origin)
        tasks = db.change(_END_TASKS, told)
        tickets = db.change(_VOID_TICKETS, told)
        db.change(_ABANDON_OPERATIONS, told)
        db.change(_CLOSE_COMMANDS, told)
        epoch = service.raise_epoch(at_ms)
        AuditStore(db).add_event(
            "restored",
            actor="operator",
            detail=protect({"from": origin, "epoch": epoch}, Channel.AUDIT),
        )
        return Restored(
            epoch=epoch,
            schema_version=version,
            tasks_ended=len(tasks),
            tickets_void=len(tickets),
            operations_unknown=len(db.change(_DOUBT_OPERATIONS, told)),
            sends_held=len(db.change(_HOLD_SENDS, told)),
        )


def _copy(source: Path, target: Path) -> None:
    """Copy by SQLite's online backup, in one step: a snapshot that later writers do not disturb."""
    _remove(target)
    os.close(os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    reader = connect(source, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        writer = connect(target, flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            with translated(), writer.backup("main", reader, "main") as copying:
                while not copying.done:
                    copying.step()
            with translated():
                writer.execute(_SINGLE_FILE).fetchall()
        finally:
            writer.close()
    finally:
        reader.close()


def _settle(partial: Path, target: Path) -> None:
    """Give a file its name once it is on disk."""
    _sync(partial)
    partial.rename(target)
    _sync(target.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(path: Path) -> None:
    """Delete a database file with what SQLite keeps beside it."""
    for suffix in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError, NotADirectoryError):
            path.with_name(path.name + suffix).unlink()
