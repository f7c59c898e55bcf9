"""Cutting and joining of protected text, after the scan and before any door.

No cut falls inside a placeholder or inside what a reader sees as one character.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, Literal

from perlica.protection import placeholder
from perlica.protection.grapheme import may_cut
from perlica.protection.seal import Finding, Protected, seal, withheld, worst

SMALLEST_PART: Final = 64
"""Fewest code points a part may be asked to hold: longer than any placeholder."""

_PARAGRAPH: Final = re.compile(r"\n[ \t]*\n")
_LINE: Final = re.compile(r"\n")
_SENTENCE: Final = re.compile(r"[。！？；…]+[”」』）]?|[.!?;]+(?=\s)|[，、,](?=\D)")
_SPACE: Final = re.compile(r"[ \t\u3000]+")


def truncate(
    protected: Protected, max_code_points: int, *, keep: Literal["head", "both"] = "head"
) -> Protected:
    """Return at most `max_code_points` of the text; a shortened text says how much is missing.

    `keep="both"` keeps the beginning and the end. Status and finding count stay those of the
    whole text.
    """
    text = protected.content
    if len(text) <= max_code_points:
        return protected
    notice = f"\n…（已截断，略去 {len(text)} 字）\n"
    room = max_code_points - len(notice)
    if room <= 0:
        return _with_content(protected, "…"[: max(0, max_code_points)])
    tail_room = room // 3 if keep == "both" else 0
    head_end = _safe_cut(text, room - tail_room)
    tail_start = _safe_cut_after(text, len(text) - tail_room)
    notice = f"\n…（已截断，略去 {tail_start - head_end} 字）\n"
    return _with_content(protected, text[:head_end] + notice + text[tail_start:])


def head_of(text: str, max_code_points: int) -> str:
    """Return the beginning of a text that was protected; nothing is torn, nothing is said about it.

    For lines and names, where a notice has no room.
    """
    return text if len(text) <= max_code_points else text[: _safe_cut(text, max_code_points)]


def split(protected: Protected, max_code_points: int) -> tuple[Protected, ...]:
    """Return the text in parts of at most `max_code_points`: at a paragraph, else a line,
    sentence or character.

    White space at a cut is dropped. A value without text is its only part. Each part counts its own
    placeholders as findings.

    Raises:
        ValueError: `max_code_points` is below `SMALLEST_PART`.
    """
    if max_code_points < SMALLEST_PART:
        raise ValueError(f"a part holds at least {SMALLEST_PART} code points")
    if len(protected.content) <= max_code_points:
        return (protected,)
    parts = _parts(protected.content, max_code_points)
    return tuple(
        seal(
            part,
            (),
            count=len(placeholder.ANY.findall(part)),
            policy_version=protected.policy_version,
        )
        for part in parts
    )


def join_contents(
    parts: Iterable[Protected], separator: str
) -> tuple[str, tuple[Finding, ...], int] | Protected:
    """Return text, findings and count of all parts together, or the value without text that they
    become.

    One part whose scan did not end leaves nothing of the others: the status of the whole is the
    worst.
    """
    every = tuple(parts)
    status = worst([part.status for part in every])
    if any(not part.is_usable for part in every):
        return withheld(status)
    findings = tuple(finding for part in every for finding in part.findings)
    text = separator.join(part.content for part in every)
    return text, findings, sum(part.finding_count for part in every)


def _with_content(protected: Protected, content: str) -> Protected:
    return seal(
        content,
        protected.findings,
        count=protected.finding_count,
        policy_version=protected.policy_version,
    )


def _parts(text: str, most: int) -> Iterator[str]:
    start = 0
    while len(text) - start > most:
        end = _best_end(text, start, start + most)
        part = text[start:end].rstrip()
        if part:
            yield part
        start = end
        while start < len(text) and text[start] in "\n \t":
            start += 1
    rest = text[start:].rstrip()
    if rest:
        yield rest


def _best_end(text: str, start: int, limit: int) -> int:
    """Return the last good place to end a part: the coarsest that leaves it at least a quarter
    full.
    """
    least = start + (limit - start) // 4
    for boundary in (_PARAGRAPH, _LINE, _SENTENCE, _SPACE):
        ends = [match.end() for match in boundary.finditer(text, least, limit)]
        for end in reversed(ends):
            if _is_safe(text, end):
                return end
    return _safe_cut(text, limit, start)


def _is_safe(text: str, at: int) -> bool:
    return may_cut(text, at) and _placeholder_around(text, at) is None


def _placeholder_around(text: str, at: int) -> tuple[int, int] | None:
    """Return the placeholder that a cut at `at` would divide."""
    for match in placeholder.ANY.finditer(text, max(0, at - SMALLEST_PART), at + SMALLEST_PART):
        if match.start() < at < match.end():
            return match.span()
    return None


def _safe_cut(text: str, at: int, start: int = 0) -> int:
    """Return the last place at or before `at` where a cut tears nothing.

    A single character longer than the room (thousands of marks on one letter) is cut at a code
    point.
    """
    place = at
    while place > start and not _is_safe(text, place):
        around = _placeholder_around(text, place)
        place = around[0] if around else place - 1
    is_one_character = place == start and _placeholder_around(text, at) is None
    return at if is_one_character else place


def _safe_cut_after(text: str, at: int) -> int:
    """Return the first place at or after `at` where a cut tears nothing."""
    place = at
    while place < len(text) and not _is_safe(text, place):
        around = _placeholder_around(text, place)
        place = around[1] if around else place + 1
    return place
