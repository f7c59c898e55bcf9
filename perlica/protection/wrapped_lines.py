"""Lines that were broken in the middle of a token, joined again.

A reading of its own: of what is found in it, only hits across a seam count.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from perlica.protection.budget import Budget
from perlica.protection.rules.tokens import begins, completes
from perlica.protection.view import View, ViewBuilder
from perlica.protection.wording import is_dice, jumble, wordiness

_AROUND: Final = 192
_LONGEST_LINE: Final = 2000
_LONGEST_WORD: Final = 12
_FURTHER: Final = 1024
_STEPS_OF_A_BREAK: Final = 4
# Read at line breaks only, each character in one way only: linear without RE2, and cheaper.
_BREAK: Final = re.compile(
    rb"\n[> \t|]{0,200}([a-z+/_\-.~!@#$%^&*]{0,11}[0-9A-Z][A-Za-z0-9+/=_\-.~!@#$%^&*]{0,2000}:?)"
)
_TOKEN_BYTES: Final = (
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-.~!@#$%^&*:"
)
_BLANKS: Final = b" \t\r"
_HAS_DIGIT: Final = frozenset("0123456789")
_SHORTEST_LEFT: Final = 4
_SHORTEST_RIGHT: Final = 2
_ASSIGNS: Final = re.compile(rb"[A-Za-z_][A-Za-z0-9_.\-]*(?::$|=[^=]|:[^:])")
_BETWEEN_WORDS: Final = re.compile(r"[-_.@/:,]")
_BORDER: Final = re.compile(r"(?<=.{8})[@/:]")
_NUMBERED_WORD: Final = re.compile(r"[A-Z]?[a-z]{2,12}[-_]?\d{1,2}$|\d{1,3}$")
_DATE_LIKE: Final = re.compile(rb"(?:\d{4}-\d\d|\d\d:\d\d|\d{1,3}(?:\.\d{1,3}){3}$|[0-9.\-:]+$)")


@dataclass(frozen=True, slots=True)
class Break:
    """A line break inside a token, perhaps: the runs on both sides, and where they stand."""

    left: tuple[int, int]
    right: tuple[int, int]


def join_lines(data: bytes, budget: Budget) -> tuple[View, tuple[int, ...]] | None:
    """Return lines joined where a token seems to go on behind a line break, and where the seams
    are.
    """
    builder = ViewBuilder()
    seams: list[int] = []
    chain: list[Break] = []
    for found in _breaks(data, budget):
        if chain and found.left[0] != chain[-1].right[0]:
            seams.extend(_add_chain(builder, data, chain))
            chain = []
        chain.append(found)
    if not chain:
        return None
    seams.extend(_add_chain(builder, data, chain))
    return builder.build(), tuple(seams)


def _breaks(data: bytes, budget: Budget) -> Iterator[Break]:
    for match in _BREAK.finditer(data):
        right = match.group(1)
        if len(right) < _SHORTEST_RIGHT or _DATE_LIKE.match(right):
            continue
        line = data[max(0, match.start() - _LONGEST_LINE) : match.start()]
        before = line.rstrip(_BLANKS)
        left = before[len(before.rstrip(_TOKEN_BYTES)) :]
        budget.spend(_STEPS_OF_A_BREAK)
        if _goes_on(left, right):
            end = match.start() - len(line) + len(before)
            yield Break((end - len(left), end), match.span(1))


def _goes_on(left: bytes, right: bytes) -> bool:
    if len(left) < _SHORTEST_LEFT or _is_word(left) or _is_word(right):
        return False
    if b"==" in right.rstrip(b"=") or _assigns(right) or completes(left):
        return False
    return _is_piece(right) and (_is_piece(left) or begins(left))


def _is_word(run: bytes) -> bool:
    """True for a plain word, the commonest thing at either side of a line break."""
    word = run.rstrip(b".:!,")
    if not word.isalpha() or len(word) > _LONGEST_WORD or not word[1:].islower():
        return not word
    return len(word) <= 5 or wordiness(word.decode("latin-1")) > -1


def _assigns(run: bytes) -> bool:
    """True for the beginning of another pair, `LOG_LEVEL=info`."""
    match = _ASSIGNS.match(run)
    return bool(match) and not is_dice(re.split(rb"[=:]", run)[0].decode("latin-1"))


def _is_worded(text: str) -> bool:
    """True for words in kebab, snake or camel case."""
    return _BETWEEN_WORDS.sub("", text).isalpha() and not is_dice(text)


def _is_piece(run: bytes) -> bool:
    """True for what can be part of a token and hardly a word."""
    text = _BORDER.split(run.strip(b".:!").decode("latin-1"))[0]
    if _NUMBERED_WORD.match(text):
        return False
    if not _HAS_DIGIT.isdisjoint(text):
        return True
    if len(text) >= 16 and is_dice(text):
        return True
    if text.isalpha():
        return (wordiness(text) < -0.5 and len(text) >= 4) or jumble(text) > 0.34
    return any(map(str.isalnum, text)) and not _is_worded(text)


def _add_chain(builder: ViewBuilder, data: bytes, chain: list[Break]) -> Iterator[int]:
    """Append the joined lines and yield where in the view they were joined."""
    at = back_to_space(data, max(0, chain[0].left[0] - _AROUND))
    builder.separate(at)
    for found in chain:
        builder.copy(data, at, found.left[1])
        yield builder.length
        at = found.right[0]
    builder.copy(data, at, min(len(data), chain[-1].right[1] + 2))


def back_to_space(data: bytes, at: int) -> int:
    """Return the start of the run that `at` is in: half a token must not look like a whole one."""
    floor = max(0, at - _FURTHER)
    return max(data.rfind(b" ", floor, at), data.rfind(b"\n", floor, at), floor - 1) + 1
