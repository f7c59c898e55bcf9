"""The writer: small changes of every kind, each acknowledged only after fsync.

It tells each step over a pipe, `b` before and `a` after: "b 17 rename 4", "a 17". A second thread
keeps writing files that are never synced, so that there is always something to lose.
"""

import contextlib
import itertools
import os
import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gate.rig.image import POWER_ITEMS

UNSYNCED_BYTES = 40_000
_KINDS = ("create", "remove", "append", "link", "whiteout", "rename", "chmod", "replace")
_WEIGHTS = (4, 2, 3, 3, 1, 1, 1, 1)
_SPENT_KINDS = ("whiteout", "rename", "chmod", "replace")
"""Kinds that use up an entry of the image's lower layer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One change: its number, what it is, and what it is done to."""

    number: int
    kind: str
    item: int

    def line(self) -> bytes:
        """As it is told before it begins."""
        return f"b {self.number} {self.kind} {self.item}\n".encode()


def content_of(item: int) -> bytes:
    """What the file created as `item` holds."""
    return f"file {item}\n".encode() * (1 + item * 37 % 400)


def unsynced_content(item: int) -> bytes:
    """What the file `item` that was never synced would hold."""
    return f"{item:08}".encode() * (UNSYNCED_BYTES // 8)


def record_of(step: int) -> bytes:
    """What a step appends."""
    return f"{step}\n".encode()


class Writer:
    """Works on the image's /srv/power below `root` until the disk fails."""

    def __init__(self, root: Path, *, first: int, spent: dict[str, int], seed: int) -> None:
        self._place = root / "srv/power"
        self._first = first
        self._spent = dict(spent)
        self._chance = random.Random(seed)  # noqa: S311 (a repeatable mixture, no secret)
        self._created: list[int] = []
        self._doers: dict[str, Callable[[Step], None]] = {
            kind: getattr(self, f"_{kind}") for kind in _KINDS
        }

    def work(self, pipe: int) -> None:
        """Writes until an error; tells every step over `pipe`."""
        background = threading.Thread(target=self._write_unsynced, daemon=True)
        background.start()
        with contextlib.suppress(OSError):
            for step in self._steps():
                os.write(pipe, step.line())
                self._doers[step.kind](step)
                os.write(pipe, f"a {step.number}\n".encode())

    def _steps(self) -> Iterator[Step]:
        for number in itertools.count(self._first):
            kind = self._chance.choices(_KINDS, _WEIGHTS)[0]
            if kind in _SPENT_KINDS:
                item = self._spent.get(kind, 0)
                if item >= POWER_ITEMS:
                    kind = "create"
                self._spent[kind] = item + 1
            else:
                item = number
            if kind == "remove":
                if not self._created:
                    continue
                item = self._created.pop(0)
            if kind == "create":
                item = number
                self._created.append(item)
            yield Step(number=number, kind=kind, item=item)

    def _write_unsynced(self) -> None:
        with contextlib.suppress(OSError):
            for number in itertools.count(self._first):
                (self._place / f"c/{number}").write_bytes(unsynced_content(number))
                if number - self._first >= 200:
                    (self._place / f"c/{number - 200}").unlink()

    def _create(self, step: Step) -> None:
        fresh = self._place / f"a/{step.item}.new"
        with fresh.open("xb") as file:
            file.write(content_of(step.item))
            file.flush()
            os.fsync(file.fileno())
        fresh.rename(self._place / f"a/{step.item}")
        _sync_directory(self._place / "a")

    def _remove(self, step: Step) -> None:
        (self._place / f"a/{step.item}").unlink()
        _sync_directory(self._place / "a")

    def _append(self, step: Step) -> None:
        _append_durably(self._place / "b/log", record_of(step.number))

    def _link(self, step: Step) -> None:
        name = "one" if step.number % 2 else "two"
        _append_durably(self._place / "f" / name, record_of(step.number))

    def _whiteout(self, step: Step) -> None:
        (self._place / f"d/{step.item}").unlink()
        _sync_directory(self._place / "d")

    def _rename(self, step: Step) -> None:
        (self._place / f"e/{step.item}").rename(self._place / f"e/{step.item}-moved")
        _sync_directory(self._place / "e")

    def _chmod(self, step: Step) -> None:
        file = self._place / f"g/{step.item}"
        file.chmod(0o600)
        with file.open("rb") as opened:
            os.fsync(opened.fileno())

    def _replace(self, step: Step) -> None:
        place = self._place / f"h/{step.item}"
        (place / "inside").unlink()
        place.rmdir()
        place.mkdir()
        _sync_directory(place)
        _sync_directory(self._place / "h")


def _append_durably(path: Path, record: bytes) -> None:
    with path.open("ab", buffering=0) as file:
        file.write(record)
        os.fsync(file.fileno())


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
