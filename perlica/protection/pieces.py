"""Pieces of raw bytes, protected together with what stands around them and cut afterwards.

Whoever cuts what came from outside (head and tail of an output, a range of a file, a line) hands
over what it read beyond the cut too. So a cut decides nothing: what it would divide is a
placeholder by then, and stands in the piece whole.
"""

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from perlica.protection import placeholder
from perlica.protection.cut import head_of
from perlica.protection.document import Document
from perlica.protection.edits import cut_places
from perlica.protection.placeholder import Numbering
from perlica.protection.rules import is_kind
from perlica.protection.seal import Channel, Protected, ProtectionStatus, seal, withheld

_UNDECODABLE: Final = re.compile("[\ud800-\udfff]")
_LONGEST_SIGN: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Raw bytes and the ranges of them that are to be shown, in order and apart.

    `is_cut`: something stood in front of the first byte, and nobody can say what.
    """

    data: bytes = field(repr=False)
    shown: tuple[tuple[int, int], ...]
    is_cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A range, protected. `end` is the byte that what stands behind it begins with.

    It lies behind the range's own end where a placeholder stands for more than was asked for.
    """

    protected: Protected
    end: int


def protect_pieces(stretches: Sequence[Stretch], channel: Channel) -> tuple[tuple[Piece, ...], ...]:
    """Return the shown ranges of each stretch, protected; numbers are shared among all of them.

    Never raises: where one scan did not end, no piece has text. Undecodable bytes are U+FFFD.
    """
    try:
        texts = [_Text.of(stretch.data) for stretch in stretches]
        numbering = Numbering("\n".join(text.clean for text in texts))
        return tuple(
            _cut(stretch, text, channel, numbering)
            for stretch, text in zip(stretches, texts, strict=True)
        )
    except Exception:  # noqa: BLE001 - the scan boundary: whatever went wrong, no text may pass
        nothing = withheld(ProtectionStatus.SCAN_INCOMPLETE)
        return tuple(
            tuple(Piece(protected=nothing, end=end) for _, end in stretch.shown)
            for stretch in stretches
        )


def protect_beginning(
    text: str, max_code_points: int, channel: Channel, *, margin_code_points: int
) -> str:
    """Return at most so much of the beginning, protected with so much of what follows.

    What is shown stands in the beginning of the raw text: however much of it placeholders take
    away, nothing moves up from the end of the margin, where another cut was. "" where the scan did
    not end.
    """
    looked_at = text[: max_code_points + margin_code_points]
    size = len(looked_at[:max_code_points].encode("utf-8", "replace"))
    stretch = Stretch(data=looked_at.encode("utf-8", "replace"), shown=((0, size),))
    ((piece,),) = protect_pieces([stretch], channel)
    return head_of(piece.protected.content, max_code_points)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """Bytes as text, each undecodable byte one sign, so that places can be found again."""

    data: bytes
    signs: str
    clean: str

    @classmethod
    def of(cls, data: bytes) -> "_Text":
        signs = data.decode("utf-8", "surrogateescape")
        clean = _UNDECODABLE.sub("\ufffd", signs)
        return cls(data=data, signs=signs, clean=placeholder.escape_look_alikes(clean, is_kind))

    def place_of(self, at: int) -> int:
        """Return the byte of the clean text for a byte of the data; of a cut sign its beginning."""
        decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        return len(self.clean[: len(decoder.decode(self.data[:at]))].encode())

    def origin_of(self, place: int) -> int:
        """Return the byte of the data for a byte of the clean text."""
        count = len(self.clean.encode()[:place].decode("utf-8", "ignore"))
        return len(self.signs[:count].encode("utf-8", "surrogateescape"))


def _cut(
    stretch: Stretch, text: _Text, channel: Channel, numbering: Numbering
) -> tuple[Piece, ...]:
    ranges = [(text.place_of(begin), text.place_of(end)) for begin, end in stretch.shown]
    open_until = max(1, ranges[0][0]) if stretch.is_cut and ranges else 0
    document = Document.redacted(text.clean, channel, numbering=numbering, open_until=open_until)
    redacted = document.text.encode()
    pieces = list[Piece]()
    for begin, end in ranges:
        first, last, stop = cut_places(document.edits, begin, end)
        first, last, stop = _around_placeholders(redacted, first, last, stop)
        content = redacted[first:last].decode("utf-8", "replace")
        count = len(placeholder.ANY.findall(content))
        pieces.append(Piece(protected=seal(content, (), count=count), end=text.origin_of(stop)))
    return tuple(pieces)


def _around_placeholders(data: bytes, first: int, last: int, stop: int) -> tuple[int, int, int]:
    """Move both cuts out of placeholders that the raw text itself had."""
    if (around := _placeholder_at(data, first)) is not None:
        first = around[0]
    if (around := _placeholder_at(data, last)) is not None:
        stop += around[1] - last
        last = around[1]
    return first, last, stop


def _placeholder_at(data: bytes, at: int) -> tuple[int, int] | None:
    begin = max(0, at - 2 * _LONGEST_SIGN)
    for match in placeholder.ANY_BYTES.finditer(data, begin, at + 2 * _LONGEST_SIGN):
        if match.start() < at < match.end():
            return match.span()
    return None
