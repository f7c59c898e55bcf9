"""What every actor shares: a barrier at the start, and a fault that never stays silent.

Pykka has no supervision: a failing `tell` kills the actor without a word and a failing `on_start`
rings nothing. Here both are recorded and ring the supervisor, which ends the process in order.
"""

import logging
import threading
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pykka

from actors.messages import Ready

_log = logging.getLogger(__name__)

Ref = pykka.ActorRef[Any]


@dataclass(slots=True)
class Alarm:
    """Rung by a failing actor or worker; the supervisor waits on it.

    `before` is called with the actor's name and each message (None at its start); tests make an
    actor fail with it, the service leaves it empty.
    """

    before: Callable[[str, object | None], None] = lambda _name, _message: None
    rung: threading.Event = field(default_factory=threading.Event)
    faults: list[str] = field(default_factory=list)

    def ring(self, who: str, error: BaseException) -> None:
        """Record the fault of `who` (with traceback, in the protected log) and wake the waiter."""
        _log.critical("actor failed", exc_info=error, extra={"actor": who})
        self.faults.append(f"{who}: {type(error).__name__}")
        self.rung.set()


@dataclass(slots=True)
class Wires:
    """Who is who: filled by wiring as the actors start; a missing one is told nothing."""

    connection: Ref | None = None
    protection: Ref | None = None
    coordinator: Ref | None = None
    session: Ref | None = None
    ledger: Ref | None = None
    reconciler: Ref | None = None
    outbox: Ref | None = None
    connection_fault: str = "not_connected"
    """Why NapCat is not ready, "" when it is; the reconciler keeps it."""
    database_fault: str = ""
    """What the last check of the database found, "" for nothing; the reconciler keeps it."""


class PerlicaActor(pykka.ThreadingActor):
    """An actor with a name, a barrier and an alarm."""

    use_daemon_thread = True

    def __init__(self, *, name: str, alarm: Alarm) -> None:
        """Keep name and alarm; what needs the actor's own thread is opened in `begin`."""
        super().__init__()
        self._name = name
        self._alarm = alarm
        self._is_ready = False

    def begin(self) -> None:
        """Open what belongs to this actor's thread (its database connection first)."""

    def end(self) -> None:
        """Close what `begin` opened; called on an ordered stop and after a failure."""

    @abstractmethod
    def handle(self, message: object) -> object:
        """Do what the message asks; a raise ends the process in order."""

    def on_start(self) -> None:
        """Pykka's hook; rings when `begin` fails."""
        try:
            self._alarm.before(self._name, None)
            self.begin()
        except BaseException as error:
            self._alarm.ring(self._name, error)
            raise
        self._is_ready = True

    def on_stop(self) -> None:
        """Pykka's hook on an ordered stop."""
        self.end()

    def on_failure(self, *_details: object) -> None:
        """Pykka's hook after a failing tell."""
        self.end()

    def on_receive(self, message: object) -> object:
        """Answer the barrier, hand everything else to `handle`."""
        if isinstance(message, Ready):
            return self._is_ready
        try:
            self._alarm.before(self._name, message)
            return self.handle(message)
        except BaseException as error:
            self._alarm.ring(self._name, error)
            raise


def tell_safely(ref: Ref | None, message: object) -> bool:
    """Tell, and survive that the other is gone: whether it was delivered."""
    if ref is None:
        return False
    try:
        ref.tell(message)
    except pykka.ActorDeadError:
        return False
    return True
