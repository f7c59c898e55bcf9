"""What a rule is given: the bytes of one view, the budget, and a place to note hits."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from perlica.protection import runs
from perlica.protection.budget import Budget
from perlica.protection.engine import ANY_CASE_GATES, EXACT_GATES, Gates, Match, Pattern
from perlica.protection.placeholder import FILLER
from perlica.protection.runs import Run

NOT_ASCII: Final = "\u00ff"
"""A gate that every character beyond ASCII opens."""

_MATCHES_BETWEEN_CHECKS: Final = 64
_PIECE_BYTES: Final = 2048
_LONGEST_GATE: Final = 24
_GAP: Final = 2048
"""A call of the engine costs as much as that many bytes: nearer stretches are one."""
_LONGEST_LINE: Final = 16 * 1024


_Stretch = tuple[int, int]


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


class _Places:
    """Where the gate words of one kind of case stand in a text, piece by piece."""

    __slots__ = ("pieces", "seen")

    def __init__(self, data: bytes, gates: Gates) -> None:
        """Ask which words are in which piece."""
        self.pieces: dict[str, list[int]] = {}
        for start in range(0, len(data) or 1, _PIECE_BYTES):
            piece = data[start : start + _PIECE_BYTES + _LONGEST_GATE]
            for word in gates.present(piece):
                self.pieces.setdefault(word, []).append(start)
            if not piece.isascii():
                self.pieces.setdefault(NOT_ASCII, []).append(start)
        self.seen = frozenset(self.pieces)

    def of(self, words: Iterable[str]) -> list[int]:
        """Return where the pieces begin in which one of the words stands, from left to right."""
        return sorted({start for word in words for start in self.pieces[word]})


def _line_start(data: bytes, at: int, margin: int) -> int:
    """Return the line break before the line that stands `margin` before `at`."""
    before = max(0, at - margin)
    floor = max(0, before - _LONGEST_LINE)
    return max(floor, data.rfind(b"\n", floor, before))


def _line_end(data: bytes, at: int, margin: int) -> int:
    """Return the end of the line that stands `margin` behind `at`."""
    behind = min(len(data), at + margin)
    newline = data.find(b"\n", behind, behind + _LONGEST_LINE)
    return newline + 1 if newline >= 0 else min(len(data), behind + _LONGEST_LINE)


class Gated:
    """Many patterns of one sort of case, asked all at once which of them are worth a try."""

    __slots__ = ("by_gate", "ignore_case")

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        """Sort the patterns by their gates; every one must have some."""
        self.ignore_case = patterns[0].ignore_case
        self.by_gate: dict[str, list[int]] = {}
        for number, pattern in enumerate(patterns):
            for gate in pattern.gates:
                self.by_gate.setdefault(gate, []).append(number)


@dataclass(slots=True)
class Sheet:
    """One reading of a text, under scan. Offsets are bytes of `data`."""

    data: bytes
    budget: Budget
    hits: list[Hit] = field(default_factory=list)
    _encoded: list[Run] | None = field(default=None, repr=False)
    _hex: list[Run] | None = field(default=None, repr=False)
    _exact: _Places | None = field(default=None, repr=False)
    _any_case: _Places | None = field(default=None, repr=False)

    def matches(self, pattern: Pattern) -> Iterable[Match]:
        """Return the matches of `pattern`, from around where one of its gates stands."""
        if not pattern.gates:
            return self._timed(pattern, ((0, len(self.data)),))
        places = self._any_case if pattern.ignore_case else self._exact
        if places is None:
            places = self._places(ignore_case=pattern.ignore_case)
        if pattern.gates.isdisjoint(places.seen):
            return ()
        words = pattern.gates.intersection(places.seen)
        return self._timed(pattern, self._regions(pattern, places, words))

    def possible(self, patterns: Gated) -> Iterator[int]:
        """Yield which of many patterns have a gate in the text, in their order."""
        places = self._places(ignore_case=patterns.ignore_case)
        seen = places.seen.intersection(patterns.by_gate)
        return iter(sorted({number for gate in seen for number in patterns.by_gate[gate]}))

    def encoded_runs(self) -> list[Run]:
        """Return the stretches of 20 and more characters that tokens and base64 are made of."""
        if self._encoded is None:
            self._encoded = runs.encoded_runs(self.data)
        return self._encoded

    def hex_runs(self) -> list[Run]:
        """Return the stretches of 24 and more hexadecimal digits of one case."""
        if self._hex is None:
            self._hex = list(runs.hex_runs(self.data, self.encoded_runs()))
        return self._hex

    def occurrences(self, word: str) -> Iterator[int]:
        """Return where the gate `word`, which was seen, stands in its own case."""
        needle, at = word.encode(), -1
        for start in self._places(ignore_case=False).pieces[word]:
            end = start + _PIECE_BYTES + len(needle) - 1
            at = self.data.find(needle, max(start, at + 1), end)
            while at >= 0:
                yield at
                at = self.data.find(needle, at + 1, end)

    def seen(self) -> frozenset[str]:
        """Return the gates that stand anywhere in the text in their own case."""
        return self._places(ignore_case=False).seen

    def _places(self, *, ignore_case: bool) -> _Places:
        if ignore_case:
            self._any_case = self._any_case or _Places(self.data, ANY_CASE_GATES)
            return self._any_case
        self._exact = self._exact or _Places(self.data, EXACT_GATES)
        return self._exact

    def _timed(self, pattern: Pattern, regions: Iterable[_Stretch]) -> Iterator[Match]:
        """Yield the matches in the regions, asking for the time now and then."""
        number = 0
        for start, end in regions:
            for match in pattern.finditer(self.data, start, end):
                number += 1
                if number % _MATCHES_BETWEEN_CHECKS == 0:
                    self.budget.spend(_MATCHES_BETWEEN_CHECKS)
                yield match

    def _regions(
        self, pattern: Pattern, places: _Places, words: Iterable[str]
    ) -> Iterator[_Stretch]:
        """Yield the stretches, whole lines, within reach of the words."""
        if len(self.data) <= _PIECE_BYTES:
            yield 0, len(self.data)
            return
        before, behind = pattern.reach
        first = last = -_GAP - 1
        for start in places.of(words):
            end = start + _PIECE_BYTES
            begin = start if start < last + _GAP else _line_start(self.data, start, before)
            if begin >= last + _GAP:
                if last > 0:
                    yield first, last
                first = begin
            if end + behind > last:
                last = _line_end(self.data, end, behind)
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
