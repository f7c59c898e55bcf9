"""A TLS stream that one thread may read while another writes.

OpenSSL allows only one call at a time on a connection, and Python 3.11 does not see to it; here a
lock is held during the calls and never while waiting. Looks like a socket with a timeout.
"""

import contextlib
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def client_context(ca_file: Path | None) -> ssl.SSLContext:
    """Certificates and host names are checked, against `ca_file` or the system's authorities."""
    context = ssl.create_default_context(cafile=None if ca_file is None else str(ca_file))
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


class TlsStream:
    """An encrypted connection whose handshake is done."""

    def __init__(self, sock: ssl.SSLSocket) -> None:
        """Take over the socket and its timeout."""
        self._timeout_s = sock.gettimeout()
        self._sock = sock
        self._sock.settimeout(0)
        self._lock = threading.Lock()

    def recv(self, most_bytes: int) -> bytes:
        """At most `most_bytes`, b'' at the end.

        Raises: TimeoutError when nothing came in time; OSError.
        """
        return self._patiently(lambda: self._sock.recv(most_bytes))

    def send(self, payload: bytes) -> int:
        """Send some of it; how much.

        Raises: TimeoutError when nothing could be sent in time; OSError.
        """
        return self._patiently(lambda: self._sock.send(payload))

    def gettimeout(self) -> float | None:
        """How long `recv` and `send` wait, in seconds."""
        return self._timeout_s

    def settimeout(self, timeout_s: float | None) -> None:
        """Set how long `recv` and `send` wait."""
        self._timeout_s = timeout_s

    def fileno(self) -> int:
        """The number of the file, -1 when closed."""
        return self._sock.fileno()

    def shutdown(self, how: int) -> None:
        """End the TCP connection at once, waking whoever reads."""
        # SSLSocket.shutdown would first forget the TLS state under a reader's feet.
        socket.socket.shutdown(self._sock, how)

    def close(self) -> None:
        """Give the file back."""
        with self._lock, contextlib.suppress(OSError):
            self._sock.close()

    def _patiently(self, attempt: Callable[[], T]) -> T:
        timeout_s = self._timeout_s
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            with self._lock:
                try:
                    return attempt()
                except ssl.SSLWantReadError:
                    event = select.POLLIN
                except ssl.SSLWantWriteError:
                    event = select.POLLOUT
            self._wait_for(event, deadline_s)

    def _wait_for(self, event: int, deadline_s: float | None) -> None:
        poll = select.poll()
        try:
            poll.register(self._sock.fileno(), event)
        except ValueError:
            raise ConnectionAbortedError from None
        left_s = None if deadline_s is None else deadline_s - time.monotonic()
        if left_s is not None and left_s <= 0:
            raise TimeoutError
        if not poll.poll(None if left_s is None else left_s * 1000):
            raise TimeoutError
