"""What a rule is given: the bytes of one view, the budget, and a place to note hits."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from perlica.protection.budget import Budget
from perlica.protection.engine import ANY_CASE_GATES, EXACT_GATES, Match, Pattern
from perlica.protection.placeholder import FILLER

NOT_ASCII: Final = "\u00ff"
"""A gate that every character beyond ASCII opens."""

_MATCHES_BETWEEN_CHECKS: Final = 64
_PIECE_BYTES: Final = 8192
_ONE_PIECE_BYTES: Final = 12288
_LONGEST_GATE: Final = 24
_MARGIN_BEFORE: Final = 512
_MARGIN_BEHIND: Final = 1024
_LONGEST_LINE: Final = 16 * 1024


@dataclass(frozen=True, slots=True)
class Hit:
    """A stretch that must vanish. Of overlapping hits the one of the highest `rank` names the
    kind.
    """

    start: int
    end: int
    kind: str
    rule: str
    rank: int

    def moved(self, by: int) -> "Hit":
        """Return the hit in a text that begins `by` bytes earlier."""
        return replace(self, start=self.start + by, end=self.end + by) if by else self


_Piece = tuple[int, int, frozenset[str], frozenset[str]]
"""Start, end, and the gates seen in between: in their own case, and in any case."""


def _pieces(data: bytes) -> Iterator[_Piece]:
    size = _PIECE_BYTES if len(data) > _ONE_PIECE_BYTES else len(data) or 1
    for start in range(0, len(data) or 1, size):
        piece = data[start : start + size + _LONGEST_GATE]
        exact, any_case = EXACT_GATES.present(piece), ANY_CASE_GATES.present(piece)
        if not piece.isascii():
            exact, any_case = exact | {NOT_ASCII}, any_case | {NOT_ASCII}
        yield start, min(len(data), start + size), exact, any_case


def _line_start(data: bytes, at: int) -> int:
    """Return the start of a line at least a margin before `at`."""
    before = max(0, at - _MARGIN_BEFORE)
    return data.rfind(b"\n", max(0, before - _LONGEST_LINE), before) + 1 or max(
        0, before - _LONGEST_LINE
    )


def _line_end(data: bytes, at: int) -> int:
    """Return the end of a line at least a margin behind `at`."""
    behind = min(len(data), at + _MARGIN_BEHIND)
    newline = data.find(b"\n", behind, behind + _LONGEST_LINE)
    return newline + 1 if newline >= 0 else min(len(data), behind + _LONGEST_LINE)


@dataclass(slots=True)
class Sheet:
    """One reading of a text, under scan. Offsets are bytes of `data`."""

    data: bytes
    budget: Budget
    hits: list[Hit] = field(default_factory=list)
    _pieces: list[_Piece] = field(default_factory=list, repr=False)

    def matches(self, pattern: Pattern) -> Iterator[Match]:
        """Return the matches of `pattern`, from where one of its gates was seen."""
        if not pattern.gates:
            return self._timed(pattern, ((0, len(self.data)),))
        if not self._pieces:
            self._pieces = list(_pieces(self.data))
        if len(self._pieces) > 1:
            return self._timed(pattern, self._regions(pattern))
        _, end, exact, any_case = self._pieces[0]
        if pattern.gates.isdisjoint(any_case if pattern.ignore_case else exact):
            return iter(())
        return self._timed(pattern, ((0, end),))

    def _timed(self, pattern: Pattern, regions: Iterable[tuple[int, int]]) -> Iterator[Match]:
        """Yield the matches in the regions, asking for the time now and then."""
        for start, end in regions:
            for number, match in enumerate(pattern.finditer(self.data, start, end), 1):
                if number % _MATCHES_BETWEEN_CHECKS == 0:
                    self.budget.check()
                yield match

    def _regions(self, pattern: Pattern) -> Iterator[tuple[int, int]]:
        """Yield the stretches, whole lines, around the pieces in which a gate of it was seen."""
        first = last = -1
        for start, end, exact, any_case in self._pieces:
            if pattern.gates.isdisjoint(any_case if pattern.ignore_case else exact):
                continue
            begin = _line_start(self.data, start)
            if begin > last:
                if last > 0:
                    yield first, last
                first = begin
            last = _line_end(self.data, end)
        if last > 0:
            yield first, last

    def add(self, start: int, end: int, *, kind: str, rule: str, rank: int = 50) -> None:
        """Note a hit, cut at a placeholder: nothing inside one is ever found."""
        if end <= start:
            return
        if self.data.find(FILLER, start, end) >= 0:
            pieces = self.data[start:end].split(FILLER)
            at = start
            for piece in pieces:
                if len(piece) > 2:
                    self.add(at, at + len(piece), kind=kind, rule=rule, rank=rank)
                at += len(piece) + 1
            return
        self.budget.spend_finding()
        self.hits.append(Hit(start, end, kind, rule, rank))
