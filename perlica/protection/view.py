"""Views: other readings of a text whose offsets lead back to the text itself.

The scanner looks at folded, unescaped and joined readings; what it finds there is redacted in the
text.
"""

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Final

from perlica.protection.placeholder import FILLER

BORDER: Final = b"\n" + FILLER + b"\n"


@dataclass(slots=True)
class View:
    """Bytes to scan, and for each stretch of them the stretch of the base text that it was made
    from.

    `starts[i]` is where piece i begins in `data`; `bases[i]` is its stretch in the base. A piece
    of equal
    length on both sides maps byte by byte, any other as a whole.
    """

    data: bytes
    starts: list[int] = field(repr=False)
    bases: list[tuple[int, int]] = field(repr=False)

    def to_base(self, start: int, end: int) -> tuple[int, int]:
        """Return the stretch of the base that `data[start:end]` stands for; whole escapes only."""
        first, last = bisect_right(self.starts, start) - 1, bisect_right(self.starts, end - 1) - 1
        return self._edge(first, start)[0], self._edge(last, end - 1)[1]

    def _edge(self, piece: int, offset: int) -> tuple[int, int]:
        base_start, base_end = self.bases[piece]
        piece_end = self.starts[piece + 1] if piece + 1 < len(self.starts) else len(self.data)
        if piece_end - self.starts[piece] == base_end - base_start:
            at = base_start + offset - self.starts[piece]
            return at, at + 1
        return base_start, base_end


class ViewBuilder:
    """Collects a view piece by piece, from left to right."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._starts: list[int] = []
        self._bases: list[tuple[int, int]] = []
        self._length = 0

    def copy(self, base: bytes, start: int, end: int) -> None:
        """Append `base[start:end]` as it stands."""
        if end > start:
            self.replace(base[start:end], start, end)

    def replace(self, new: bytes, start: int, end: int) -> None:
        """Append `new`, which stands for the base's `start:end`; nothing is appended for empty
        `new`.
        """
        if new:
            self._starts.append(self._length)
            self._bases.append((start, end))
            self._chunks.append(new)
            self._length += len(new)

    @property
    def length(self) -> int:
        """How many bytes were appended so far."""
        return self._length

    def separate(self, at: int) -> None:
        """Append a border that no hit crosses, between two windows of one view."""
        self.replace(BORDER, at, at)

    def build(self) -> View:
        """Return the view."""
        return View(b"".join(self._chunks), self._starts, self._bases)
