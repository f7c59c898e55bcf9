"""Dialling NapCat (forward WebSocket): our own TCP socket, then TLS, then the upgrade.

The library would take proxies from the environment and carry the token along a redirect; with a
socket of ours and no redirects it can do neither.
"""

import contextlib
import socket
import threading
from typing import Any, cast

import websocket

from perlica.clients.napcat.settings import NapCatSettings
from perlica.clients.napcat.tls import TlsStream, client_context
from perlica.clients.napcat.transport import unreachable
from perlica.clients.napcat.wire import Wire


class DialTransport:
    """Connects to the address in the settings."""

    waits_for_peer = False

    def __init__(self, settings: NapCatSettings) -> None:
        """Keep the settings; nothing is opened."""
        self._settings = settings
        self._tls = client_context(settings.ca_file) if settings.is_tls else None
        self._lock = threading.Lock()
        self._is_aborted = False
        self._is_late = False
        self._opening: socket.socket | None = None

    def open(self) -> Wire:
        """Connect within `connect_within_s`, however slowly the other side drips.

        Raises: Unreachable.
        """
        self._is_late = False
        watchdog = threading.Timer(self._settings.connect_within_s, self._break_off)
        watchdog.daemon = True
        watchdog.start()
        try:
            return self._open()
        finally:
            watchdog.cancel()
            with self._lock:
                self._opening = None

    def abort(self) -> None:
        """End `open` now and for good."""
        with self._lock:
            self._is_aborted = True
        self._break_off()

    def _open(self) -> Wire:
        sock: socket.socket | None = None
        try:
            sock = self._connect()
            return self._upgrade(self._encrypt(sock))
        except BaseException:
            if sock is not None:
                sock.close()
            raise

    def _connect(self) -> socket.socket:
        settings = self._settings
        try:
            found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise unreachable("address", error) from None
        failure: OSError | None = None
        for family, kind, protocol, _, address in found:
            sock = socket.socket(family, kind, protocol)
            try:
                self._register(sock)
                sock.settimeout(settings.connect_within_s)
                sock.connect(address)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return sock
            except OSError as error:
                sock.close()
                failure = error
        raise unreachable("connect", failure) from None

    def _register(self, sock: socket.socket) -> None:
        """Let `abort` and the watchdog reach the socket that is about to block."""
        with self._lock:
            if self._is_aborted or self._is_late:
                raise ConnectionAbortedError
            self._opening = sock

    def _encrypt(self, sock: socket.socket) -> socket.socket:
        if self._tls is None:
            return sock
        try:
            encrypted = self._tls.wrap_socket(
                sock, server_hostname=self._settings.host, do_handshake_on_connect=False
            )
        except (OSError, ValueError) as error:
            raise unreachable("tls", error) from None
        try:
            self._register(encrypted)
            encrypted.do_handshake()
        except (OSError, ValueError) as error:
            encrypted.close()
            raise unreachable("tls", error) from None
        # It has every method that the library uses of a socket.
        return cast("socket.socket", TlsStream(encrypted))

    def _upgrade(self, sock: socket.socket) -> Wire:
        settings = self._settings
        wire = Wire(role="client", frame_limit_bytes=settings.frame_limit_bytes)
        sock.settimeout(settings.connect_within_s)
        options: dict[str, Any] = {
            "socket": sock,
            "header": [f"Authorization: Bearer {settings.token}"],
            "redirect_limit": 0,
            "suppress_origin": True,
            "timeout": settings.connect_within_s,
        }
        try:
            wire.connect(settings.address.geturl(), **options)  # type: ignore[no-untyped-call]
        except (websocket.WebSocketException, OSError, ValueError, AttributeError) as error:
            # The library quotes the whole response in its text: only the kind may be told.
            raise unreachable("upgrade", error) from None
        wire.settimeout(settings.io_timeout_s)
        return wire

    def _break_off(self) -> None:
        with self._lock:
            self._is_late = True
            sock = self._opening
        if sock is not None:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(sock, socket.SHUT_RDWR)
