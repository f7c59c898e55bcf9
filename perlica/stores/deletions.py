"""The deletion log: what was deleted or recalled, so that no restore brings it back.

A file beside the database, written and synced before the deletion is committed. It outlives the
database that it speaks of: a restore reads it, and each backup leaves a copy of it in its folder.
Lines of JSON with ids and times, never content.

Two kinds of lines: up to which time records were deleted (by age or because the disk ran full), and
which message was taken back in the group. Whatever is older than the longest age of a message needs
no line: a restore deletes it anyway.
"""

import fcntl
import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from errno import EDQUOT, ENOSPC
from pathlib import Path
from typing import Any, Final, Self

from perlica.domain.clock import now_ms
from perlica.domain.errors import Misconfigured, PerlicaError, StoreUnavailable
from perlica.stores.ownership import give_to_owner

LOG_IN_BACKUPS: Final = "perlica.deletions"
"""The copy that stands beside backups."""
_SUFFIX: Final = ".deletions"
_REWRITE_FROM_BYTES: Final = 64 * 1024
_LONGEST_LINE_BYTES: Final = 4_096
_RECALLS_FOR_MS: Final = 91 * 86_400_000
"""A day more than a message can be kept: what was recalled before is gone by its age."""
_MODE: Final = 0o600
_KEPT_SINCE: Final = "kept_since"
_RECALLED: Final = "recalled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """A message that was taken back; `author` is None where it is not known."""

    message_id: int
    author: int | None
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletions:
    """All that a log says.

    `kept_since` has for each age (`RetentionAges.limits`) the latest time before which records were
    deleted.
    """

    kept_since: Mapping[str, int] = field(default_factory=dict)
    recalled: frozenset[Recalled] = frozenset()

    def joined(self, other: Self) -> "Deletions":
        """What either says."""
        names = {*self.kept_since, *other.kept_since}
        return Deletions(
            kept_since={
                name: max(log.kept_since.get(name, 0) for log in (self, other)) for name in names
            },
            recalled=self.recalled | other.recalled,
        )


class DeletionLog:
    """One file; several threads and processes may write it at once."""

    def __init__(self, path: Path) -> None:
        """Name the file; it appears with its first line."""
        self._path = path

    @classmethod
    def beside(cls, database: Path) -> Self:
        """The log of the database at this place."""
        return cls(database.with_name(database.name + _SUFFIX))

    def note_kept_since(self, limits: Mapping[str, int]) -> None:
        """Older records are about to be deleted. Raises: StoreUnavailable, Misconfigured."""
        self._append({_KEPT_SINCE: dict(limits)}, rewrite_from=_REWRITE_FROM_BYTES)

    def note_recalled(self, message_id: int, author: int | None, at_ms: int) -> None:
        """A message is about to be hidden. Raises: StoreUnavailable, Misconfigured."""
        self._append({_RECALLED: message_id, "author": author, "at_ms": at_ms})

    def read(self) -> Deletions:
        """Everything; nothing where there is no log.

        A last line without its end belongs to a deletion that was never committed.

        Raises: Misconfigured when the log cannot be read or understood.
        """
        try:
            text = self._path.read_bytes()
        except FileNotFoundError:
            return Deletions()
        except OSError as error:
            raise _unusable(self._path, error) from error
        return self._parse(text)

    def absorb(self, deletions: Deletions) -> None:
        """Keep what another log says too. Raises: StoreUnavailable, Misconfigured."""
        if deletions == Deletions():
            return
        with self._held() as descriptor:
            self._rewrite(self._read_held(descriptor).joined(deletions))

    # --- the file ---------------------------------------------------------------------------

    def _append(self, entry: Mapping[str, object], *, rewrite_from: float = math.inf) -> None:
        """Clean-up comes every ten minutes at most and may take the time to rewrite a long log."""
        line = json.dumps(entry, separators=(",", ":")).encode() + b"\n"
        with self._held() as descriptor:
            size = os.fstat(descriptor).st_size
            if size > rewrite_from:
                self._rewrite(self._read_held(descriptor).joined(self._parse(line)))
                return
            _drop_cut_line(descriptor, size)
            _write_whole(descriptor, line)
            os.fsync(descriptor)
            if size == 0:
                self._sync_folder()

    @contextmanager
    def _held(self) -> Iterator[int]:
        """The file, locked; it is the one that stands at its place now."""
        try:
            descriptor = self._open_locked()
            try:
                yield descriptor
            finally:
                os.close(descriptor)
        except OSError as error:
            raise _unusable(self._path, error) from error

    def _open_locked(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        while True:
            descriptor = os.open(self._path, flags, _MODE)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            with suppress(FileNotFoundError):
                if os.fstat(descriptor).st_ino == self._path.stat().st_ino:
                    give_to_owner(descriptor, self._path.parent)
                    return descriptor
            os.close(descriptor)

    def _read_held(self, descriptor: int) -> Deletions:
        return self._parse(os.pread(descriptor, os.fstat(descriptor).st_size, 0))

    def _rewrite(self, deletions: Deletions) -> None:
        """One line for all ages, one for each recall that still matters; whole or not at all."""
        since_ms = now_ms() - _RECALLS_FOR_MS
        lines: list[object] = [{_KEPT_SINCE: dict(deletions.kept_since)}]
        lines += [
            {_RECALLED: one.message_id, "author": one.author, "at_ms": one.at_ms}
            for one in sorted(deletions.recalled, key=lambda one: (one.at_ms, one.message_id))
            if one.at_ms >= since_ms
        ]
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        partial = self._path.with_name(self._path.name + ".partial")
        partial.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        descriptor = os.open(partial, flags, _MODE)
        try:
            give_to_owner(descriptor, self._path.parent)
            _write_whole(descriptor, text.encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        partial.rename(self._path)
        self._sync_folder()

    def _sync_folder(self) -> None:
        descriptor = os.open(self._path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _parse(self, text: bytes) -> Deletions:
        kept_since: dict[str, int] = {}
        recalled: set[Recalled] = set()
        lines = text.split(b"\n")
        for number, line in enumerate(lines, start=1):
            if not line:
                continue
            try:
                entry = json.loads(line)
                for name, at_ms in entry.get(_KEPT_SINCE, {}).items():
                    kept_since[str(name)] = max(int(at_ms), kept_since.get(str(name), 0))
                if _KEPT_SINCE not in entry:
                    recalled.add(_recalled(entry))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                if number == len(lines):
                    break
                raise Misconfigured(
                    "deletion_log_damaged",
                    f"{self._path}, line {number}, is not readable",
                    remedy="delete that line, or move the file away if what was deleted since "
                    "the backup may come back",
                ) from error
        return Deletions(kept_since=kept_since, recalled=frozenset(recalled))


def _recalled(entry: Mapping[str, Any]) -> Recalled:
    author = entry["author"]
    return Recalled(
        message_id=int(entry[_RECALLED]),
        author=None if author is None else int(author),
        at_ms=int(entry["at_ms"]),
    )


def _drop_cut_line(descriptor: int, size: int) -> None:
    """A last line without its end was of a deletion that a crash undid."""
    start = max(0, size - _LONGEST_LINE_BYTES)
    tail = os.pread(descriptor, size - start, start)
    cut = len(tail) - tail.rfind(b"\n") - 1
    if cut:
        os.ftruncate(descriptor, size - cut)


def _write_whole(descriptor: int, text: bytes) -> None:
    while text:
        text = text[os.write(descriptor, text) :]


def _unusable(path: Path, error: OSError) -> PerlicaError:
    if error.errno in {ENOSPC, EDQUOT}:
        return StoreUnavailable(
            "database_full", "the disk of the database is full", remedy="free disk space"
        )
    return Misconfigured(
        "deletion_log_unusable",
        f"{path} cannot be read or written: {error.strerror}",
        remedy="check the disk and the owner of the state directory",
    )
