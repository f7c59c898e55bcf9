"""A mirror on loopback, a node whose sandboxes may reach it, and ways to look from inside."""

import contextlib
import http.server
import os
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from sandboxd import _native
from tests.sandboxd.authority import Authority
from tests.sandboxd.client import Box, Client
from tests.sandboxd.process import Daemon

T = TypeVar("T")


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Files of a directory; says where a request went and how much came with it."""

    def do_POST(self) -> None:
        size = len(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"{self.path} {size} {self.headers.get('X-Secret')}".encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base's name)
        pass


class Mirror:
    """A web server on loopback, with TLS and without; counts the connections that reach it."""

    def __init__(self, files: Path, authority: Authority) -> None:
        self.reached = 0
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*authority.issue("localhost"))
        self.authority = authority.file
        self._servers = [self._serve(files, None), self._serve(files, context)]
        self.http_port, self.https_port = (s.server_address[1] for s in self._servers)

    def _serve(self, files: Path, tls: ssl.SSLContext | None) -> http.server.ThreadingHTTPServer:
        mirror = self

        class Server(http.server.ThreadingHTTPServer):
            def get_request(self) -> tuple[socket.socket, Any]:
                mirror.reached += 1
                connection, address = super().get_request()
                if tls is not None:
                    connection = tls.wrap_socket(
                        connection, server_side=True, do_handshake_on_connect=False
                    )
                return connection, address

            def handle_error(self, request: object, client_address: object) -> None:
                pass  # Clients that break off are what some tests are about.

        def make(*given: Any) -> _Handler:
            return _Handler(*given, directory=str(files))

        server = Server(("127.0.0.1", 0), make)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    def stop(self) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()


class Node:
    """A daemon whose sandboxes may reach the mirror as `localhost`."""

    def __init__(self, daemon: Daemon, mirror: Mirror, files: Path) -> None:
        self.daemon = daemon
        self.mirror = mirror
        self.files = files
        self.client = Client(daemon.socket)

    def make_box(self, name: str = "box") -> Box:
        (held,) = self.client.images()
        return Box(self.client, self.client.create(name, held.digest, network="egress"))

    def audit(self) -> list[str]:
        return [
            x for x in self.daemon.log.read_text("utf-8").splitlines() if "sandboxd.egress" in x
        ]


def inside(node: Node, box: Box, act: Callable[[], T]) -> T:
    """Runs `act` in a thread that has entered the sandbox's network namespace."""
    done: Future[T] = Future()

    def run() -> None:
        try:
            with Path(f"/proc/{init_of(node, box)}/ns/net").open("rb") as namespace:
                _native.setns(namespace.fileno(), _native.CLONE_NEWNET)
            done.set_result(act())
        except BaseException as error:  # noqa: BLE001 (handed on to the test)
            done.set_exception(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(30)
    return done.result(0)


def init_of(node: Node, box: Box) -> int:
    return int((node.daemon.run / "bundles" / box.instance / "pid").read_text("ascii"))


def exchange(raw: bytes) -> bytes:
    """Sends bytes to the proxy and reads until it hangs up."""
    answer = b""
    with socket.create_connection(("127.0.0.1", 3128), timeout=20) as proxy:
        proxy.sendall(raw)
        with contextlib.suppress(ConnectionResetError):
            while piece := proxy.recv(65536):
                answer += piece
    return answer


def tunnel(port: int, name: str = "localhost") -> bytes:
    return f"CONNECT {name}:{port} HTTP/1.1\r\nHost: {name}:{port}\r\n\r\n".encode()


def run_inside(
    node: Node, box: Box, *words: str, within_s: float = 60, **env: str
) -> subprocess.CompletedProcess[str]:
    """A program of this machine in the sandbox's network, with the sandbox's proxy settings."""
    proxy = "http://127.0.0.1:3128"
    proxies = {"http_proxy": proxy, "https_proxy": proxy, "HTTPS_PROXY": proxy, "no_proxy": ""}
    return subprocess.run(
        ["nsenter", f"--net=/proc/{init_of(node, box)}/ns/net", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=within_s,
        env=dict(os.environ) | proxies | env,
    )
