"""How events reach the connections, with the faults that tests plan for them.

The stand-in draws a frame and hands it here; nothing is kept for a client that is not connected.
"""

import threading
from collections.abc import Iterable

from perlica.demo.napcat.agenda import Agenda
from perlica.demo.napcat.connection import WHOLE_TEXT, Connection
from perlica.demo.napcat.events import Frame
from perlica.demo.napcat.faults import (
    CutFrame,
    Delay,
    Drop,
    EventFault,
    Fragment,
    Repeat,
    Swap,
)
from perlica.demo.napcat.wire import encode


class Broadcast:
    """The open connections, and the way events take to those that want them."""

    def __init__(self, agenda: Agenda) -> None:
        """Begin without connections."""
        self._agenda = agenda
        self._lock = threading.RLock()
        self._connections: list[Connection] = []
        self._held: list[str] = []

    @property
    def connections(self) -> tuple[Connection, ...]:
        """The connections that are open now."""
        with self._lock:
            return tuple(c for c in self._connections if c.is_open)

    @property
    def listeners(self) -> tuple[Connection, ...]:
        """Those of them that take events."""
        return tuple(c for c in self.connections if c.takes_events)

    def add(self, connection: Connection) -> None:
        """A peer came in."""
        with self._lock:
            self._connections.append(connection)

    def remove(self, connection: Connection) -> None:
        """A peer is gone."""
        with self._lock:
            if connection in self._connections:
                self._connections.remove(connection)

    def push(self, frame: Frame, fault: EventFault | None = None) -> None:
        """Send an event to everybody who takes events, spoiled by the fault."""
        text = encode(frame)
        match fault:
            case None:
                self.push_text(text)
            case Delay(by_s=by_s):
                self._agenda.after(by_s, lambda: self.push_text(text))
            case Drop():
                pass
            case Repeat(times=times):
                self._send([text] * times)
                self._release()
            case Swap(at_latest_s=at_latest_s):
                with self._lock:
                    self._held.append(text)
                self._agenda.after(at_latest_s, self._release)
            case CutFrame() | Fragment():
                self._push_in_pieces(text, fault)

    def _push_in_pieces(self, text: str, fault: CutFrame | Fragment) -> None:
        for connection in self.listeners:
            if isinstance(fault, CutFrame):
                connection.send_half(text, fault.then)
            else:
                connection.send(text, pieces=fault.pieces)
        self._release()

    def push_text(self, text: str) -> None:
        """Send this text as it is, then what was held back to be overtaken."""
        with self._lock:
            self._send([text])
            self._release()

    def push_payload(self, payload: bytes, first: int = WHOLE_TEXT) -> None:
        """Send a frame of exactly these bytes; a text frame, unless its `first` byte is another."""
        for connection in self.listeners:
            connection.send_payload(payload, first)

    def _release(self) -> None:
        with self._lock:
            held, self._held = self._held, []
            self._send(held)

    def _send(self, texts: Iterable[str]) -> None:
        for text in texts:
            for connection in self.listeners:
                connection.send(text)
