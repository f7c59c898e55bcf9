"""A model server of raw sockets for tests: every byte and every silence is scripted.

Each answer of the script serves one request; the last one serves all that follow.
"""

import json
import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeAlias

WAIT_S = 10.0
Json: TypeAlias = Any
"""A JSON value that a test looks into."""


@dataclass(frozen=True, slots=True)
class Request:
    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Json:
        return json.loads(self.body)


class Talk:
    """One connection of a client."""

    def __init__(self, conn: socket.socket) -> None:
        self.conn = conn
        self._rest = b""

    def send(self, data: bytes) -> None:
        self.conn.sendall(data)

    def send_head(self, status: str = "200 OK", **headers: str) -> None:
        lines = [f"HTTP/1.1 {status}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.send("\r\n".join([*lines, "", ""]).encode())

    def send_chunk(self, data: bytes) -> None:
        self.send(b"%x\r\n%s\r\n" % (len(data), data))

    def wait_until_gone(self) -> None:
        """Return when the client closed; fails the connection after a bounded time."""
        self.conn.settimeout(WAIT_S)
        while self.conn.recv(65_536):
            pass

    def read_request(self) -> Request | None:
        while b"\r\n\r\n" not in self._rest:
            if not self._fill():
                return None
        head, _, self._rest = self._rest.partition(b"\r\n\r\n")
        line, *raw = head.decode().split("\r\n")
        headers = {
            name.lower(): value.strip() for name, _, value in (row.partition(":") for row in raw)
        }
        size = int(headers.get("content-length", "0"))
        while len(self._rest) < size:
            if not self._fill():
                return None
        body, self._rest = self._rest[:size], self._rest[size:]
        return Request(line, headers, body)

    def _fill(self) -> bool:
        try:
            piece = self.conn.recv(65_536)
        except OSError:
            return False
        self._rest += piece
        return bool(piece)


Answer = Callable[[Talk], None]


class RawServer:
    """Listens on loopback while the `with` block runs."""

    def __init__(
        self, *answers: Answer, context: ssl.SSLContext | None = None, greets: bool = True
    ) -> None:
        self.requests: list[Request] = []
        self.connections = 0
        self.arrived = threading.Event()
        self.gone = threading.Event()
        self._answers = list(answers)
        self._context = context
        self._greets = greets
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    @property
    def url(self) -> str:
        return f"{'https' if self._context else 'http'}://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for conn in self._open:
            with suppress(OSError):
                conn.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(WAIT_S)
        for conn in self._open:
            conn.close()

    def _start(self, target: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                conn, _ = self._listener.accept()
            except OSError:
                return
            conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections += 1
            self._open.append(conn)
            self._start(self._serve, conn)

    def _serve(self, conn: socket.socket) -> None:
        with suppress(OSError):
            if not self._greets:
                self.arrived.set()
                Talk(conn).wait_until_gone()
            elif self._context:
                wrapped = self._context.wrap_socket(conn, server_side=True)
                self._open.append(wrapped)
                self._talk(Talk(wrapped))
            else:
                self._talk(Talk(conn))
        self.gone.set()

    def _talk(self, talk: Talk) -> None:
        while (request := talk.read_request()) is not None:
            self.requests.append(request)
            self.arrived.set()
            answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
            answer(talk)


def encode_event(value: object, name: str = "") -> bytes:
    data = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {data}\n\n".encode()


def stream(*events: bytes, sizes: Sequence[int] = ()) -> Answer:
    """A chunked event stream; `sizes` cuts its bytes into pieces, whatever stands there."""

    def answer(talk: Talk) -> None:
        talk.send_head(Content_Type="text/event-stream", Transfer_Encoding="chunked")
        for piece in cut(b"".join(events), sizes) if sizes else events:
            talk.send_chunk(piece)
        talk.send(b"0\r\n\r\n")

    return answer


def cut(data: bytes, sizes: Sequence[int]) -> list[bytes]:
    pieces, at, turn = [], 0, 0
    while at < len(data):
        size = sizes[turn % len(sizes)]
        pieces.append(data[at : at + size])
        at, turn = at + size, turn + 1
    return pieces


def whole(value: object, status: str = "200 OK", **headers: str) -> Answer:
    """A JSON answer with its length."""

    def answer(talk: Talk) -> None:
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        fields = {"Content_Type": "application/json", **headers, "Content_Length": str(len(body))}
        talk.send_head(status, **fields)
        talk.send(body)

    return answer


def say_nothing(talk: Talk) -> None:
    """The request was read; nothing ever comes."""
    talk.wait_until_gone()


def send_head_and_stop(talk: Talk) -> None:
    talk.send_head(Content_Type="text/event-stream", Transfer_Encoding="chunked")
    talk.wait_until_gone()


def break_off(*events: bytes) -> Answer:
    """A stream that is dropped after `events`."""

    def answer(talk: Talk) -> None:
        talk.send_head(Content_Type="text/event-stream", Transfer_Encoding="chunked")
        for event in events:
            talk.send_chunk(event)
        talk.conn.shutdown(socket.SHUT_RDWR)

    return answer


def drip(piece: bytes, *, before: bytes = b"", every_s: float = 0.02) -> Answer:
    """A stream that says `before`, then `piece` for ever, until the client goes."""

    def answer(talk: Talk) -> None:
        talk.send_head(Content_Type="text/event-stream", Transfer_Encoding="chunked")
        if before:
            talk.send_chunk(before)
        _drip(talk, b"%x\r\n%s\r\n" % (len(piece), piece), every_s)

    return answer


def drip_head(talk: Talk) -> None:
    """Headers that never end, one byte at a time."""
    talk.send(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    _drip(talk, b"x", 0.02)


def _drip(talk: Talk, piece: bytes, every_s: float) -> None:
    talk.conn.settimeout(every_s)
    for _ in range(round(WAIT_S / every_s)):
        talk.conn.sendall(piece)
        with suppress(TimeoutError):
            if not talk.conn.recv(1):
                return
