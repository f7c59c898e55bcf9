"""The threaded HTTP servers (cheroot): on a Unix socket, and with mutual TLS on a TCP port.

Threads are bounded: one for each operation that may run, and some that are always left for health
and cancel. A connection that is idle, or in the middle of its TLS handshake, holds none.
"""

import io
import logging
import os
import select
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cheroot import wsgi
from cheroot.makefile import StreamReader, StreamWriter
from cheroot.server import HTTPConnection
from cheroot.ssl import Adapter

from sandboxd import wire
from sandboxd.config import Config, Tls
from sandboxd.faults import Misconfigured
from sandboxd.service.http import PEER_NAMES

_log = logging.getLogger(__name__)
_SOCKET_MODE = 0o660
_SHUTDOWN_WITHIN_S = 3


class Server(wsgi.Server):
    """What both doors share: bounds, and connections that wait outside until they speak."""

    max_request_header_size = 32 * 1024
    max_request_body_size = wire.MAX_REQUEST_BYTES
    version = "sandboxd"

    def __init__(
        self,
        application: Callable[..., Any],
        config: Config,
        *,
        address: str | tuple[str, int],
        with_peer_user: bool,
    ) -> None:
        bounds = config.bounds
        threads = bounds.running_operations + bounds.control_threads
        super().__init__(
            bind_addr=address,
            wsgi_app=application,
            numthreads=threads,
            max=threads,
            server_name="sandboxd",
            request_queue_size=bounds.connections,
            timeout=bounds.request_timeout_s,
            shutdown_timeout=_SHUTDOWN_WITHIN_S,
            accepted_queue_size=bounds.connections,
            peercreds_enabled=with_peer_user,
        )
        self.keep_alive_conn_limit = bounds.connections

    @property
    def place(self) -> str:
        """Where it listens, for people."""
        address = self.bind_addr
        return address if isinstance(address, str) else "{}:{}".format(*address[:2])

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


class UnixServer(Server):
    """Serves `application` at `config.socket`."""

    def __init__(self, application: Callable[..., Any], config: Config) -> None:
        super().__init__(application, config, address=str(config.socket), with_peer_user=True)
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


class TlsServer(Server):
    """Serves `application` to clients whose certificate the authority of `tls` signed."""

    def __init__(self, application: Callable[..., Any], config: Config, tls: Tls) -> None:
        super().__init__(application, config, address=(tls.host, tls.port), with_peer_user=False)
        self.gateway = _Gateway
        self.ssl_adapter = _MutualTls(tls)

    def process_conn(self, conn: HTTPConnection) -> None:
        """Goes on with the handshake as far as the peer has come; no thread waits for it."""
        peer: ssl.SSLSocket = conn.socket
        if peer.version() is None:
            peer.settimeout(0)
            try:
                peer.do_handshake()
            except ssl.SSLWantReadError:
                self.put_conn(conn)
                return
            except OSError as error:  # ssl.SSLError is one.
                _log.info("http: a TLS handshake failed: %s", type(error).__name__)
                conn.close()
                return
            peer.settimeout(self.timeout)
        super().process_conn(conn)


class _MutualTls(Adapter):
    """Cheroot's own adapter shakes hands while it accepts, where one slow peer delays all."""

    def __init__(self, tls: Tls) -> None:
        super().__init__(str(tls.certificate), str(tls.key))
        try:
            self._context = ssl.create_default_context(
                ssl.Purpose.CLIENT_AUTH, cafile=tls.client_authority
            )
            self._context.load_cert_chain(tls.certificate, tls.key)
        except OSError as error:  # ssl.SSLError is one.
            raise Misconfigured(
                f"[tls]: a certificate or key cannot be used: {error.strerror or error}",
                remedy="give readable PEM files whose key and certificate belong together",
            ) from error
        self._context.verify_mode = ssl.CERT_REQUIRED
        self._context.minimum_version = ssl.TLSVersion.TLSv1_3

    def bind(self, sock: socket.socket) -> socket.socket:
        """Nothing to do for the listening socket."""
        return sock

    def wrap(self, sock: socket.socket) -> tuple[ssl.SSLSocket, dict[str, str]]:
        """Without a handshake: that comes when the peer speaks, see `TlsServer.process_conn`."""
        wrapped = self._context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        return wrapped, self.get_environ()

    def get_environ(self) -> dict[str, str]:
        """For every request."""
        return {"wsgi.url_scheme": "https", "HTTPS": "on"}

    def makefile(
        self, sock: socket.socket, mode: str = "r", bufsize: int = io.DEFAULT_BUFFER_SIZE
    ) -> StreamReader | StreamWriter:
        """As cheroot's own adapter does."""
        kind = StreamReader if "r" in mode else StreamWriter
        return kind(sock, mode, bufsize)


class _Gateway(wsgi.Gateway_10):
    def get_environ(self) -> dict[str, Any]:  # type: ignore[override]  # Typed as None there.
        """Adds the names of the verified certificate. Request headers cannot reach this key."""
        environ: dict[str, Any] = super().get_environ()  # type: ignore[no-untyped-call]
        certificate = self.req.conn.socket.getpeercert() or {}
        alternatives = certificate.get("subjectAltName", ())
        environ[PEER_NAMES] = tuple(name for kind, name in alternatives if kind == "DNS")
        return environ
