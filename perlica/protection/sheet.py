"""What a rule is given: the bytes of one view, the budget, and a place to note hits."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from perlica.protection.budget import Budget
from perlica.protection.engine import Match, Pattern
from perlica.protection.placeholder import FILLER

_MATCHES_BETWEEN_CHECKS: Final = 64


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


@dataclass(slots=True)
class Sheet:
    """One reading of a text, under scan. Offsets are bytes of `data`."""

    data: bytes
    budget: Budget
    hits: list[Hit] = field(default_factory=list)

    def matches(self, pattern: Pattern) -> Iterator[Match]:
        """Yield the matches of `pattern`, asking for the time now and then."""
        for number, match in enumerate(pattern.finditer(self.data), 1):
            if number % _MATCHES_BETWEEN_CHECKS == 0:
                self.budget.check()
            yield match

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
