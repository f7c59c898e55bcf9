"""The journal of operations: one appended line before an effect, one after it, both on disk.

It decides what a repeated request means, also after kill -9 or power loss. It keeps ids, hashes,
exits and sizes, never content of a sandbox.
"""

import contextlib
import json
import logging
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from sandboxd.faults import Fault, Misconfigured
from sandboxd.storage import door
from sandboxd.storage.state_files import damaged

_log = logging.getLogger(__name__)
_Value = TypeVar("_Value")
_REMEDY = (
    "the disk is damaged: restore the state directory from a backup, or remove the line; what its "
    "operation did is known to nobody then"
)
Phase = Literal["started", "finished", "interrupted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One operation. `outcome` is its answer without output, as JSON text; "" while it runs."""

    operation: str
    kind: str
    sandbox: str
    instance: str
    body_hash: str
    started_at_ms: int
    phase: Phase = "started"
    finished_at_ms: int = 0
    succeeded: bool = False
    outcome: str = ""
    acknowledged: bool = False


class Journal:
    """The journal of one state directory. Thread-safe; each method returns after fdatasync.

    Raises: Retryable from every method that writes, when the disk is full or broken. What ended is
    remembered all the same, and comes to the disk with the first line that the disk takes again.
    """

    def __init__(self, path: Path, *, keep: int) -> None:
        self._path = path
        self._keep = keep
        self._lock = threading.Lock()
        self._entries: dict[str, Entry] = {}
        self._lines = 0
        self._file = -1
        self._is_whole = False
        self._load()
        self._rewrite()
        self._compact_at = self._next_compaction()

    def close(self) -> None:
        """Closes the file, after a last try to write what the disk did not take."""
        with self._lock:
            if not self._is_whole:
                try:
                    self._rewrite()
                except Fault as fault:
                    _log.error("the journal stays incomplete: %s", fault.message)
            os.close(self._file)

    def find(self, operation: str) -> Entry | None:
        """What is known of an operation."""
        return self._entries.get(operation)

    def entries(self) -> tuple[Entry, ...]:
        """All known operations, oldest first."""
        with self._lock:
            return tuple(self._entries.values())

    @property
    def lines(self) -> int:
        """How long the file is."""
        return self._lines

    def count_unacknowledged(self) -> int:
        """Operations that ended and whose caller has not said that it knows."""
        return sum(e.phase != "started" and not e.acknowledged for e in self.entries())

    def start(self, entry: Entry) -> bool:
        """Records that an effect is about to begin. False if the operation is known already."""
        with self._lock:
            if entry.operation in self._entries:
                return False
            self._append(_started_line(entry))
            self._entries[entry.operation] = entry
            return True

    def finish(self, operation: str, *, at_ms: int, succeeded: bool, outcome: str) -> None:
        """Records the answer of an operation."""
        with self._lock:
            entry = replace(
                self._entries[operation],
                phase="finished",
                finished_at_ms=at_ms,
                succeeded=succeeded,
                outcome=outcome,
            )
            self._conclude(entry, _finished_line(entry))

    def interrupt(self, operation: str, *, at_ms: int) -> None:
        """Records that an operation was running when the daemon died, and no longer is."""
        with self._lock:
            entry = replace(self._entries[operation], phase="interrupted", finished_at_ms=at_ms)
            self._conclude(entry, _interrupted_line(entry))

    def acknowledge(self, operation: str) -> bool:
        """Records that the caller knows the answer. False if there is none to know."""
        with self._lock:
            entry = self._entries.get(operation)
            if entry is None or entry.phase == "started":
                return False
            if not entry.acknowledged:
                self._append({"t": "acked", "op": operation})
                self._entries[operation] = replace(entry, acknowledged=True)
            return True

    def _conclude(self, entry: Entry, line: dict[str, Any]) -> None:
        """An end is known from now on, whatever the disk says: nothing runs any more."""
        self._entries[entry.operation] = entry
        try:
            self._append(line)
        except Fault:
            self._is_whole = False
            raise

    def _append(self, line: dict[str, Any]) -> None:
        if not self._is_whole:
            self._rewrite()
        elif self._lines > self._compact_at:
            self._compact()
        self._write(_raw(line))
        self._lines += 1

    def _compact(self) -> None:
        """A disk without room for a second file leaves the journal as it is, only longer."""
        try:
            self._rewrite()
        except Fault as fault:
            _log.warning("the journal is not rewritten: %s", fault.message)
        self._compact_at = self._next_compaction()

    def _next_compaction(self) -> int:
        return max(4 * self._keep, self._lines + self._keep)

    def _write(self, raw: bytes) -> None:
        """All of the line or none of it: half a line would damage the next one.

        After a failed sync nobody knows what the disk holds (the kernel forgets the pages), and
        after a failed cut half a line stays: then the next line comes with the whole file anew.
        """
        size = os.fstat(self._file).st_size
        self._is_whole = False
        try:
            with door.step("journal", "write"):
                left = memoryview(raw)
                while left:
                    left = left[os.write(self._file, left) :]
        except Fault:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, size)
                self._is_whole = True
            raise
        with door.step("journal", "sync"):
            os.fdatasync(self._file)
        self._is_whole = True

    def _load(self) -> None:
        for number, line in _complete_lines(self._path):
            try:
                self._take(line)
            except (KeyError, TypeError, AttributeError, ValueError) as error:
                raise _damaged_line(self._path, number) from error

    def _take(self, line: dict[str, Any]) -> None:
        """Raises: KeyError, TypeError, ValueError when a field is missing or of another kind."""
        kind, operation = line["t"], _field(line, "op", str)
        if kind == "started":
            self._entries[operation] = _entry_of(line)
            return
        entry = self._entries.get(operation, _NOBODY)
        if kind == "finished":
            entry = replace(
                entry,
                phase="finished",
                finished_at_ms=_field(line, "at", int),
                succeeded=_field(line, "ok", bool),
                outcome=_field(line, "out", str),
            )
        elif kind == "interrupted":
            entry = replace(entry, phase="interrupted", finished_at_ms=_field(line, "at", int))
        elif kind == "acked":
            entry = replace(entry, acknowledged=True)
        else:
            raise ValueError(kind)
        if operation in self._entries:
            self._entries[operation] = entry

    def _rewrite(self) -> None:
        """Writes what is worth keeping into a new file and puts it in place of the old one.

        The old descriptor is let go only when the new file has its name, and a name that may not
        be durable yet has the file written again before the next line. Raises: Retryable.
        """
        kept = self._worth_keeping()
        lines = [_raw(line) for entry in kept.values() for line in _lines_of(entry)]
        fresh, descriptor = door.write_beside("journal", self._path, b"".join(lines))
        door.put_in_place("journal", fresh, descriptor, self._path)
        before, self._file = self._file, descriptor
        self._entries, self._lines, self._is_whole = kept, len(lines), False
        if before >= 0:
            with contextlib.suppress(OSError):
                os.close(before)
        door.sync_directory("journal", self._path.parent)
        self._is_whole = True

    def _worth_keeping(self) -> dict[str, Entry]:
        """Acknowledged operations are forgotten first, then the oldest of the rest."""
        kept = dict(self._entries)
        surplus = len(kept) - self._keep
        ended = [e for e in kept.values() if e.phase != "started"]
        for entry in sorted(ended, key=lambda e: not e.acknowledged)[: max(surplus, 0)]:
            del kept[entry.operation]
        return kept


def _complete_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Parsed lines. The last one may be torn by a crash; then its effect had not begun."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return
    except OSError as error:
        raise damaged(path, error.strerror or "cannot be read", _REMEDY) from error
    *lines, _torn = raw.split(b"\n")
    for number, line in enumerate(lines, start=1):
        try:
            yield number, json.loads(line)
        except ValueError as error:
            raise _damaged_line(path, number) from error


def _damaged_line(path: Path, number: int) -> Misconfigured:
    return damaged(path, "this is no line of the journal", _REMEDY, line=number)


def _field(line: dict[str, Any], key: str, kind: type[_Value]) -> _Value:
    value = line[key]
    if type(value) is not kind:
        raise TypeError(key)
    return value


def _raw(line: dict[str, Any]) -> bytes:
    return json.dumps(line, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"


def _started_line(entry: Entry) -> dict[str, Any]:
    return {
        "t": "started",
        "op": entry.operation,
        "kind": entry.kind,
        "box": entry.sandbox,
        "inst": entry.instance,
        "hash": entry.body_hash,
        "at": entry.started_at_ms,
    }


def _finished_line(entry: Entry) -> dict[str, Any]:
    return {
        "t": "finished",
        "op": entry.operation,
        "at": entry.finished_at_ms,
        "ok": entry.succeeded,
        "out": entry.outcome,
    }


def _interrupted_line(entry: Entry) -> dict[str, Any]:
    return {"t": "interrupted", "op": entry.operation, "at": entry.finished_at_ms}


def _lines_of(entry: Entry) -> Iterator[dict[str, Any]]:
    yield _started_line(entry)
    if entry.phase == "finished":
        yield _finished_line(entry)
    elif entry.phase == "interrupted":
        yield _interrupted_line(entry)
    if entry.acknowledged:
        yield {"t": "acked", "op": entry.operation}


def _entry_of(line: dict[str, Any]) -> Entry:
    return Entry(
        operation=_field(line, "op", str),
        kind=_field(line, "kind", str),
        sandbox=_field(line, "box", str),
        instance=_field(line, "inst", str),
        body_hash=_field(line, "hash", str),
        started_at_ms=_field(line, "at", int),
    )


_NOBODY = Entry(operation="", kind="", sandbox="", instance="", body_hash="", started_at_ms=0)
"""Whose line is read of an operation that was forgotten; its fields are checked all the same."""
