"""Derived readings of a text, only where something changes, each with the way back to the text.

The scan asks for them after the text itself.
"""

from bisect import bisect_right
from typing import Final

from perlica.protection.budget import Budget
from perlica.protection.escapes import (
    CHANGING,
    CHANGING_PRINTABLE,
    IS_QUOTED_PRINTABLE,
    Change,
    changes,
)
from perlica.protection.view import View, ViewBuilder
from perlica.protection.wrapped_lines import back_to_space, join_lines

_AROUND: Final = 192
_FURTHER: Final = 1024
_MATCHES_BETWEEN_CHECKS: Final = 64


def unescape(data: bytes, budget: Budget) -> View | None:
    """Return windows of `data` with escapes undone and broken strings joined, None when there are
    none.
    """
    printable = b"=" in data and IS_QUOTED_PRINTABLE.search(data)
    builder = ViewBuilder()
    group: list[Change] = []
    pattern = CHANGING_PRINTABLE if printable else CHANGING
    for number, match in enumerate(pattern.finditer(data), 1):
        if number % _MATCHES_BETWEEN_CHECKS == 0:
            budget.spend(_MATCHES_BETWEEN_CHECKS)
        for change in changes(data, match):
            if group and change[0] - group[-1][1] > 2 * _AROUND:
                _add_window(builder, data, group)
                group = []
            group.append(change)
    if not group:
        return None
    _add_window(builder, data, group)
    return builder.build()


def rejoin(data: bytes, budget: Budget) -> tuple[View, tuple[int, ...]] | None:
    """Return windows of wrapped lines made whole and their seams, None when nothing looks
    wrapped.
    """
    return join_lines(data, budget) if b"\n" in data else None


def crosses(seams: tuple[int, ...], start: int, end: int) -> bool:
    """Return whether a hit lies across a seam: only such a hit is news."""
    at = bisect_right(seams, start)
    return at < len(seams) and seams[at] < end


def _add_window(builder: ViewBuilder, data: bytes, group: list[Change]) -> None:
    start = back_to_space(data, max(0, group[0][0] - _AROUND))
    end = _on_to_space(data, min(len(data), group[-1][1] + _AROUND))
    at = start
    builder.separate(start)
    for begin, stop, new in group:
        builder.copy(data, at, begin)
        builder.replace(new, begin, stop)
        at = stop
    builder.copy(data, at, end)


def _on_to_space(data: bytes, at: int) -> int:
    ceiling = min(len(data), at + _FURTHER)
    ends = (data.find(b" ", at, ceiling), data.find(b"\n", at, ceiling))
    return min((found for found in ends if found >= 0), default=ceiling)
