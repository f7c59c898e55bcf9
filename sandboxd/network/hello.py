"""Reads the server name from the first bytes of a TLS connection (RFC 8446 4.1.2, RFC 6066 3).

A tunnel that was opened for one name must not be used to ask the same address for another one.
"""

from dataclasses import dataclass

from sandboxd.faults import Refused

MAX_HELLO_BYTES = 64 * 1024
_HANDSHAKE_RECORD, _CLIENT_HELLO = 22, 1
_RECORD_HEADER, _HANDSHAKE_HEADER = 5, 4
_MAX_RECORD = 16 * 1024 + 256
_VERSION_AND_RANDOM = 34
_SERVER_NAME, _ENCRYPTED_HELLO = 0x0000, 0xFE0D
_HOST_NAME = 0
_OUTER = 0


def server_name(received: bytes, *, may_encrypt: bool = False) -> str | None:
    """The name that the client asks for, lower case. None while the message is incomplete.

    Raises: Refused when it is no TLS, names no or several servers, or may hide another name in an
    encrypted hello. A browser's pretended one (GREASE, RFC 9849 6.2) is made so that nobody on the
    way can tell it from a real one, so both are refused unless `may_encrypt`: docs/adr/0009.
    """
    message = _handshake(received)
    if message is None:
        return None
    if message[0] != _CLIENT_HELLO:
        raise Refused("the connection does not begin as TLS does")
    length = int.from_bytes(message[1:_HANDSHAKE_HEADER], "big")
    if length > MAX_HELLO_BYTES:
        raise Refused("the client's first message is too long")
    body = message[_HANDSHAKE_HEADER : _HANDSHAKE_HEADER + length]
    if len(body) < length:
        return None
    try:
        return _name_in(_Reader(body), may_encrypt=may_encrypt)
    except IndexError:
        raise Refused("the client's first message is damaged") from None


def _handshake(received: bytes) -> bytes | None:
    """The handshake bytes so far, out of their records; None while there is not even a header."""
    message, rest = b"", received
    while len(rest) >= _RECORD_HEADER:
        size = int.from_bytes(rest[3:_RECORD_HEADER], "big")
        if rest[0] != _HANDSHAKE_RECORD or not 0 < size <= _MAX_RECORD:
            raise Refused("the connection does not begin as TLS does")
        message += rest[_RECORD_HEADER : _RECORD_HEADER + size]
        rest = rest[_RECORD_HEADER + size :]
    if not message and rest and rest[0] != _HANDSHAKE_RECORD:
        raise Refused("the connection does not begin as TLS does")
    return message if len(message) >= _HANDSHAKE_HEADER else None


@dataclass(slots=True)
class _Reader:
    """Takes fields off the front. Raises IndexError when there are not enough bytes."""

    left: bytes

    def take(self, count: int) -> bytes:
        if count > len(self.left):
            raise IndexError
        taken, self.left = self.left[:count], self.left[count:]
        return taken

    def number(self, width: int) -> int:
        return int.from_bytes(self.take(width), "big")

    def field(self, width: int) -> "_Reader":
        return _Reader(self.take(self.number(width)))


def _name_in(hello: _Reader, *, may_encrypt: bool) -> str:
    hello.take(_VERSION_AND_RANDOM)
    hello.field(1)  # Session id.
    hello.field(2)  # Cipher suites.
    hello.field(1)  # Compression methods.
    extensions = hello.field(2)
    names: list[bytes] = []
    while extensions.left:
        kind, content = extensions.number(2), extensions.field(2)
        if kind == _ENCRYPTED_HELLO:
            _check_encrypted(content, may_encrypt=may_encrypt)
        if kind == _SERVER_NAME:
            listed = content.field(2)
            while listed.left:
                kind, name = listed.number(1), listed.field(2).left
                names.append(name if kind == _HOST_NAME else b"")
    if len(names) != 1:
        raise Refused("the client does not name one server")
    return names[0].decode("ascii", "replace").lower()


def _check_encrypted(content: _Reader, *, may_encrypt: bool) -> None:
    """Even where it is allowed it has to be the outer form (RFC 9849 5): the inner one, sent in
    the clear, would be read by servers and not by us.
    """
    if not may_encrypt:
        raise Refused("the client may hide the server's name (encrypted hello)")
    if content.number(1) != _OUTER:
        raise Refused("the client's encrypted hello is damaged")
