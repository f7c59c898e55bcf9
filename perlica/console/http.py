"""Cheroot as the console needs it: threads that own connections, idle sockets that hold no thread.

`server` starts it; `application` behind `gate` is what it calls.
"""

import logging
from typing import Final

from cheroot import wsgi
from cheroot.server import HeaderReader, HTTPConnection, HTTPRequest
from cheroot.workers.threadpool import ThreadPool, WorkerThread

from perlica.console.incoming import MAX_FORM_BYTES
from perlica.console.reader import Reader
from perlica.console.settings import ConsoleSettings

LOOK_S: Final = 0.2
"""How often the server looks whether it is to stop."""
STOP_WITHIN_S: Final = 3
READ_WITHIN_S: Final = 5
"""How long a request may take to arrive, and an open page's connection may be idle."""
MAX_HEADER_BYTES: Final = 16_384
MAX_IDLE_CONNECTIONS: Final = 64
MAX_WAITING: Final = 128
"""Connections that the kernel keeps until they are taken: fifty pages may ask at once."""

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
    has_spoken = False


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


class HttpServer(wsgi.Server):
    """Serves with `settings.threads` threads, each with its own connection of `reader`."""

    def __init__(self, settings: ConsoleSettings, reader: Reader) -> None:
        """Nothing is bound yet; `prepare` does that, `serve` answers until `stop`."""
        super().__init__(
            (settings.host, settings.port),
            None,
            server_name="perlica",
            timeout=READ_WITHIN_S,
            shutdown_timeout=STOP_WITHIN_S,
            request_queue_size=MAX_WAITING,
        )
        self.requests = _Workers(self, reader, settings.threads)
        self.ConnectionClass = _Connection
        self.max_request_header_size = MAX_HEADER_BYTES
        self.max_request_body_size = MAX_FORM_BYTES
        self.keep_alive_conn_limit = MAX_IDLE_CONNECTIONS
        self.expiration_interval = LOOK_S

    def process_conn(self, conn: _Connection) -> None:
        """Hand a connection to a thread, a new one only when something has come over it.

        Browsers open connections ahead of need; cheroot would let each hold a thread for seconds.
        """
        if conn.has_spoken:
            super().process_conn(conn)
        else:
            conn.has_spoken = True
            self.put_conn(conn)

    def error_log(self, msg: str = "", level: int = logging.INFO, traceback: bool = False) -> None:  # noqa: FBT001, FBT002 - cheroot's signature
        """Log what cheroot has to say, without its words: they may quote a request."""
        del msg
        if level >= logging.WARNING or traceback:
            _log.warning("the console's server had a fault", exc_info=traceback)
