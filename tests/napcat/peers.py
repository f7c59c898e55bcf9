"""Hostile and broken servers on loopback, below what the stand-in can play."""

import base64
import hashlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
Script = Callable[[socket.socket, bytes], None]


def read_head(sock: socket.socket) -> bytes:
    """A request's head, as far as it comes."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        piece = sock.recv(1)
        if not piece:
            break
        head += piece
    return head


def accept_upgrade(sock: socket.socket, head: bytes) -> None:
    """Answer the handshake as a server must."""
    lines = head.decode().split("\r\n")
    key = next(
        line.split(": ")[1] for line in lines if line.lower().startswith("sec-websocket-key")
    )
    accept = base64.b64encode(hashlib.sha1((key + MAGIC).encode()).digest()).decode()
    sock.sendall(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Accept: {accept}\r\n\r\n".encode()
    )


def frame(payload: bytes, *, opcode: int = 1, fin: bool = True, rsv: int = 0) -> bytes:
    """A server's frame."""
    first = (0x80 if fin else 0) | rsv << 4 | opcode
    size = len(payload)
    if size < 126:
        return bytes([first, size]) + payload
    if size < 65_536:
        return bytes([first, 126]) + struct.pack("!H", size) + payload
    return bytes([first, 127]) + struct.pack("!Q", size) + payload


class ScriptedServer:
    """Runs `script(sock, head)` for each connection; keeps the heads it saw."""

    def __init__(self, script: Script, *, tls: ssl.SSLContext | None = None) -> None:
        self._script = script
        self._tls = tls
        self._server = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self.heads: list[bytes] = []
        self.over = threading.Event()

    @property
    def port(self) -> int:
        return int(self._server.getsockname()[1])

    def url(self, scheme: str = "ws") -> str:
        return f"{scheme}://127.0.0.1:{self.port}/"

    def __enter__(self) -> Self:
        self._spawn(self._accept)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.over.set()
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        with self._lock:
            for sock in self._open:
                sock.close()
        for thread in self._threads:
            thread.join(5)

    def _spawn(self, target: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=target, args=args, name="test-server", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self.over.is_set():
            try:
                sock, _ = self._server.accept()
            except OSError:
                return
            self._spawn(self._serve, sock)

    def _serve(self, plain: socket.socket) -> None:
        plain.settimeout(5)
        with self._lock:
            self._open.append(plain)
        try:
            sock = self._tls.wrap_socket(plain, server_side=True) if self._tls else plain
            with self._lock:
                self._open.append(sock)
            head = read_head(sock)
            self.heads.append(head)
            self._script(sock, head)
        except OSError:
            pass
        finally:
            plain.close()
