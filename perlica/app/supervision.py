"""Supervision: actors start in order behind a barrier, die together, and stop in reverse.

Pykka has none of its own. The main thread runs `Supervisor.run`: a service that is up but whose
group is ignored must be impossible, so the death of any actor ends the process with a code.
"""

import logging
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pykka

from actors.base import Alarm, Ref, tell_safely
from actors.messages import Drain, Ready, Tick
from perlica.domain.clock import monotonic_s

_log = logging.getLogger(__name__)

EXIT_STOPPED = 0
EXIT_NOT_STARTED = 3
EXIT_ACTOR_DIED = 4

_READY_WITHIN_S = 20.0
_LOOK_EVERY_S = 0.2
_TICK_EVERY_S = 1.0
_LEAST_S = 0.1

Start = Callable[[], Ref]


class NotStarted(Exception):
    """An actor did not get ready."""


@dataclass(slots=True)
class Supervisor:
    """Owns the started actors, in order."""

    alarm: Alarm
    stop_within_s: float
    _running: list[tuple[str, Ref]] = field(default_factory=list)
    _ticked: list[Ref] = field(default_factory=list)
    _drained: list[Ref] = field(default_factory=list)

    def start(self, name: str, start: Start, *, ticks: bool = False, drains: bool = False) -> Ref:
        """Start an actor and wait until its `begin` went well.

        Raises: NotStarted when it failed or took longer than 20 s.
        """
        ref = start()
        self._running.append((name, ref))
        try:
            is_ready = ref.ask(Ready(), timeout=_READY_WITHIN_S)
        except (pykka.ActorDeadError, pykka.Timeout) as error:
            raise NotStarted(name) from error
        if not is_ready:
            raise NotStarted(name)
        if ticks:
            self._ticked.append(ref)
        if drains:
            self._drained.append(ref)
        return ref

    def alive(self) -> dict[str, bool]:
        """Of each started actor, whether it lives."""
        return {name: ref.is_alive() for name, ref in self._running}

    def inboxes(self) -> dict[str, int]:
        """How many messages wait for each actor."""
        inboxes = ((name, ref.actor_inbox) for name, ref in self._running)
        return {
            f"inbox.{name}": inbox.qsize()
            for name, inbox in inboxes
            if isinstance(inbox, queue.Queue)
        }

    def watch(self, stop_asked: threading.Event) -> int:
        """Tick and look until a stop is asked for or an actor dies; the exit code."""
        next_tick_s = monotonic_s()
        while not stop_asked.is_set():
            if self.alarm.rung.wait(_LOOK_EVERY_S):
                _log.critical("stopping: an actor failed", extra={"faults": self.alarm.faults})
                return EXIT_ACTOR_DIED
            dead = [name for name, ref in self._running if not ref.is_alive()]
            if dead:
                _log.critical("stopping: an actor is gone", extra={"actors": dead})
                return EXIT_ACTOR_DIED
            if monotonic_s() >= next_tick_s:
                next_tick_s = monotonic_s() + _TICK_EVERY_S
                for ref in self._ticked:
                    tell_safely(ref, Tick())
        return EXIT_STOPPED

    def stop(self) -> bool:
        """Drain, then stop in reverse order within the time; whether all of them ended."""
        deadline_s = monotonic_s() + self.stop_within_s
        for ref in self._drained:
            tell_safely(ref, Drain())
        late: list[str] = []
        for name, ref in reversed(self._running):
            left_s = max(_LEAST_S, deadline_s - monotonic_s())
            try:
                ref.stop(block=True, timeout=left_s)
            except (pykka.Timeout, pykka.ActorDeadError):
                if ref.is_alive():
                    late.append(name)
        if late:
            _log.error("actors did not stop in time", extra={"actors": late})
        return not late


@contextmanager
def stopping(supervisor: Supervisor) -> Iterator[Supervisor]:
    """Whatever happens inside, what was started is stopped."""
    try:
        yield supervisor
    finally:
        supervisor.stop()


def typed(ref: "pykka.ActorRef[Any]") -> Ref:
    """A started actor as a reference that any message may be told to."""
    return ref
