"""The points at which a service can be killed: every commit and every external effect, by name.

Installed in the service's own process by `tests.crash.child` alone. A point is a label and its
ordinal in that process: `commit:AgentLoop._write_turn:before` for the third time, say. Labels are
made from the caller, not from time, so that two runs of the same scenario have the same points.
"""

import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from perlica.clients.model.exchange import HttpModelClient
from perlica.clients.napcat.link import NapCatLink
from perlica.stores.database import Database

_HERE = __file__
_SENDS = "send_group_msg"


@dataclass(frozen=True, slots=True, order=True)
class Point:
    """One moment of the service's life."""

    label: str
    ordinal: int

    def __str__(self) -> str:
        return f"{self.label}#{self.ordinal}"


@dataclass(slots=True)
class Tracer:
    """Counts the points that are passed; writes them down, or ends the process at one of them."""

    journal: Path | None = None
    fatal: Point | None = None
    _counts: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def reach(self, label: str) -> None:
        """The process is at this point now; `kill -9` if it is the one."""
        with self._lock:
            self._counts[label] += 1
            point = Point(label, self._counts[label])
            if point == self.fatal:
                os.kill(os.getpid(), signal.SIGKILL)
            if self.journal is not None:
                with self.journal.open("a") as journal:
                    journal.write(f"{point.ordinal} {point.label}\n")

    def install(self) -> None:
        """Watch commits, the model and what is sent to the group; the backend calls `around`."""
        self._watch_commits()
        self._watch_model()
        self._watch_sends()

    @contextmanager
    def around(self, label: str) -> Iterator[None]:
        """An effect: before it, and after it while nobody here knows yet."""
        self.reach(f"{label}:before")
        yield
        self.reach(f"{label}:after")

    def _watch_commits(self) -> None:
        whole = Database.transaction

        @contextmanager
        def transaction(database: Database) -> Iterator[None]:
            label = f"commit:{_caller()}"
            with whole(database):
                yield
                self.reach(f"{label}:before")
            self.reach(f"{label}:after")

        _replace(Database, "transaction", transaction)

    def _watch_model(self) -> None:
        whole = HttpModelClient.complete

        def complete(client: HttpModelClient, *given: Any) -> object:
            with self.around("model"):
                return whole(client, *given)

        _replace(HttpModelClient, "complete", complete)

    def _watch_sends(self) -> None:
        whole = NapCatLink.start_call

        def start_call(link: NapCatLink, frame: Any, *, within_s: float, on_answer: Any) -> None:
            if frame.get("action") != _SENDS:
                whole(link, frame, within_s=within_s, on_answer=on_answer)
                return

            def answered(answer: Any) -> None:
                self.reach("send:answered")
                on_answer(answer)

            with self.around("send"):
                whole(link, frame, within_s=within_s, on_answer=answered)

        _replace(NapCatLink, "start_call", start_call)


def _replace(owner: type, name: str, with_what: object) -> None:
    setattr(owner, name, with_what)


def _caller() -> str:
    """Who opened the transaction, by class and function; the machinery between is passed over."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and _is_machinery(frame):
        frame = frame.f_back
    if frame is None:
        return "?"
    module = str(frame.f_globals.get("__name__", "?")).rpartition(".")[2]
    return f"{module}.{frame.f_code.co_qualname}"


def _is_machinery(frame: FrameType) -> bool:
    return frame.f_code.co_filename == _HERE or frame.f_globals.get("__name__") == "contextlib"
