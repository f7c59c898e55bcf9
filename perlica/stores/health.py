"""Is the database well: its pages, its size, its WAL, the disk below it.

The reconciler looks at the start and daily, `perlica doctor` whenever asked. Looking opens a
connection of its own, read-only, and holds no lock that a writer would feel.
"""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from perlica.domain.clock import now_ms
from perlica.domain.errors import PerlicaError
from perlica.stores.database import Database
from perlica.stores.migrations import APPLICATION_ID
from perlica.stores.service import ServiceStore

MIN_FREE_BYTES: Final = 512 * 1024 * 1024
MAX_WAL_BYTES: Final = 256 * 1024 * 1024
_PRIVATE_MODE: Final = 0o077
_CHECKED_KEY: Final = "database_checked_at_ms"
_FAULTS_KEY: Final = "database_faults"
_INDEX: Final = "message_index"
REBUILD: Final = "stop the service and run `perlica rebuild-index`"

_APPLICATION_ID: Final = "PRAGMA application_id"
_QUICK_CHECK: Final = "PRAGMA quick_check(5)"
_FOREIGN_KEY_CHECK: Final = "PRAGMA foreign_key_check"
_HAS_INDEX: Final = "SELECT 1 FROM sqlite_schema WHERE name = 'message_index'"


class Severity(StrEnum):
    """`warning` needs somebody's attention, `fault` stops what writes."""

    warning = "warning"
    fault = "fault"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is not as it should be; ids and figures, never content."""

    code: str
    severity: Severity
    text: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseSize:
    """Bytes of the database file, of its WAL, and free bytes of the disk."""

    database_bytes: int
    wal_bytes: int
    free_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthLimits:
    """From where on a size is a finding."""

    min_free_bytes: int = MIN_FREE_BYTES
    max_wal_bytes: int = MAX_WAL_BYTES


def measure(path: Path) -> DatabaseSize:
    """The sizes of a database, 0 for a file that is missing."""
    wal = path.with_name(path.name + "-wal")
    return DatabaseSize(
        database_bytes=_size(path),
        wal_bytes=_size(wal),
        free_bytes=shutil.disk_usage(path.parent).free,
    )


def check_database(path: Path, limits: HealthLimits | None = None) -> tuple[Finding, ...]:
    """Everything that is wrong with the database at `path`; () when it is well.

    Takes seconds on a large database; writers go on meanwhile.
    """
    limits = HealthLimits() if limits is None else limits
    return (*_check_content(path), *_check_sizes(path, limits), *_check_mode(path))


@dataclass(frozen=True, slots=True, kw_only=True)
class LastCheck:
    """When the running service looked last (0: never), and the codes of the faults it found."""

    at_ms: int
    faults: tuple[str, ...]


def keep_check(db: Database, faults: Sequence[Finding]) -> None:
    """Remember the look of this moment, in the caller's transaction."""
    service = ServiceStore(db)
    service.set(_CHECKED_KEY, str(now_ms()))
    service.set(_FAULTS_KEY, json.dumps([fault.code for fault in faults]))


def last_check(db: Database) -> LastCheck:
    """What the last look of the running service found."""
    service = ServiceStore(db)
    return LastCheck(
        at_ms=int(service.find(_CHECKED_KEY) or 0),
        faults=tuple(json.loads(service.find(_FAULTS_KEY) or "[]")),
    )


def _check_content(path: Path) -> tuple[Finding, ...]:
    """Pages, indexes (the search index among them) and references."""
    try:
        with Database.open(path, read_only=True) as db:
            (header,) = db.query(_APPLICATION_ID)
            damage = [row["quick_check"] for row in db.query(_QUICK_CHECK)]
            dangling = db.query(_FOREIGN_KEY_CHECK)
            has_index = bool(db.query(_HAS_INDEX))
    except PerlicaError as error:
        return (_fault(error.code, error.text, error.remedy),)
    findings = []
    if header["application_id"] != APPLICATION_ID:
        text = "the file is empty or belongs to another program"
        findings.append(_fault("not_our_database", text, "check the path in the configuration"))
    if damage != ["ok"]:
        findings.append(_damage(damage))
    if header["application_id"] == APPLICATION_ID and not has_index:
        findings.append(_fault("index_missing", "there is no search index", REBUILD))
    if dangling:
        text = (
            f"{len(dangling)} rows refer to rows that are gone, the first in {dangling[0]['table']}"
        )
        findings.append(_fault("database_dangling", text, "stop and restore a backup"))
    return tuple(findings)


def _damage(damage: Sequence[str]) -> Finding:
    text = f"the quick check found {len(damage)} faults, the first: {damage[0]}"
    if all(_INDEX in line for line in damage):
        return _fault("index_corrupt", text, REBUILD)
    return _fault("database_corrupt", text, "stop and restore a backup")


def _check_sizes(path: Path, limits: HealthLimits) -> tuple[Finding, ...]:
    if not path.parent.is_dir():
        return ()
    size = measure(path)
    findings = []
    if size.free_bytes < limits.min_free_bytes:
        text = f"{size.free_bytes} bytes are free, {limits.min_free_bytes} are wanted"
        findings.append(_warning("disk_low", text, "free disk space; old messages go early"))
    if size.wal_bytes > limits.max_wal_bytes:
        text = f"the write-ahead log holds {size.wal_bytes} bytes"
        findings.append(_warning("wal_large", text, "end readers that hold old snapshots"))
    return tuple(findings)


def _check_mode(path: Path) -> tuple[Finding, ...]:
    if not path.is_file() or not path.stat().st_mode & _PRIVATE_MODE:
        return ()
    text = f"others can read {path}"
    return (_warning("database_readable", text, f"chmod 600 {path}"),)


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _fault(code: str, text: str, remedy: str) -> Finding:
    return Finding(code=code, severity=Severity.fault, text=text, remedy=remedy)


def _warning(code: str, text: str, remedy: str) -> Finding:
    return Finding(code=code, severity=Severity.warning, text=text, remedy=remedy)
