"""Is the database well: its pages, its size, its WAL, the disk below it.

The reconciler looks at the start and daily, `perlica doctor` whenever asked. Looking opens a
connection of its own, read-only, and holds no lock that a writer would feel.
"""

import shutil
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from perlica.domain.errors import PerlicaError
from perlica.stores.database import Database
from perlica.stores.migrations import APPLICATION_ID

MIN_FREE_BYTES: Final = 512 * 1024 * 1024
MAX_WAL_BYTES: Final = 256 * 1024 * 1024
_PRIVATE_MODE: Final = 0o077

_APPLICATION_ID: Final = "PRAGMA application_id"
_QUICK_CHECK: Final = "PRAGMA quick_check(5)"
_FOREIGN_KEY_CHECK: Final = "PRAGMA foreign_key_check"


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


def _check_content(path: Path) -> tuple[Finding, ...]:
    """Pages, indexes (the search index among them) and references."""
    try:
        with Database.open(path, read_only=True) as db:
            (header,) = db.query(_APPLICATION_ID)
            damage = [row["quick_check"] for row in db.query(_QUICK_CHECK)]
            dangling = db.query(_FOREIGN_KEY_CHECK)
    except PerlicaError as error:
        return (_fault(error.code, error.text, error.remedy),)
    findings = []
    if header["application_id"] != APPLICATION_ID:
        text = "the file is empty or belongs to another program"
        findings.append(_fault("not_our_database", text, "check the path in the configuration"))
    if damage != ["ok"]:
        text = f"the quick check found {len(damage)} faults, the first: {damage[0]}"
        findings.append(_fault("database_corrupt", text, "stop and restore a backup"))
    if dangling:
        text = (
            f"{len(dangling)} rows refer to rows that are gone, the first in {dangling[0]['table']}"
        )
        findings.append(_fault("database_dangling", text, "stop and restore a backup"))
    return tuple(findings)


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
