"""The threaded HTTP server on a Unix socket (cheroot), with our own binding of the socket.

Threads are bounded: one for each operation that may run, and some that are always left for health
and cancel. An idle connection holds none.
"""

import logging
import os
import select
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cheroot import wsgi
from cheroot.server import HTTPConnection

from sandboxd import wire
from sandboxd.config import Config

_log = logging.getLogger(__name__)
_SOCKET_MODE = 0o660
_SHUTDOWN_WITHIN_S = 3


class UnixServer(wsgi.Server):
    """Serves `application` at `config.socket`."""

    max_request_header_size = 32 * 1024
    max_request_body_size = wire.MAX_REQUEST_BYTES
    version = "sandboxd"

    def __init__(self, application: Callable[..., Any], config: Config) -> None:
        bounds = config.bounds
        threads = bounds.running_operations + bounds.control_threads
        super().__init__(
            bind_addr=str(config.socket),
            wsgi_app=application,
            numthreads=threads,
            max=threads,
            server_name="sandboxd",
            request_queue_size=bounds.connections,
            timeout=bounds.request_timeout_s,
            shutdown_timeout=_SHUTDOWN_WITHIN_S,
            accepted_queue_size=bounds.connections,
            peercreds_enabled=True,
        )
        self.keep_alive_conn_limit = bounds.connections
        self._gid = config.socket_gid

    def bind_unix_socket(self, bind_addr: str) -> socket.socket:
        """Binds; an old socket file is replaced. The mode is never wider than 0660."""
        path = Path(bind_addr)
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        bound.bind(bind_addr)  # The daemon's umask makes it 0700.
        os.chown(bind_addr, -1, self._gid)
        path.chmod(_SOCKET_MODE)
        self.socket = bound
        return bound

    def process_conn(self, conn: HTTPConnection) -> None:
        """Gives a connection to a thread only once it says something; silent ones wait outside."""
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
        traceback: bool = False,  # noqa: FBT001, FBT002 (as cheroot calls it)
    ) -> None:
        """Cheroot's messages; tracebacks may hold content and are left out."""
        del traceback
        _log.log(level, "http: %s", msg)
