"""Connections that hand their socket to the current attempt's abort before they connect.

`perlica.clients.model.transport` mounts these under `requests`: name look-up, TCP connect, TLS
handshake and every read of a kept connection end when the abort is cut.
"""

import queue
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from ipaddress import ip_address
from typing import Any, TypeAlias

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError

from perlica.clients.model.abort import Abort, Cut
from perlica.domain.clock import monotonic_s

_Addresses: TypeAlias = Sequence[tuple[int, int, int, str, Any]]

_CURRENT: ContextVar[Abort] = ContextVar("perlica_model_abort")
_CONNECT_S: ContextVar[float] = ContextVar("perlica_model_connect_s")


@contextmanager
def tethered(abort: Abort, connect_s: float) -> Iterator[None]:
    """Connections used in the block belong to `abort`; connecting takes at most `connect_s`."""
    line, limit = _CURRENT.set(abort), _CONNECT_S.set(connect_s)
    try:
        yield
    finally:
        _CURRENT.reset(line)
        _CONNECT_S.reset(limit)


def dial(host: str, port: int, within_s: float, abort: Abort) -> socket.socket:
    """A connected socket, held by `abort` since before it connected.

    Raises: OSError when no address answers in time, or the abort was cut.
    """
    give_up_at_s = monotonic_s() + within_s
    failure = OSError("the name has no address")
    for family, kind, proto, _, address in _resolve(host, port, within_s, abort):
        sock = socket.socket(family, kind, proto)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.settimeout(max(0.001, give_up_at_s - monotonic_s()))
            abort.hold(sock)
            _refuse_if_cut(abort)
            sock.connect(address)
            _refuse_if_cut(abort)
            return sock
        except OSError as error:
            sock.close()
            failure = error
            _refuse_if_cut(abort)
    raise failure


def _resolve(host: str, port: int, within_s: float, abort: Abort) -> _Addresses:
    """The addresses of `host`; nothing interrupts a look-up, so it has a thread of its own."""
    if _is_address(host):
        return socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
        )
    answers: queue.SimpleQueue[_Addresses | OSError | None] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            answers.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except OSError as error:
            answers.put(error)
        except UnicodeError:
            answers.put(socket.gaierror("the name is none that can be looked up"))

    threading.Thread(target=look_up, name="perlica-model-dns", daemon=True).start()
    with abort.on_cut(lambda: answers.put(None)):
        try:
            answer = answers.get(timeout=within_s)
        except queue.Empty:
            raise TimeoutError("the name look-up took too long") from None
    if answer is None:
        raise ConnectionAbortedError("cut during the name look-up")
    if isinstance(answer, OSError):
        raise answer
    return answer


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _refuse_if_cut(abort: Abort) -> None:
    if abort.was_cut is not None:
        raise ConnectionAbortedError("cut while connecting")


class TetheredConnection(HTTPConnection):
    """A connection whose every use belongs to one abort."""

    idle_since_s: float | None = None

    def _new_conn(self) -> socket.socket:
        host = self._dns_host.strip("[]")
        try:
            return dial(host, int(self.port or 0), _CONNECT_S.get(), _CURRENT.get())
        except TimeoutError as error:
            raise ConnectTimeoutError(self, "connecting took too long") from error
        except OSError as error:
            raise NewConnectionError(self, f"no connection ({type(error).__name__})") from error

    def connect(self) -> None:
        """Connect, TLS included, within the limit for connecting."""
        abort = _CURRENT.get()
        abort.connection = self
        with abort.within(Cut.connect, _CONNECT_S.get()):
            super().connect()

    def request(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - urllib3's signature
        """Send a request; the attempt's abort takes the socket of a kept connection first."""
        abort = _CURRENT.get()
        abort.connection = self
        if self.sock is not None:
            abort.is_reused = self.idle_since_s is not None
            abort.hold(self.sock)
        super().request(*args, **kwargs)

    @property
    def is_connected(self) -> bool:
        """Whether the kept connection may be used: alive, and not idle for so long that a NAT
        forgot it.
        """
        if self.idle_since_s is not None:
            idle_s = monotonic_s() - self.idle_since_s
            if idle_s > _CURRENT.get().reuse_idle_s:
                return False
        return super().is_connected

    def close(self) -> None:
        """Close, and forget that it was idle."""
        self.idle_since_s = None
        super().close()


class TetheredTlsConnection(TetheredConnection, HTTPSConnection):
    """The same over TLS: the handshake too ends when the abort is cut."""


class TetheredPool(HTTPConnectionPool):
    """Keeps plain connections."""

    ConnectionCls = TetheredConnection  # type: ignore[mutable-override]


class TetheredTlsPool(HTTPSConnectionPool):
    """Keeps TLS connections."""

    ConnectionCls = TetheredTlsConnection  # type: ignore[mutable-override]
