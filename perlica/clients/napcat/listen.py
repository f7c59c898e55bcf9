"""NapCat dials us (reverse WebSocket): a listening socket and the answering side of the upgrade.

The same frames travel as when we dial; who does not know the token or is another account is turned
away before anything of him is read.
"""

import base64
import contextlib
import hashlib
import hmac
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Final

from perlica.clients.napcat.settings import NapCatSettings
from perlica.clients.napcat.transport import unreachable
from perlica.clients.napcat.wire import Wire
from perlica.domain.errors import Misconfigured

_HANDSHAKE_WITHIN_S: Final = 2.0
"""NapCat itself gives up after two seconds."""
_LONGEST_HEAD_BYTES: Final = 8_192
_BACKLOG: Final = 4
_MAGIC: Final = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""RFC 6455, section 1.3."""


class _TurnedAway(Exception):
    """The peer does not get in; the argument is the HTTP status line that says why."""


class ListenTransport:
    """Accepts one NapCat after another at the address in the settings."""

    waits_for_peer = True

    def __init__(self, settings: NapCatSettings) -> None:
        """Bind the address.

        Raises: Misconfigured when it cannot be bound.
        """
        self._settings = settings
        self._lock = threading.Lock()
        self._is_aborted = False
        self._greeting: socket.socket | None = None
        try:
            self._server = socket.create_server((settings.host, settings.port), backlog=_BACKLOG)
        except OSError as error:
            raise Misconfigured(
                "napcat_listen",
                f"napcat: cannot listen on {settings.host}:{settings.port}: {error.strerror}",
                remedy="Choose a free port of this machine.",
            ) from None

    @property
    def port(self) -> int:
        """The port that is listened on (the settings may have said 0)."""
        return int(self._server.getsockname()[1])

    def open(self) -> Wire:
        """Wait for a NapCat that knows the token; others are turned away.

        Raises: Unreachable when the peer was turned away or the transport was aborted.
        """
        peer = self._accept()
        try:
            peer.settimeout(_HANDSHAKE_WITHIN_S)
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._greet(peer)
        except (_TurnedAway, OSError, ValueError) as error:
            with contextlib.suppress(OSError):
                if isinstance(error, _TurnedAway):
                    peer.sendall(f"HTTP/1.1 {error}\r\nConnection: close\r\n\r\n".encode())
            peer.close()
            raise unreachable("turned_away", error) from None
        finally:
            with self._lock:
                self._greeting = None
        wire = Wire(role="server", frame_limit_bytes=self._settings.frame_limit_bytes)
        wire.adopt(peer)
        wire.settimeout(self._settings.io_timeout_s)
        return wire

    def abort(self) -> None:
        """Stop listening now and for good."""
        with self._lock:
            self._is_aborted = True
            open_sockets = [self._server, self._greeting]
        for sock in open_sockets:
            if sock is not None:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _accept(self) -> socket.socket:
        try:
            peer, _ = self._server.accept()
        except OSError as error:
            raise unreachable("listen", error) from None
        with self._lock:
            if not self._is_aborted:
                self._greeting = peer
                return peer
        peer.close()
        raise unreachable("listen")

    def _greet(self, peer: socket.socket) -> None:
        headers = _read_headers(_read_head(peer))
        given = headers.get("authorization", "").removeprefix("Bearer ").strip()
        if not hmac.compare_digest(given.encode(), self._settings.token.encode()):
            raise _TurnedAway("401 Unauthorized")
        if headers.get("x-self-id") != str(self._settings.self_id):
            raise _TurnedAway("403 Forbidden")
        if headers.get("x-client-role", "Universal").lower() != "universal":
            raise _TurnedAway("403 Forbidden")
        peer.sendall(_acceptance(_checked_key(headers)))


def _read_head(peer: socket.socket) -> bytes:
    """Everything up to the blank line, within the deadline however slowly it drips."""
    deadline_s = time.monotonic() + _HANDSHAKE_WITHIN_S
    head = b""
    # Byte by byte at the end, so that nothing behind the blank line is swallowed.
    while not head.endswith(b"\r\n\r\n"):
        if len(head) >= _LONGEST_HEAD_BYTES or time.monotonic() > deadline_s:
            raise _TurnedAway("431 Request Header Fields Too Large")
        piece = peer.recv(1)
        if not piece:
            raise ConnectionAbortedError
        head += piece
    return head


def _read_headers(head: bytes) -> Mapping[str, str]:
    request, *lines = head.decode("latin-1").split("\r\n")
    if not request.startswith("GET ") or not request.endswith(" HTTP/1.1"):
        raise _TurnedAway("400 Bad Request")
    return dict(_pairs(lines))


def _pairs(lines: list[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        name, colon, value = line.partition(":")
        if colon:
            yield name.strip().lower(), value.strip()


def _checked_key(headers: Mapping[str, str]) -> str:
    wants_upgrade = headers.get("upgrade", "").lower() == "websocket"
    key = headers.get("sec-websocket-key", "")
    if not wants_upgrade or headers.get("sec-websocket-version") != "13" or not key:
        raise _TurnedAway("426 Upgrade Required")
    return key


def _acceptance(key: str) -> bytes:
    digest = hashlib.sha1((key + _MAGIC).encode(), usedforsecurity=False).digest()
    accept = base64.b64encode(digest).decode()
    return (
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Accept: {accept}\r\n\r\n"
    ).encode()
