"""The HTTP door of health: three addresses, two working threads, nothing to write to.

cheroot because it is threaded, bounded and used by the console and the node daemon as well.
"""

import json
import logging
import select
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from cheroot import wsgi
from cheroot.server import HTTPConnection
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry

from perlica.domain.errors import Misconfigured
from perlica.health.facts import HealthFacts, HealthSettings
from perlica.health.figures import Figures
from perlica.health.readiness import Readiness

_log = logging.getLogger(__name__)

_THREADS: Final = 2
"""One may be held up by somebody slow while the other answers the kubelet."""
_SILENCE_S: Final = 3
_WAITING: Final = 16
_STOP_WITHIN_S: Final = 2
_MAX_REQUEST_BYTES: Final = 8 * 1024
_TEXT: Final = "text/plain; charset=utf-8"

_Environ = Mapping[str, Any]
_StartResponse = Callable[[str, list[tuple[str, str]]], Any]


class _Reply(NamedTuple):
    status: str
    kind: str
    body: bytes


class Application:
    """Callable by a WSGI server."""

    def __init__(self, figures: Figures, readiness: Readiness) -> None:
        """Answer from these."""
        self._figures = figures
        self._readiness = readiness

    def __call__(self, environ: _Environ, start_response: _StartResponse) -> Iterable[bytes]:
        """Answer one request; whatever it asks, nothing of it is kept or repeated."""
        reply = self._answer(environ.get("REQUEST_METHOD", ""), environ.get("PATH_INFO", ""))
        headers = [
            ("Content-Type", reply.kind),
            ("Content-Length", str(len(reply.body))),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
        ]
        if reply.status.startswith("405"):
            headers.append(("Allow", "GET, HEAD"))
        start_response(reply.status, headers)
        return [] if environ.get("REQUEST_METHOD") == "HEAD" else [reply.body]

    def _answer(self, method: str, path: str) -> _Reply:
        if method not in {"GET", "HEAD"}:
            return _Reply("405 Method Not Allowed", _TEXT, b"read only\n")
        match path:
            case "/healthz":
                return self._say_health()
            case "/readyz":
                answer = self._readiness.judge()
                status = "200 OK" if answer.is_ready else "503 Service Unavailable"
                body = json.dumps(answer.as_json()).encode()
                return _Reply(status, "application/json", body + b"\n")
            case "/metrics":
                return _Reply("200 OK", CONTENT_TYPE_LATEST, self._figures.write())
            case _:
                return _Reply("404 Not Found", _TEXT, b"/healthz /readyz /metrics\n")

    def _say_health(self) -> _Reply:
        """Whether a restart would help: only dead actors call for one."""
        dead = self._readiness.find_dead()
        if dead:
            return _Reply("503 Service Unavailable", _TEXT, f"dead: {' '.join(dead)}\n".encode())
        return _Reply("200 OK", _TEXT, b"ok\n")


class _Server(wsgi.Server):
    """cheroot with short patience; its words go to our log."""

    max_request_header_size = _MAX_REQUEST_BYTES
    max_request_body_size = _MAX_REQUEST_BYTES
    version = "perlica"

    @staticmethod
    def bind_socket(socket_: socket.socket, bind_addr: Any) -> socket.socket:  # noqa: ANN401
        """Bind; cheroot would leave a socket open that could not be bound."""
        try:
            socket_.bind(bind_addr)
        except OSError:
            socket_.close()
            raise
        return socket_

    def process_conn(self, conn: HTTPConnection) -> None:
        """Give a connection to a thread only once it says something; silent ones wait outside."""
        poller = select.poll()
        poller.register(conn.socket, select.POLLIN)
        if conn.rfile.has_data() or poller.poll(0):
            super().process_conn(conn)
        else:
            self.put_conn(conn)

    def error_log(
        self,
        msg: str = "",
        level: int = logging.INFO,
        traceback: bool = False,  # noqa: FBT001, FBT002 - as cheroot calls it
    ) -> None:
        """Only that something happened: the text may quote a request."""
        del msg, traceback
        _log.log(level, "health server")


class HealthServer:
    """A running server; `address` is where it really listens."""

    def __init__(self, server: _Server, thread: threading.Thread, figures: Figures) -> None:
        """Use `start_health`."""
        self._server = server
        self._thread = thread
        self._figures = figures

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        host, port = self._server.bind_addr[:2]
        return str(host), int(port)

    @property
    def registry(self) -> CollectorRegistry:
        """Every metric, for whoever wants to know what there can be."""
        return self._figures.registry

    def stop(self) -> bool:
        """Close the port and end the threads; whether they ended within two seconds."""
        self._server.stop()
        self._thread.join(_STOP_WITHIN_S)
        return not self._thread.is_alive()


def start_health(settings: HealthSettings, database_path: Path, facts: HealthFacts) -> HealthServer:
    """Listen and answer until `stop`; from now on counters count.

    Raises: Misconfigured when the address cannot be had; PerlicaError without a database.
    """
    readiness = Readiness(database_path, facts, settings.readiness_every_s)
    figures = Figures(settings, database_path, facts, readiness)
    figures.begin()
    server = _Server(
        (settings.host, settings.port),
        Application(figures, readiness),
        numthreads=_THREADS,
        max=_THREADS,
        server_name="perlica",
        request_queue_size=_WAITING,
        accepted_queue_size=_WAITING,
        timeout=_SILENCE_S,
        shutdown_timeout=_STOP_WITHIN_S,
    )
    server.keep_alive_conn_limit = _WAITING
    try:
        server.prepare()
    except OSError as error:
        raise Misconfigured(
            "health_address",
            f"cannot listen on {settings.host}:{settings.port}: {error.strerror or 'in use'}",
            remedy="change health.listen, or end what uses the address",
        ) from error
    thread = threading.Thread(target=server.serve, name="perlica-health", daemon=True)
    thread.start()
    return HealthServer(server, thread, figures)
