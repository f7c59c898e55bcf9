"""Encoded blobs: base64, hexadecimal and compressed content, opened and scanned like any other
text.

The scan calls this for each reading; a blob with a hit inside is redacted as a whole.
"""

import base64
import binascii
import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from perlica.protection.budget import MAX_DECODE_DEPTH, MAX_DECODED_BYTES, Budget
from perlica.protection.engine import linear

_RUN: Final = linear(r"[A-Za-z0-9+/_\-]{20,}={0,2}|[A-Za-z0-9+/]{12,}={1,2}|[A-Z2-7]{24,}={1,6}")
_HEX: Final = linear(r"(?:0x|\\x)?(?:[0-9a-f]{24,}|[0-9A-F]{24,})")
_STANDARD: Final = bytes.maketrans(b"-_", b"+/")
_MATCHES_BETWEEN_CHECKS: Final = 256
_PROBE: Final = 48
_PRINTABLE_SHARE: Final = 0.9
_SHORTEST_TEXT: Final = 8
_CONTROLS: Final = bytes((*range(0x20), 0x7F, *range(0xF8, 0x100)))
_NEVER_IN_TEXT: Final = bytes(
    byte
    for byte in (*range(0x20), 0x7F, 0xC0, 0xC1, *range(0xF5, 0x100))
    if byte not in b"\t\n\r\x1b"
)
_FIRST_LOOK: Final = 9
_TEXT_BYTES: Final = bytes(range(0x20, 0x7F)) + b"\n\r\t"


@dataclass(frozen=True, slots=True)
class Blob:
    """Where a blob stands and what was in it."""

    start: int
    end: int
    content: bytes


def open_blobs(data: bytes, budget: Budget, depth: int) -> Iterator[Blob]:
    """Yield every blob of `data` that decodes to text."""
    if depth >= MAX_DECODE_DEPTH:
        return
    for number, match in enumerate(_RUN.finditer(data), 1):
        if number % _MATCHES_BETWEEN_CHECKS == 0:
            budget.check()
        start, end = match.span()
        content = _from_base64(data[start:end], budget)
        if content:
            yield Blob(start, end, content)
    for match in _HEX.finditer(data):
        start, end = match.span()
        content = _from_hex((match.group() or b"").removeprefix(b"0x").removeprefix(b"\\x"), budget)
        if content:
            yield Blob(start, end, content)


def _from_hex(run: bytes, budget: Budget) -> bytes | None:
    head = bytes.fromhex(run[: min(_PROBE, len(run) - len(run) % 2)].decode())
    if len(run) % 2 or not (_is_texty(head) or _is_packed(head)):
        return None
    budget.spend_decoded(len(run) // 2)
    return _opened(bytes.fromhex(run.decode()), budget)


def _from_base64(run: bytes, budget: Budget) -> bytes | None:
    """Return the text in `run`, read as base64 of either alphabet or, in capitals, as base32."""
    head = binascii.a2b_base64(
        run[: _PROBE if len(run) >= _PROBE else len(run) & ~3].translate(_STANDARD)
    )
    begin, opened = head[:_FIRST_LOOK], None
    is_texty = len(begin.translate(None, _NEVER_IN_TEXT)) == len(begin)
    if is_texty or begin.startswith(_MAGICS) or head.count(0) >= _SHORTEST_TEXT // 2:
        opened = _decoded(_base64, run.rstrip(b"=").translate(_STANDARD), 4, budget)
    if opened is None and run.isupper():
        opened = _decoded(_base32, run.rstrip(b"="), 8, budget)
    return opened


def _decoded(
    decode: Callable[[bytes], bytes | None], plain: bytes, width: int, budget: Budget
) -> bytes | None:
    head = decode(plain[: _PROBE - _PROBE % width])
    if head is None or not (_is_texty(head) or _is_packed(head)):
        return None
    budget.spend_decoded(len(plain))
    content = decode(plain)
    return _opened(content, budget) if content else None


def _base64(run: bytes) -> bytes | None:
    usable = run[: len(run) - 1] if len(run) % 4 == 1 else run
    try:
        return binascii.a2b_base64(usable + b"=" * (-len(usable) % 4))
    except (binascii.Error, ValueError):
        return None


def _base32(run: bytes) -> bytes | None:
    try:
        return base64.b32decode(run + b"=" * (-len(run) % 8))
    except (binascii.Error, ValueError):
        return None


def _opened(content: bytes, budget: Budget) -> bytes | None:
    """Return text as it is, packed content unpacked, UTF-16 as UTF-8, and nothing of anything
    else.
    """
    for magic, unpack in _PACKERS:
        if content.startswith(magic):
            unpacked = _unpack(content, unpack, budget)
            return unpacked if unpacked and _is_texty(unpacked[:256]) else None
    if _is_utf16(content):
        content = content.decode("utf-16-le", errors="replace").encode(errors="replace")
    return content if len(content) >= _SHORTEST_TEXT and _is_texty(content[:256]) else None


def _unpack(content: bytes, unpack: Callable[[bytes, int], bytes], budget: Budget) -> bytes | None:
    try:
        unpacked = unpack(content, min(budget.decoded_bytes_left, MAX_DECODED_BYTES) + 1)
    except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError):
        return None
    budget.spend_decoded(len(unpacked))
    return unpacked


def _gunzip(content: bytes, most: int) -> bytes:
    return zlib.decompressobj(wbits=47).decompress(content, most)


def _bunzip(content: bytes, most: int) -> bytes:
    return bz2.BZ2Decompressor().decompress(content, most)


def _unxz(content: bytes, most: int) -> bytes:
    return lzma.LZMADecompressor(memlimit=64 * 1024 * 1024).decompress(content, most)


_PACKERS: Final[tuple[tuple[bytes, Callable[[bytes, int], bytes]], ...]] = (
    (b"\x1f\x8b\x08", _gunzip),
    (b"\x78\x01", _gunzip),
    (b"\x78\x5e", _gunzip),
    (b"\x78\x9c", _gunzip),
    (b"\x78\xda", _gunzip),
    (b"BZh", _bunzip),
    (b"\xfd7zXZ", _unxz),
)

_MAGICS: Final = tuple(magic for magic, _ in _PACKERS)


def _is_packed(head: bytes) -> bool:
    return head.startswith(_MAGICS) or _is_utf16(head)


def _is_utf16(content: bytes) -> bool:
    if len(content) < 2 * _SHORTEST_TEXT or content.count(0, 0, 64) < _SHORTEST_TEXT // 2:
        return False
    highs = content[1:64:2]
    return highs.count(0) * 2 > len(highs)


def _is_texty(content: bytes) -> bool:
    """Return whether nearly all bytes are printable ASCII, or the content is UTF-8 with few
    controls.
    """
    others = content.translate(None, _TEXT_BYTES)
    if len(others) <= len(content) * (1 - _PRINTABLE_SHARE):
        return True
    if others.translate(None, _CONTROLS) != others:
        return False
    try:
        content[: len(content) - 3].decode()
    except UnicodeDecodeError as error:
        return error.start >= len(content) - 6
    return True
