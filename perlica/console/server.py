"""The console's HTTP server: cheroot with a few threads of its own.

Started by wiring inside the service, or by `perlica console serve` beside it. It ends no service: a
console that fails is a console that fails.
"""

import logging
import socket
import threading
from pathlib import Path
from typing import Final, Self

from cheroot import wsgi
from cheroot.server import HeaderReader, HTTPConnection, HTTPRequest
from cheroot.workers.threadpool import ThreadPool, WorkerThread

from perlica.console.application import Console
from perlica.console.gate import guarded
from perlica.console.incoming import MAX_FORM_BYTES
from perlica.console.reader import Reader
from perlica.console.settings import ConsoleSettings
from perlica.domain.errors import Misconfigured

LOOK_S: Final = 0.2
"""How often the server looks whether it is to stop."""
STOP_WITHIN_S: Final = 3
READ_WITHIN_S: Final = 10
MAX_HEADER_BYTES: Final = 16_384
MAX_IDLE_CONNECTIONS: Final = 64
"""Open pages keep a connection between two looks; idle ones hold no thread."""

_log = logging.getLogger(__name__)


class _NoUnderscores(HeaderReader):
    """Leaves out headers with underscores: WSGI takes `X_Perlica_User` for `X-Perlica-User`, which
    a proxy overwrites while it lets the other pass.

    Cheroot's own reader of this kind compares a text with bytes and fails (11.1.2).
    """

    def _allow_header(self, key_name: bytes) -> bool:
        return b"_" not in key_name


class _Request(HTTPRequest):
    header_reader = _NoUnderscores()


class _Connection(HTTPConnection):
    RequestHandlerClass = _Request


class _Worker(WorkerThread):
    """A thread that closes its database connection at its end: no other thread can."""

    def __init__(self, server: wsgi.Server, reader: Reader) -> None:
        super().__init__(server)  # type: ignore[no-untyped-call]  # cheroot types it in part
        self._reader = reader

    def run(self) -> None:
        try:
            super().run()
        finally:
            self._reader.close()


class _Workers(ThreadPool):
    """A fixed number of such threads."""

    def __init__(self, server: wsgi.Server, reader: Reader, threads: int) -> None:
        super().__init__(server, min=threads, max=threads)
        self._reader = reader

    def _spawn_worker(self) -> _Worker:
        worker = _Worker(self.server, self._reader)
        worker.name = f"console-{worker.name}"
        worker.start()
        return worker


class ConsoleServer:
    """A listening console; made by `start_console`."""

    def __init__(self, settings: ConsoleSettings, database_path: Path) -> None:
        """Bind the address. Raises: Misconfigured when that is not possible."""
        self._settings = settings
        self._reader = Reader(database_path)
        self._server = wsgi.Server(
            (settings.host, settings.port),
            None,
            server_name="perlica",
            timeout=READ_WITHIN_S,
            shutdown_timeout=STOP_WITHIN_S,
        )
        self._server.requests = _Workers(self._server, self._reader, settings.threads)
        self._server.ConnectionClass = _Connection
        self._server.max_request_header_size = MAX_HEADER_BYTES
        self._server.max_request_body_size = MAX_FORM_BYTES
        self._server.keep_alive_conn_limit = MAX_IDLE_CONNECTIONS
        self._server.expiration_interval = LOOK_S
        self._server.error_log = _log_fault  # type: ignore[method-assign]  # cheroot's own hook
        self._bind()
        origins = settings.origins(self.port)
        console = Console(settings, self._reader, origins)
        self._server.wsgi_app = guarded(console.app, settings, origins)
        self._thread = threading.Thread(target=self._server.serve, name="console", daemon=True)

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._server.bind_addr[1])

    @property
    def url(self) -> str:
        """Where a person finds it."""
        return self._settings.public_url or f"http://{self._settings.host}:{self.port}"

    @property
    def is_alive(self) -> bool:
        """Whether it still answers."""
        return self._thread.is_alive()

    def start(self) -> Self:
        """Answer from now on."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop answering; open requests get a few seconds."""
        self._server.stop()
        self._thread.join(STOP_WITHIN_S)

    def _bind(self) -> None:
        family = socket.AF_INET6 if ":" in self._settings.host else socket.AF_INET
        address = (self._settings.host, self._settings.port)
        try:
            # Cheroot leaves its socket open where it cannot bind; so it is tried here first.
            with socket.create_server(address, family=family):
                pass
            self._server.prepare()
        except OSError as error:
            where = f"{self._settings.host}:{self._settings.port}"
            raise Misconfigured(
                "console_unusable",
                f"the console cannot listen on {where}",
                remedy="set another console.listen, or stop what listens there",
            ) from error


def start_console(settings: ConsoleSettings, database_path: Path) -> ConsoleServer:
    """Start a console on the migrated database at `database_path`; end it with `stop`.

    Raises: Misconfigured when the address cannot be listened on.
    """
    return ConsoleServer(settings, database_path).start()


def _log_fault(msg: str = "", level: int = logging.INFO, traceback: bool = False) -> None:  # noqa: FBT001, FBT002 - cheroot's signature
    """What cheroot has to say, without its words: they may quote a request."""
    del msg
    if level >= logging.WARNING or traceback:
        _log.warning("the console's server had a fault", exc_info=traceback)
