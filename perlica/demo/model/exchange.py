"""One request and what became of it: recorded for assertions, written to with an eye on the client.

The server's handler thread owns it; tests read it and wait on it.
"""

import contextlib
import select
import socket
import threading
import time
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

HELD_LOOK_S = 0.02


class Outcome(StrEnum):
    """How an exchange ended, from the server's side."""

    open = "open"
    answered = "answered"
    cut = "cut"
    disconnected = "disconnected"
    stopped = "stopped"


class ClientGone(Exception):
    """The client closed the connection before the answer was complete."""


class ServerStopped(Exception):
    """The server is being stopped."""


@dataclass(slots=True, kw_only=True)
class Exchange:
    """A recorded request; `request` is its parsed JSON."""

    number: int
    path: str
    headers: dict[str, str]
    request: dict[str, Any]
    outcome: Outcome = Outcome.open
    disconnected: threading.Event = field(default_factory=threading.Event)


class Stopper:
    """A flag that also wakes those who wait on a socket."""

    def __init__(self) -> None:
        """Not set."""
        self._reader, self._writer = socket.socketpair()
        self.is_set = False

    def fileno(self) -> int:
        """Readable once the flag is set."""
        return self._reader.fileno()

    def set(self) -> None:
        """Wake everybody."""
        self.is_set = True
        with contextlib.suppress(OSError):
            self._writer.send(b"x")

    def close(self) -> None:
        """Give the sockets back."""
        self._reader.close()
        self._writer.close()


class Line:
    """The connection to the client while an answer is written."""

    def __init__(self, sock: socket.socket, stopper: Stopper) -> None:
        """Watch this socket."""
        self._sock = sock
        self._stopper = stopper

    def send(self, data: bytes) -> None:
        """Send at once.

        Raises:
            ClientGone: nobody is there any more.
            ServerStopped: the server ends.
        """
        self.pause(0)
        try:
            self._sock.sendall(data)
        except OSError as error:
            raise ClientGone from error

    def pause(self, seconds: float | None) -> None:
        """Wait, or for ever with None, but notice at once when the client goes.

        Raises:
            ClientGone: the client closed the connection.
            ServerStopped: the server ends.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            left = None if deadline is None else max(deadline - time.monotonic(), 0)
            watched = [self._sock.fileno(), self._stopper.fileno()]
            ready, _, _ = select.select(watched, [], [], left)
            if self._stopper.is_set:
                raise ServerStopped
            if not ready:
                return
            if not self._peek():
                raise ClientGone
            # The client sent ahead; look again soon whether it is still there.
            if left is not None and left <= HELD_LOOK_S:
                time.sleep(left)
                return
            time.sleep(HELD_LOOK_S)

    def hold(self, released: threading.Event) -> None:
        """Wait for the event, as attentively as `pause`."""
        while not released.is_set():
            self.pause(HELD_LOOK_S)

    def hang_up(self) -> None:
        """End the connection in the middle of whatever was being said."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    def _peek(self) -> bytes:
        try:
            return self._sock.recv(1, socket.MSG_PEEK)
        except OSError:
            return b""
