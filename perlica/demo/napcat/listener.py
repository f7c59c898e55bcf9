"""The listening socket of the stand-in: accepts on loopback and hands sockets to connections.

Planned connection faults that come before any byte is read happen here.
"""

import contextlib
import itertools
import socket
import threading
from collections.abc import Callable

LOOPBACK = "127.0.0.1"
BACKLOG = 64


class Listener:
    """A port on loopback; `accept` is called in the listener's thread with socket and number."""

    def __init__(self, port: int, accept: Callable[[socket.socket, int], None]) -> None:
        """Bind; port 0 takes a free one."""
        self._accept = accept
        self._numbers = itertools.count(1)
        self._sock = socket.create_server((LOOPBACK, port), backlog=BACKLOG)
        self.port: int = self._sock.getsockname()[1]
        self._thread = threading.Thread(target=self._run, name="napcat-listener", daemon=True)

    def start(self) -> None:
        """Begin to accept."""
        self._thread.start()

    def stop(self) -> None:
        """Close the port."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        self._sock.close()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                peer, _address = self._sock.accept()
                peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._accept(peer, next(self._numbers))
