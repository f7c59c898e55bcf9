"""Ranges of a file with what stands around them, so that content protection sees past the cut.

Used by the job's performer for `ReadFile` and `ReadLines`. What is read beyond a range is only
looked at. Where a range begins in the middle of what may be a private key in armour, the beginning
of that is looked for further in front.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from perlica.domain.sandbox import MARGIN_BYTES, FileRead, ReadFile, Surroundings
from perlica.protection import begins_inside_armour

PIECE_BYTES: Final = 256 * 1024
"""The most that one request to a backend asks for, unless a range is longer."""
_FURTHER_BYTES: Final = 1024 * 1024
"""How far in front of the margin the beginning of armour is looked for."""

ReadPiece = Callable[[ReadFile], FileRead]


def read_range(wanted: ReadFile, read: ReadPiece) -> FileRead:
    """The wanted range of the file, with its surroundings."""
    begin = max(0, wanted.offset_bytes - MARGIN_BYTES)
    length = wanted.offset_bytes - begin + wanted.limit_bytes + MARGIN_BYTES
    found = _read_through(replace(wanted, offset_bytes=begin, limit_bytes=length), read)
    data, at = found.content, wanted.offset_bytes - begin
    floor = max(0, begin - _FURTHER_BYTES)
    while begin > floor and begins_inside_armour(data, at):
        step = min(begin - floor, PIECE_BYTES)
        more = _read_through(replace(wanted, offset_bytes=begin - step, limit_bytes=step), read)
        data, at, begin = more.content + data, at + len(more.content), begin - step
    end = at + wanted.limit_bytes
    return FileRead(
        size_bytes=found.size_bytes,
        offset_bytes=wanted.offset_bytes,
        content=data[at:end],
        around=Surroundings(before=data[:at], behind=data[end:], is_cut=begin > 0),
    )


def _read_through(wanted: ReadFile, read: ReadPiece) -> FileRead:
    """A range of any length, in as many requests as it takes."""
    pieces, at, end = list[bytes](), wanted.offset_bytes, wanted.offset_bytes + wanted.limit_bytes
    while True:
        asked = min(end - at, PIECE_BYTES)
        piece = read(replace(wanted, offset_bytes=at, limit_bytes=asked))
        pieces.append(piece.content)
        at += len(piece.content)
        if len(piece.content) < asked or at >= end:
            return replace(piece, offset_bytes=wanted.offset_bytes, content=b"".join(pieces))
