"""Encoded blobs: base64, hexadecimal and compressed content, opened and scanned like any other
text.

The scan calls this for each reading; a blob with a hit inside is redacted as a whole.
"""

import base64
import binascii
import bz2
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from perlica.protection.budget import MAX_DECODE_DEPTH, MAX_DECODED_BYTES, Budget
from perlica.protection.runs import Run
from perlica.protection.sheet import Sheet

_PADDING: Final = re.compile(rb"=(?<=[A-Za-z0-9+/]{12}=)=?")
_PADDED: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_SHORT_RUN: Final = 20
_STANDARD: Final = bytes.maketrans(b"-_", b"+/")
_RUNS_BETWEEN_CHECKS: Final = 64
_PROBE: Final = 48
_GLIMPSE: Final = 24
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


def open_blobs(sheet: Sheet, depth: int) -> Iterator[Blob]:
    """Yield every blob of the text that decodes to text."""
    if depth >= MAX_DECODE_DEPTH:
        return
    data, budget = sheet.data, sheet.budget
    for number, (start, end) in enumerate(_encoded_runs(sheet), 1):
        if number % _RUNS_BETWEEN_CHECKS == 0:
            budget.spend(_RUNS_BETWEEN_CHECKS)
        content = _from_base64(data, start, end, budget)
        if content:
            yield Blob(start, end, content)
    for start, end in sheet.hex_runs():
        content = _from_hex(data[start:end], budget)
        if content:
            yield Blob(start, end, content)


def _encoded_runs(sheet: Sheet) -> Iterator[Run]:
    """Yield runs of base64 with their padding, short ones too where they have some."""
    data, padded, at = sheet.data, _padded_runs(sheet.data), 0
    for start, end in sheet.encoded_runs():
        while at < len(padded) and padded[at][0] < end:
            if padded[at][1] <= start:
                yield padded[at]
            at += 1
        yield start, end + len(data[end : end + 2]) - len(data[end : end + 2].lstrip(b"="))
    yield from padded[at:]


def _padded_runs(data: bytes) -> list[Run]:
    """Return the runs of 12 to 19 characters that end in padding."""
    found = []
    for match in _PADDING.finditer(data):
        before = data[max(0, match.start() - _SHORT_RUN) : match.start()]
        length = len(before) - len(before.rstrip(_PADDED))
        if length < _SHORT_RUN:
            found.append((match.start() - length, match.end()))
    return found


def _from_hex(run: bytes, budget: Budget) -> bytes | None:
    head = bytes.fromhex(run[: min(_PROBE, len(run) - len(run) % 2)].decode())
    if len(run) % 2 or not (_is_texty(head) or _is_packed(head)):
        return None
    budget.spend_decoded(len(run) // 2)
    return _opened(bytes.fromhex(run.decode()), budget)


def _from_base64(data: bytes, start: int, end: int, budget: Budget) -> bytes | None:
    """Return the text in a run, read as base64 of either alphabet or, in capitals, as base32."""
    begin = data[start : min(end, start + _GLIMPSE)]
    head = binascii.a2b_base64(begin[: len(begin) & ~3].translate(_STANDARD))
    first = head[:_FIRST_LOOK]
    is_texty = len(first.translate(None, _NEVER_IN_TEXT)) == len(first)
    if not (is_texty or 0 in head or begin.isupper() or head.startswith(_MAGICS)):
        return None
    opened, run = None, data[start:end]
    if is_texty or 0 in head or head.startswith(_MAGICS):
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
