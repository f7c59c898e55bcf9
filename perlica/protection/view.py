"""Views: other readings of a text whose offsets lead back to the text itself.

The scanner looks at folded, unescaped and joined readings; what it finds there is redacted in the text.
"""

from bisect import bisect_right
from dataclasses import dataclass, field


@dataclass(slots=True)
class View:
    """Bytes to scan, and for each stretch of them the stretch of the base text that it was made from.

    `starts[i]` is where piece i begins in `data`; `bases[i]` is its stretch in the base. A piece of equal
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
        """Append `new`, which stands for the base's `start:end`; nothing is appended for empty `new`."""
        if new:
            self._starts.append(self._length)
            self._bases.append((start, end))
            self._chunks.append(new)
            self._length += len(new)

    def build(self) -> View:
        """Return the view."""
        return View(b"".join(self._chunks), self._starts, self._bases)


def through(outer: View, inner: View) -> View:
    """Return `inner`, a view of `outer`, as a view of the base of `outer`."""
    bases = [outer.to_base(start, end) for start, end in inner.bases]
    return _split_linear(outer, inner, bases)


def _split_linear(outer: View, inner: View, bases: list[tuple[int, int]]) -> View:
    """Cut copied pieces of `inner` where `outer` changes, so that equal lengths mean byte by byte."""
    starts: list[int] = []
    targets: list[tuple[int, int]] = []
    ends = [*inner.starts[1:], len(inner.data)]
    for begin, stop, (source, source_end), base in zip(
        inner.starts, ends, inner.bases, bases, strict=True
    ):
        if stop - begin != source_end - source:
            starts.append(begin)
            targets.append(base)
            continue
        at = source
        while at < source_end:
            piece = bisect_right(outer.starts, at) - 1
            piece_end = (
                outer.starts[piece + 1] if piece + 1 < len(outer.starts) else len(outer.data)
            )
            upto = min(source_end, piece_end)
            starts.append(begin + at - source)
            targets.append(outer.to_base(at, upto))
            at = upto
    return View(inner.data, starts, targets)


def identity(data: bytes) -> View:
    """Return `data` as a view of itself."""
    return View(data, [0], [(0, len(data))])
