"""An established WebSocket to NapCat with the limits that the library does not have.

What it lacks stands in docs/facts/napcat.md. `transport` makes it, `connection` reads from it in
one thread and writes to it from any.
"""

import logging
import socket
import ssl
from typing import Final, Literal

import websocket

from perlica.domain.errors import PerlicaError

_log = logging.getLogger(__name__)
_MOST_FRAGMENTS: Final = 1_024
TOO_LARGE: Final = "too_large"
_DATA: Final = frozenset(
    {websocket.ABNF.OPCODE_CONT, websocket.ABNF.OPCODE_TEXT, websocket.ABNF.OPCODE_BINARY}
)
_READ_BYTES: Final = 64 * 1024
"""Read at once: in a flood each call of `recv` costs a turn of the interpreter's lock."""

Role = Literal["client", "server"]


class WireBroken(PerlicaError):
    """The connection has ended or cannot be trusted any more; `code` says why."""


class FrameUnreadable(PerlicaError):
    """One message cannot be read, the connection can: it was compressed, or is not UTF-8."""


class WriteFailed(WireBroken):
    """A frame did not go out whole. `may_have_left` is False when not a byte of it left."""

    def __init__(self, *, may_have_left: bool) -> None:
        """Keep whether a byte may have left."""
        super().__init__("write_failed", "writing to NapCat failed")
        self.may_have_left = may_have_left


class _TooLarge(websocket.WebSocketProtocolException):
    """More than a frame may hold."""


class _BoundedFrames(websocket.frame_buffer):
    """Refuses a frame by the length it announces, before its payload is read.

    A data frame with reserved bits, a compressed one, is read whole and remembered as unreadable:
    no extension was agreed on, and its neighbours are what they would be without it.
    """

    limit_bytes: int
    _is_reserved = False

    def recv_header(self) -> None:
        super().recv_header()
        if self.header is None:
            return
        fin, *reserved, opcode, has_mask, length_bits = self.header
        if any(reserved) and opcode in _DATA:
            self._is_reserved = True
            self.header = (fin, 0, 0, 0, opcode, has_mask, length_bits)

    def take_reserved(self) -> bool:
        """Whether any frame of the message that just ended had reserved bits."""
        found, self._is_reserved = self._is_reserved, False
        return found

    def recv_length(self) -> None:
        super().recv_length()
        if self.length is not None and self.length > self.limit_bytes:
            raise _TooLarge


class _BoundedFragments(websocket.continuous_frame):
    """Refuses a message whose fragments together exceed what one frame may hold."""

    limit_bytes: int
    _held_bytes = 0
    _fragments = 0

    def add(self, frame: websocket.ABNF) -> None:
        if self.cont_data is None:
            self._held_bytes = self._fragments = 0
        self._held_bytes += len(frame.data)
        self._fragments += 1
        if self._held_bytes > self.limit_bytes or self._fragments > _MOST_FRAGMENTS:
            raise _TooLarge
        super().add(frame)


class Wire(websocket.WebSocket):
    """A WebSocket over a socket that is ours, as the dialling or the listening side."""

    def __init__(self, *, role: Role, frame_limit_bytes: int) -> None:
        """Prepare; `connect(url, socket=…)` or `adopt(socket)` makes it a connection."""
        super().__init__(enable_multithread=True, skip_utf8_validation=True)
        self._role = role
        self._ahead = memoryview(b"")
        self._frames = _BoundedFrames(self._recv, skip_utf8_validation=True)
        self._frames.limit_bytes = frame_limit_bytes
        self.frame_buffer = self._frames
        self.cont_frame = _BoundedFragments(fire_cont_frame=False, skip_utf8_validation=True)
        self.cont_frame.limit_bytes = frame_limit_bytes

    def adopt(self, sock: socket.socket) -> None:
        """Take over a socket on which the handshake is done."""
        self.sock = sock
        self.connected = True

    def receive(self) -> str | None:
        """One message as text; '' for a control frame; None when nothing came in time.

        Raises: FrameUnreadable for one message that no further read depends on, WireBroken when
        the connection ended or broke the protocol; both quote nothing.
        """
        try:
            opcode, frame = self.recv_data_frame(control_frame=True)
        except websocket.WebSocketTimeoutException:
            return None
        except websocket.WebSocketConnectionClosedException:
            raise WireBroken("dropped", "NapCat dropped the connection") from None
        except _TooLarge:
            raise WireBroken(TOO_LARGE, "NapCat sent more than a frame may hold") from None
        except (websocket.WebSocketException, ValueError):
            # The library's text quotes the frame: it must reach neither a log nor a traceback.
            raise WireBroken("protocol", "NapCat broke the WebSocket protocol") from None
        except OSError as error:
            raise WireBroken("dropped", f"reading failed: {type(error).__name__}") from None
        if opcode == websocket.ABNF.OPCODE_CLOSE:
            raise WireBroken("closed", "NapCat closed the connection")
        if opcode not in {websocket.ABNF.OPCODE_TEXT, websocket.ABNF.OPCODE_BINARY}:
            return ""
        if self._frames.take_reserved():
            raise FrameUnreadable("compressed", "NapCat sent a compressed frame")
        return _decode(frame.data)

    def write(self, text: str) -> None:
        """Write one text message.

        Raises: WriteFailed, after which the stream may be cut in mid-frame: abort it.
        """
        self._write_frame(websocket.ABNF.create_frame(text, websocket.ABNF.OPCODE_TEXT))

    def write_ping(self) -> None:
        """Write a ping.

        Raises: WriteFailed as `write` does.
        """
        self._write_frame(websocket.ABNF.create_frame(b"", websocket.ABNF.OPCODE_PING))

    def _recv(self, bufsize: int) -> bytes:
        """What the library reads with, from what was read ahead while there is any."""
        if not self._ahead:
            self._ahead = memoryview(super()._recv(_READ_BYTES))  # type: ignore[no-untyped-call]
        piece, self._ahead = self._ahead[:bufsize], self._ahead[bufsize:]
        return bytes(piece)

    def send_frame(self, frame: websocket.ABNF) -> int:
        """The library's own sends (pong, close) come through here; only the dialling side masks."""
        frame.mask_value = int(self._role == "client")
        return super().send_frame(frame)

    def release(self) -> None:
        """Close the socket; for the reading thread, after its last read."""
        with self.lock:
            sock, self.sock, self.connected = self.sock, None, False
        if sock is not None:
            sock.close()

    def _write_frame(self, frame: websocket.ABNF) -> None:
        frame.mask_value = int(self._role == "client")
        pending = frame.format()
        written = 0
        # A record of TLS may be on the way although the library reports failure.
        is_opaque = isinstance(self.sock, ssl.SSLSocket)
        with self.lock:
            try:
                while written < len(pending):
                    written += self._send(pending[written:])
            except (websocket.WebSocketException, OSError):
                raise WriteFailed(may_have_left=written > 0 or is_opaque) from None


def _decode(payload: bytes | str) -> str:
    if isinstance(payload, str):
        return payload
    try:
        return bytes(payload).decode("utf-8")
    except UnicodeDecodeError:
        raise FrameUnreadable("bad_utf8", "NapCat sent a frame that is not UTF-8") from None
