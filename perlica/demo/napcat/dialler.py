"""Reverse WebSocket: the stand-in dials the bot, for ever at a fixed interval, as NapCat does.

The same frames travel as on a connection that came in. Source: docs/facts/napcat.md.
"""

import socket
import threading
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from wsproto import ConnectionType
from wsproto.events import AcceptConnection, Request

from perlica.demo.napcat.connection import RECEIVE_BYTES, WHOLE_TEXT, Connection, Host

HANDSHAKE_S = 2.0
MASK_BYTES = 4


class DialledConnection(Connection):
    """A connection in which NapCat is the WebSocket client; it always takes events."""

    role = ConnectionType.CLIENT

    def __init__(
        self, sock: socket.socket, host: Host, *, number: int, url: str, headers: Mapping[str, str]
    ) -> None:
        """Take over a connected socket; the reader says who we are."""
        super().__init__(sock, host, number=number)
        self._url = urlsplit(url)
        self._said = headers

    def send_payload(self, payload: bytes, first: int = WHOLE_TEXT) -> None:
        """Queue a frame of these bytes, masked as a client must."""
        self._queue_payload(payload, self._mask, first)

    def _mask(self, head: bytes, payload: bytes) -> bytes:
        key = head[-MASK_BYTES:]
        return bytes(byte ^ key[at % MASK_BYTES] for at, byte in enumerate(payload))

    def _shake_hands(self) -> bool:
        target = self._url.path or "/"
        request = Request(
            host=self._url.netloc,
            target=target,
            extra_headers=[(name.encode(), value.encode()) for name, value in self._said.items()],
        )
        self._sock.settimeout(HANDSHAKE_S)
        self._sock.sendall(self._protocol.send(request))
        is_accepted = self._read_acceptance()
        self._sock.settimeout(None)
        if is_accepted:
            self.target, self.headers, self.takes_events = target, self._said, True
        return is_accepted

    def _read_acceptance(self) -> bool:
        while data := self._sock.recv(RECEIVE_BYTES):
            self._protocol.receive_data(data)
            for event in self._protocol.events():
                return isinstance(event, AcceptConnection)
        return False


class Dialler:
    """Keeps one reverse connection alive until it is stopped."""

    def __init__(
        self, url: str, connect: Callable[[socket.socket], Connection], *, interval_ms: int
    ) -> None:
        """Start to dial. `connect` makes and starts the connection on a connected socket."""
        parts = urlsplit(url)
        self._address = (parts.hostname or "", parts.port or 80)
        self._connect = connect
        self._interval_s = interval_ms / 1000
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="napcat-dialler", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Dial no more; the caller ends the connections."""
        self._stopped.set()

    def join(self) -> None:
        """Wait for the thread, after the connections ended."""
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                sock = socket.create_connection(self._address, timeout=HANDSHAKE_S)
            except OSError:
                self._stopped.wait(self._interval_s)
                continue
            sock.settimeout(None)
            self._connect(sock).ended.wait()
            self._stopped.wait(self._interval_s)
