"""One WebSocket connection of the stand-in: reader thread, writer thread, ways to misbehave.

The listener makes one for each accepted socket; the stand-in judges it, feeds it and hears of it.
wsproto does the protocol, the socket is ours: only so can a frame be cut in the middle.
"""

import contextlib
import queue
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from wsproto import ConnectionType, WSConnection
from wsproto.connection import ConnectionState
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Ping,
    Request,
    TextMessage,
)
from wsproto.frame_protocol import CloseReason
from wsproto.utilities import RemoteProtocolError

from perlica.demo.napcat.faults import AnswerHttp, ConnectFault, StallHandshake

RECEIVE_BYTES = 65_536
LARGEST_MESSAGE_BYTES = 50 * 1024 * 1024
"""NapCat's maxPayload; above it the connection closes with 1009 (measured)."""
CLOSING_S = 2.0
"""How long a peer may take to answer our close frame."""
RESET_ON_CLOSE = struct.pack("ii", 1, 0)
UPGRADE_REQUIRED = 426

WHOLE_TEXT = 0x81
"""The first byte of a text frame that is a whole message."""

Then = Literal["go on", "close", "stall", "hang up"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Admit:
    """The peer may speak; with events or, on `/api`, without."""

    takes_events: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnAway:
    """The handshake succeeds, this one frame follows, then an empty close frame (S20)."""

    frame: str


Judgement = Admit | TurnAway | AnswerHttp | StallHandshake


class Host(Protocol):
    """What a connection tells its stand-in; called in the connection's reader thread."""

    def judge(
        self, target: str, headers: Mapping[str, str], fault: ConnectFault | None
    ) -> Judgement:
        """Whether the peer may come in."""

    def opened(self, connection: "Connection") -> None:
        """The handshake is done."""

    def received(self, connection: "Connection", text: str) -> None:
        """A whole message came."""

    def closed(self, connection: "Connection") -> None:
        """The connection is gone."""


class Connection:
    """A peer. Sending never blocks: the writer thread has a queue."""

    role = ConnectionType.SERVER

    def __init__(
        self, sock: socket.socket, host: Host, *, number: int, fault: ConnectFault | None = None
    ) -> None:
        """Take over an accepted socket; `start` begins to talk."""
        self.number = number
        self.target = ""
        self.headers: Mapping[str, str] = {}
        self.takes_events = False
        self._sock = sock
        self._host = host
        self._fault = fault
        self._protocol = WSConnection(self.role)
        self._lock = threading.Lock()
        self._outbox: queue.SimpleQueue[tuple[bytes, Then] | None] = queue.SimpleQueue()
        self._is_silent = threading.Event()
        self.ended = threading.Event()
        self._closing = False
        self._parts: list[str | bytes | bytearray] = []
        self._parts_bytes = 0
        self._threads = tuple(
            threading.Thread(target=run, name=f"napcat-{role}-{number}", daemon=True)
            for role, run in (("reader", self._read), ("writer", self._write))
        )

    def start(self) -> None:
        """Begin the handshake."""
        for thread in self._threads:
            thread.start()

    @property
    def is_open(self) -> bool:
        """Whether the handshake is done and nobody has begun to close."""
        with self._lock:
            return (
                bool(self.target)
                and not self._closing
                and not self.ended.is_set()
                and self._protocol.state is ConnectionState.OPEN
            )

    def send(self, text: str, *, pieces: int = 1) -> None:
        """Queue one text message, cut into `pieces` fragments."""
        size = -(-len(text) // pieces) or 1
        parts = [text[start : start + size] for start in range(0, len(text), size)] or [""]
        last = len(parts) - 1
        self._queue(
            *(TextMessage(data=part, message_finished=at == last) for at, part in enumerate(parts))
        )

    def send_half(self, text: str, then: Literal["close", "stall"]) -> None:
        """Queue the first half of a frame; then the connection closes or falls silent."""
        with self._lock:
            frame = self._frame(TextMessage(data=text))
            self._outbox.put((frame[: max(len(frame) // 2, 1)], then))

    def send_payload(self, payload: bytes, first: int = WHOLE_TEXT) -> None:
        """Queue a frame with exactly these bytes, valid UTF-8 or not, behind this first byte."""
        self._queue_payload(payload, lambda _head, plain: plain, first)

    def close(self, code: int = CloseReason.NO_STATUS_RCVD) -> None:
        """Close politely; without a code the frame is empty and the peer sees 1005, as NapCat."""
        self._queue(CloseConnection(code=code), then="hang up")
        self._closing = True

    def cut(self, *, reset: bool = False) -> None:
        """End the TCP connection without a word, by FIN or by RST."""
        with contextlib.suppress(OSError):
            if reset:
                # No FIN may go out first: the reader wakes up, closes, and the kernel resets.
                self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
                self._sock.shutdown(socket.SHUT_RD)
            else:
                self._sock.shutdown(socket.SHUT_RDWR)

    def freeze(self) -> None:
        """Stop reading and writing while the TCP connection stays up (S22)."""
        self._is_silent.set()

    def stop(self) -> None:
        """End the connection and its threads."""
        self.ended.set()
        self._outbox.put(None)
        self.cut()
        for thread in self._threads:
            if thread is not threading.current_thread() and thread.is_alive():
                thread.join()
        self._sock.close()

    def _queue_payload(
        self, payload: bytes, mask: Callable[[bytes, bytes], bytes], first: int
    ) -> None:
        """Let the protocol frame as many other bytes, then put ours behind its header."""
        with self._lock:
            frame = self._frame(TextMessage(data="x" * len(payload)))
            if frame:
                head = frame[: len(frame) - len(payload)]
                self._outbox.put((bytes([first]) + head[1:] + mask(head, payload), "go on"))

    def _queue(self, *events: Event, then: Then = "go on") -> None:
        with self._lock:
            data = b"".join(self._frame(event) for event in events)
            if data:
                self._outbox.put((data, then))

    def _frame(self, event: Event) -> bytes:
        state = self._protocol.state
        if isinstance(event, AcceptConnection):
            return self._protocol.send(event)
        if isinstance(event, CloseConnection):
            can_send = state in {ConnectionState.OPEN, ConnectionState.REMOTE_CLOSING}
        else:
            can_send = state is ConnectionState.OPEN and not self._closing
        return self._protocol.send(event) if can_send else b""

    def _write(self) -> None:
        with contextlib.suppress(OSError):
            while (item := self._outbox.get()) is not None:
                data, then = item
                if self._is_silent.is_set():
                    continue
                self._sock.sendall(data)
                if then == "stall":
                    self._is_silent.set()
                elif then == "close" or (then == "hang up" and not self.ended.wait(CLOSING_S)):
                    self.cut()

    def _read(self) -> None:
        try:
            if self._shake_hands():
                self._host.opened(self)
                self._talk()
        except OSError:
            pass  # The peer is gone, or `cut` was called: both end here.
        finally:
            self.ended.set()
            self._outbox.put(None)
            self._host.closed(self)
            with contextlib.suppress(OSError):
                self._sock.close()

    def _shake_hands(self) -> bool:
        request = self._read_request()
        if request is None:
            return False
        headers = {name.decode().lower(): value.decode() for name, value in request.extra_headers}
        judgement = self._host.judge(request.target, headers, self._fault)
        match judgement:
            case AnswerHttp():
                self._answer_http(judgement.status, judgement.headers)
                return False
            case StallHandshake():
                self._wait_for_the_end()
                return False
            case TurnAway():
                self._queue(AcceptConnection())
                self._queue(TextMessage(data=judgement.frame))
                self.close()
                self._talk()
                return False
            case Admit():
                self._queue(AcceptConnection())
                self.target, self.headers = request.target, headers
                self.takes_events = judgement.takes_events
                return True

    def _read_request(self) -> Request | None:
        while data := self._sock.recv(RECEIVE_BYTES):
            try:
                self._protocol.receive_data(data)
            except RemoteProtocolError:
                self._answer_http(UPGRADE_REQUIRED, (("Upgrade", "websocket"),))
                return None
            for event in self._protocol.events():
                if isinstance(event, Request):
                    return event
        return None

    def _answer_http(self, status: int, headers: tuple[tuple[str, str], ...]) -> None:
        lines = [f"HTTP/1.1 {status} -", *(f"{name}: {value}" for name, value in headers)]
        head = "\r\n".join([*lines, "Content-Length: 0", "Connection: close", "", ""])
        self._sock.sendall(head.encode())

    def _wait_for_the_end(self) -> None:
        while not self.ended.is_set() and self._sock.recv(RECEIVE_BYTES):
            pass

    def _talk(self) -> None:
        """Handle what the peer sends, until one of us closes."""
        is_going_on = self._handle(b"")
        while is_going_on and (data := self._sock.recv(RECEIVE_BYTES)):
            if self._is_silent.is_set():
                self.ended.wait()
                return
            is_going_on = self._handle(data)

    def _handle(self, data: bytes) -> bool:
        with self._lock:
            if data:
                self._protocol.receive_data(data)
            events = list(self._protocol.events())
        for event in events:
            if isinstance(event, Ping):
                self._queue(event.response())
            elif isinstance(event, CloseConnection):
                self._answer_close(event)
                return False
            elif isinstance(event, TextMessage | BytesMessage) and not self._closing:
                self._collect(event)
        return True

    def _answer_close(self, event: CloseConnection) -> None:
        self._queue(event.response())
        self.ended.set()
        self._outbox.put(None)
        self._threads[1].join(CLOSING_S)

    def _collect(self, event: TextMessage | BytesMessage) -> None:
        self._parts.append(event.data)
        self._parts_bytes += len(event.data)
        if self._parts_bytes > LARGEST_MESSAGE_BYTES:
            self._parts.clear()
            self.close(CloseReason.MESSAGE_TOO_BIG)
        elif event.message_finished:
            parts, self._parts, self._parts_bytes = self._parts, [], 0
            self._host.received(self, "".join(_as_text(part) for part in parts))


def _as_text(part: str | bytes | bytearray) -> str:
    return part if isinstance(part, str) else part.decode("utf-8", "replace")
