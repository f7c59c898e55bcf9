"""The journal of operations: one appended line before an effect, one after it, both on disk.

It decides what a repeated request means, also after kill -9 or power loss. It keeps ids, hashes,
exits and sizes, never content of a sandbox.
"""

import contextlib
import json
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from sandboxd.faults import Misconfigured
from sandboxd.kernel.steps import explained
from sandboxd.storage.disk import fsync_directory

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

    Raises: Retryable from every method that writes, when the disk is full or broken.
    """

    def __init__(self, path: Path, *, keep: int) -> None:
        self._path = path
        self._keep = keep
        self._lock = threading.Lock()
        self._entries: dict[str, Entry] = {}
        self._lines = 0
        self._load()
        self._file = self._rewrite()

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            os.close(self._file)

    def find(self, operation: str) -> Entry | None:
        """What is known of an operation."""
        return self._entries.get(operation)

    def entries(self) -> tuple[Entry, ...]:
        """All known operations, oldest first."""
        with self._lock:
            return tuple(self._entries.values())

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
            self._append(_finished_line(entry))
            self._entries[operation] = entry

    def interrupt(self, operation: str, *, at_ms: int) -> None:
        """Records that an operation was running when the daemon died, and no longer is."""
        with self._lock:
            entry = replace(self._entries[operation], phase="interrupted", finished_at_ms=at_ms)
            self._append({"t": "interrupted", "op": operation, "at": at_ms})
            self._entries[operation] = entry

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

    def _append(self, line: dict[str, Any]) -> None:
        if self._lines > 4 * self._keep:
            os.close(self._file)
            self._file = self._rewrite()
        raw = json.dumps(line, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"
        with explained("write the journal"):
            self._write(raw)
        self._lines += 1

    def _write(self, raw: bytes) -> None:
        """All of the line or none of it: half a line would damage the next one."""
        size = os.fstat(self._file).st_size
        try:
            left = memoryview(raw)
            while left:
                left = left[os.write(self._file, left) :]
            os.fdatasync(self._file)
        except OSError:
            os.ftruncate(self._file, size)
            raise

    def _load(self) -> None:
        for line in _complete_lines(self._path):
            kind, operation = line["t"], line["op"]
            if kind == "started":
                self._entries[operation] = _entry_of(line)
                continue
            entry = self._entries.get(operation)
            if entry is None:
                continue
            if kind == "finished":
                entry = replace(
                    entry,
                    phase="finished",
                    finished_at_ms=line["at"],
                    succeeded=line["ok"],
                    outcome=line["out"],
                )
            elif kind == "interrupted":
                entry = replace(entry, phase="interrupted", finished_at_ms=line["at"])
            elif kind == "acked":
                entry = replace(entry, acknowledged=True)
            self._entries[operation] = entry

    def _rewrite(self) -> int:
        """Writes what is worth keeping into a new file and puts it in place of the old one.

        Acknowledged operations are forgotten first, then the oldest of the rest.
        """
        surplus = len(self._entries) - self._keep
        ended = [e for e in self._entries.values() if e.phase != "started"]
        for entry in sorted(ended, key=lambda e: not e.acknowledged)[: max(surplus, 0)]:
            del self._entries[entry.operation]
        fresh = self._path.with_suffix(".new")
        descriptor = os.open(
            fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o600
        )
        lines = [line for entry in self._entries.values() for line in _lines_of(entry)]
        with open(descriptor, "w", encoding="ascii", closefd=False) as file:
            file.writelines(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        os.fsync(descriptor)
        fresh.replace(self._path)
        fsync_directory(self._path.parent)
        self._lines = len(lines)
        return descriptor


def _complete_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Parsed lines. The last one may be torn by a crash; then its effect had not begun."""
    with contextlib.suppress(FileNotFoundError):
        raw = path.read_bytes()
        *lines, _torn = raw.split(b"\n")
        for number, line in enumerate(lines, start=1):
            try:
                yield json.loads(line)
            except ValueError as error:
                raise Misconfigured(
                    f"line {number} of the journal cannot be read",
                    remedy="the disk is damaged: restore the state directory or move it away",
                ) from error


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


def _lines_of(entry: Entry) -> Iterator[dict[str, Any]]:
    yield _started_line(entry)
    if entry.phase == "finished":
        yield _finished_line(entry)
    elif entry.phase == "interrupted":
        yield {"t": "interrupted", "op": entry.operation, "at": entry.finished_at_ms}
    if entry.acknowledged:
        yield {"t": "acked", "op": entry.operation}


def _entry_of(line: dict[str, Any]) -> Entry:
    return Entry(
        operation=line["op"],
        kind=line["kind"],
        sandbox=line["box"],
        instance=line["inst"],
        body_hash=line["hash"],
        started_at_ms=line["at"],
    )
