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
from perlica.domain.ids import GroupId
from perlica.stores.database import Database, connect
from perlica.stores.deletions import LOG_IN_BACKUPS, DeletionLog, Deletions
from perlica.stores.faults import translated
from perlica.stores.health import Severity, check_database
from perlica.stores.migrations import migrate
from perlica.stores.old_time import RESTORED_FROM_KEY, Ended, end_old_time, hide_recalled
from perlica.stores.ownership import give_to_owner, make_folder
from perlica.stores.retention import Retention, RetentionAges
from perlica.stores.service import ServiceStore

__all__ = [
    "LAST_BACKUP_KEY",
    "RESTORED_FROM_KEY",
    "Backup",
    "Restored",
    "back_up",
    "list_backups",
    "prune",
    "restore_backup",
    "verify",
]

LAST_BACKUP_KEY: Final = "last_backup_at_ms"
_NAME: Final = "perlica-{second:%Y%m%dT%H%M%S}{ms:03d}Z.sqlite3"
_NAME_PATTERN: Final = re.compile(r"perlica-(\d{8}T\d{6})(\d{3})Z\.sqlite3")
_BESIDE: Final = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a database and plays into whatever stands there."""
_TARGET: Final = "SELECT group_id FROM target_group WHERE id = 1"
# One file without a WAL beside it, readable where nothing can be written.
_SINGLE_FILE: Final = "PRAGMA journal_mode = DELETE"


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
        make_folder(folder)
        _copy(db.path, partial)
        verify(partial)
        _settle(partial, target)
        DeletionLog(folder / LOG_IN_BACKUPS).absorb(DeletionLog.beside(db.path).read())
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


def restore_backup(
    backup: Path,
    target: Path,
    ages: RetentionAges | None = None,
    *,
    group_id: GroupId | None = None,
) -> Restored:
    """Make a usable database at `target` from a backup; there must be none yet.

    It gets a higher epoch, so that a node daemon starts nothing that belongs to the old time. Tasks
    of that time are ended, their tickets void, operations under way unknown, unsent messages held;
    what has expired, was deleted or recalled meanwhile is gone, all before it appears at `target`.
    The caller keeps the service away. As root the files get the owner of the state directory.

    Raises: Refused when a database, or what SQLite keeps beside one, is at `target`, or the backup
    is of another group than `group_id`; Misconfigured when it is damaged or newer than this
    program, or nothing can be written; StoreUnavailable when the disk is full.
    """
    _refuse_remains(target)
    _refuse_company(backup)
    verify(backup)
    _check_group(backup, group_id)
    partial = target.with_name(target.name + ".partial")
    _remove(partial)
    log = DeletionLog.beside(target)
    try:
        make_folder(target.parent)
        log.absorb(DeletionLog(backup.with_name(LOG_IN_BACKUPS)).read())
        _copy(backup, partial)
        version = migrate(partial)
        ended = _bring_to_now(partial, backup.name, ages, log.read())
        _require_alone(partial)
        _settle(partial, target)
    except OSError as error:
        raise Misconfigured(
            "restore_failed", f"nothing was restored to {target}: {error.strerror}"
        ) from error
    finally:
        _remove(partial)
    return Restored(
        epoch=ended.epoch,
        schema_version=version,
        tasks_ended=ended.tasks,
        tickets_void=ended.tickets,
        operations_unknown=ended.operations,
        sends_held=ended.sends,
    )


def _bring_to_now(
    path: Path, origin: str, ages: RetentionAges | None, deletions: Deletions
) -> Ended:
    """End what was under way and delete what is not to come back."""
    with Database.open(path) as db:
        ended = end_old_time(db, origin)
        hide_recalled(db, deletions)
        Retention(db, ages, deleted=deletions, is_logged=False).run_to_end()
    return ended


def _refuse_remains(target: Path) -> None:
    """A log of another database beside a new one would be played into it at the first look."""
    remains = [
        path.name
        for suffix in ("", *_BESIDE)
        if os.path.lexists(path := target.with_name(target.name + suffix))
    ]
    if remains:
        raise Refused(
            "database_exists",
            f"in {target.parent} there is {', '.join(remains)}",
            remedy="move it away first, all of it together: these files are one database",
        )


def _refuse_company(backup: Path) -> None:
    """A backup is one file; a log beside it would be read into it, whosever it is."""
    beside = [
        path.name
        for suffix in _BESIDE
        if os.path.lexists(path := backup.with_name(backup.name + suffix))
    ]
    if beside:
        raise Refused(
            "backup_not_alone",
            f"beside {backup.name} there is {', '.join(beside)}; a backup is one file",
            remedy="copy the backup into a folder of its own and restore it from there",
        )


def _check_group(backup: Path, group_id: GroupId | None) -> None:
    with Database.open(backup, read_only=True) as db:
        row = db.query_one(_TARGET)
    if group_id is not None and row is not None and row["group_id"] != group_id:
        raise Refused(
            "other_group",
            f"{backup.name} belongs to group {row['group_id']}, not to {group_id}",
            remedy="name a backup of this group, or correct napcat.group_id",
        )


def _require_alone(path: Path) -> None:
    """Everything is in the one file. Raises: Misconfigured while somebody else reads it."""
    if any(os.path.lexists(path.with_name(path.name + suffix)) for suffix in _BESIDE):
        raise Misconfigured(
            "restore_disturbed",
            f"another program has {path.name} open; nothing was restored",
            remedy="end it and restore again",
        )


def _copy(source: Path, target: Path) -> None:
    """Copy by SQLite's online backup, in one step: a snapshot that later writers do not disturb."""
    _remove(target)
    descriptor = os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        give_to_owner(descriptor, target.parent)
    finally:
        os.close(descriptor)
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
    for suffix in ("", *_BESIDE):
        with suppress(FileNotFoundError, NotADirectoryError):
            path.with_name(path.name + suffix).unlink()
