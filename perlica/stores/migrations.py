"""Bringing a database file to the schema of this program, one transaction for each step.

`perlica migrate`, `perlica run` and the tests call `migrate` before anything opens the database.
The steps are the files of sql/ in a checkout, installed as package data in a wheel.
"""

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

import apsw

from perlica.domain.clock import now_ms
from perlica.domain.errors import Misconfigured, Refused
from perlica.stores.database import Database, connect
from perlica.stores.faults import translated
from perlica.stores.ownership import give_to_owner, make_folder

APPLICATION_ID: Final = 0x5065726C
"""`Perl` in the header of the file: a database of somebody else is not touched."""
_FILE_NAME: Final = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")

_VERSIONS_TABLE: Final = """
CREATE TABLE IF NOT EXISTS schema_versions (
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    applied_at_ms INTEGER NOT NULL
) STRICT
"""
_HAS_VERSIONS: Final = "SELECT count(*) FROM sqlite_schema WHERE name = 'schema_versions'"
_APPLIED: Final = "SELECT version, sha256 FROM schema_versions ORDER BY version"
_RECORD: Final = """
INSERT INTO schema_versions (version, name, sha256, applied_at_ms)
VALUES (:version, :name, :sha256, :applied_at_ms)
"""
_TARGET: Final = "SELECT group_id, self_id FROM target_group WHERE id = 1"
_INSERT_TARGET: Final = """
INSERT INTO target_group (id, group_id, self_id, created_at_ms)
VALUES (1, :group_id, :self_id, :created_at_ms)
"""
_UPDATE_SELF: Final = "UPDATE target_group SET self_id = :self_id WHERE id = 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step: `version` from 1 without gaps; never edited once it was released."""

    version: int
    name: str
    sql: str = field(repr=False)

    @property
    def sha256(self) -> str:
        """What `schema_versions` remembers the step by."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def read_migrations() -> tuple[Migration, ...]:
    """The program's own steps in order. Raises: Misconfigured when one of them is missing."""
    found = [
        Migration(version=int(match[1]), name=match[2], sql=entry.read_text(encoding="utf-8"))
        for entry in _folder().iterdir()
        if (match := _FILE_NAME.fullmatch(entry.name))
    ]
    found.sort(key=lambda step: step.version)
    if not found or [step.version for step in found] != list(range(1, len(found) + 1)):
        raise Misconfigured("migrations_missing", "the program's sql files are not complete")
    return tuple(found)


def migrate(path: Path, *, steps: Sequence[Migration] | None = None) -> int:
    """Make or update the database at `path`; the version of its schema.

    The file gets mode 0600, a directory that is made for it 0700. A step that fails leaves the
    state before it. `steps` are the program's own but in tests.

    Raises: Misconfigured when the schema is newer than the program, an applied step was edited, or
    the file is not ours; Retryable when the database is locked.
    """
    steps = read_migrations() if steps is None else steps
    _make_file(path)
    connection = connect(path, flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        _prepare(connection, path)
        while _apply_next(connection, steps):
            pass
    finally:
        connection.close()
    return len(steps)


def check_target(db: Database, group_id: int, self_id: int) -> None:
    """Bind a fresh database to its group; a new account of our own replaces the old one.

    Raises: Misconfigured when the database belongs to another group.
    """
    with db.transaction():
        row = db.query_one(_TARGET)
        if row is None:
            bindings = {"group_id": group_id, "self_id": self_id, "created_at_ms": now_ms()}
            db.change(_INSERT_TARGET, bindings)
        elif row["group_id"] != group_id:
            raise Misconfigured(
                "other_group",
                f"the database belongs to group {row['group_id']}, not to {group_id}",
                remedy="use another database file for another group",
            )
        elif row["self_id"] != self_id:
            db.change(_UPDATE_SELF, {"self_id": self_id})


def _folder() -> Traversable:
    installed = files("perlica") / "_sql"
    return installed if installed.is_dir() else Path(__file__).parents[2] / "sql"


def _make_file(path: Path) -> None:
    """The empty file before SQLite sees it, so that it is never readable by others."""
    try:
        make_folder(path.parent)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.fchmod(descriptor, 0o600)
            give_to_owner(descriptor, path.parent)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise Misconfigured(
            "database_unusable",
            f"the database {path} cannot be made: {error.strerror}",
            remedy="check that the directory exists and can be written",
        ) from error


def _prepare(connection: apsw.Connection, path: Path) -> None:
    with translated():
        application_id = connection.pragma("application_id")
        if application_id == 0 and not _value(connection, "SELECT count(*) FROM sqlite_schema"):
            # Before the first table: free pages can then be given back to the file system.
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        elif application_id != APPLICATION_ID:
            raise Misconfigured("not_our_database", f"{path} is not a database of Perlica")
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute("PRAGMA synchronous = FULL")


def _next_step(connection: apsw.Connection, steps: Sequence[Migration]) -> Migration | None:
    applied: list[tuple[int, str]] = []
    with translated():
        # Asked by SQL: the library's own look-up does not notice what another program just made.
        if _value(connection, _HAS_VERSIONS):
            applied = list(connection.execute(_APPLIED))
    if len(applied) > len(steps):
        raise Misconfigured(
            "schema_too_new",
            f"the database has schema {len(applied)}, this program knows {len(steps)}",
            remedy="start the newer program, or restore a backup made by this one",
        )
    for (version, sha256), step in zip(applied, steps, strict=False):
        if (version, sha256) != (step.version, step.sha256):
            raise Misconfigured(
                "migration_edited", f"step {step.version} differs from the one that was applied"
            )
    return steps[len(applied)] if len(applied) < len(steps) else None


def _apply_next(connection: apsw.Connection, steps: Sequence[Migration]) -> bool:
    """Run the next step and record it, both or neither; False when there is none.

    The step is chosen under the lock: two programs that start at once do not run it twice.
    """
    with translated():
        connection.execute("BEGIN IMMEDIATE")
    try:
        step = _next_step(connection, steps)
        if step is not None:
            _apply(connection, step)
        with translated():
            connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return step is not None


def _apply(connection: apsw.Connection, step: Migration) -> None:
    record = {
        "version": step.version,
        "name": step.name,
        "sha256": step.sha256,
        "applied_at_ms": now_ms(),
    }
    try:
        with translated():
            connection.execute(_VERSIONS_TABLE)
            connection.execute(step.sql).fetchall()
            connection.execute(_RECORD, record)
    except (Refused, Misconfigured) as error:
        raise Misconfigured(
            "migration_failed", f"step {step.version} failed: {error}; nothing of it was kept"
        ) from error


def _value(connection: apsw.Connection, sql: str) -> object:
    return next(iter(connection.execute(sql)))[0]
