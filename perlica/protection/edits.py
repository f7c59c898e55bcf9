"""Which stretch of a text became which placeholder, through all rounds of the scan.

With it a cut that was asked for in the raw text is made in the redacted one (`pieces`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from perlica.protection.redaction import Span


@dataclass(frozen=True, slots=True)
class Edit:
    """The bytes `start` to `end` of the raw text stand as `new_start` to `new_end` of the other."""

    start: int
    end: int
    new_start: int
    new_end: int


def compose(
    edits: Sequence[Edit], spans: Sequence[Span], places: Sequence[tuple[int, int]]
) -> tuple[Edit, ...]:
    """Return the edits after one round more, which replaced `spans` and put them at `places`.

    An edit that a span covers is part of it: the span then begins and ends in the raw text where
    the outermost of them do.
    """
    made = [
        Edit(_origin(edits, span.start)[0], _origin(edits, span.end)[1], *place)
        for span, place in zip(spans, places, strict=True)
    ]
    kept, moved = list[Edit](), 0
    number = 0
    for edit in edits:
        while number < len(spans) and spans[number].end <= edit.new_start:
            moved = places[number][1] - spans[number].end
            number += 1
        if number < len(spans) and spans[number].start < edit.new_end:
            continue
        kept.append(Edit(edit.start, edit.end, edit.new_start + moved, edit.new_end + moved))
    return tuple(sorted((*kept, *made), key=lambda edit: edit.new_start))


def _origin(edits: Sequence[Edit], at: int) -> tuple[int, int]:
    """Return the raw place of `at`; of a place inside an edit both ends of the raw stretch."""
    moved = 0
    for edit in edits:
        if edit.new_start < at < edit.new_end:
            return edit.start, edit.end
        if edit.new_end > at:
            break
        moved = edit.end - edit.new_end
    return at + moved, at + moved


def cut_places(edits: Sequence[Edit], begin: int, end: int) -> tuple[int, int, int]:
    """Return where the raw stretch `begin` to `end` stands in the redacted text, and its raw end.

    An edit that it only touches a part of belongs to it whole, so its end can lie behind `end`.
    """
    first, _, _ = _place(edits, begin)
    _, last, stop = _place(edits, end)
    return first, max(first, last), stop


def _place(edits: Sequence[Edit], at: int) -> tuple[int, int, int]:
    moved = 0
    for edit in edits:
        if edit.start < at < edit.end:
            return edit.new_start, edit.new_end, edit.end
        if edit.end > at:
            break
        moved = edit.new_end - edit.end
    return at + moved, at + moved, at
