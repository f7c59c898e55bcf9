"""Folding: invisible characters, colour codes and letters that merely look different.

The first reading of every text that is not plain ASCII; all rules look at folded text.
"""

import re
import unicodedata
from functools import cache
from typing import Final

from perlica.protection.budget import Budget
from perlica.protection.engine import unicode_linear
from perlica.protection.view import View, ViewBuilder

_INVISIBLE: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u2064\u2066-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e01ef"
)
_SPACES: Final = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_WIDE_PUNCTUATION: Final = "\uff01\uff08\uff09\uff0c\uff1b\uff1f"
_COMPATIBLE: Final = (
    "\uff01-\uff5e\U0001d400-\U0001d7ff\u2460-\u24ea\u2070-\u209c\u2100-\u2134\U0001fbf0-\U0001fbf9"
    "\ufe50-\ufe6b\u1d2c-\u1d6a"
)
_TWINS: Final = dict(
    zip(
        "аеорсухіѕјһԁԛԝАВЕКМНОРСТУХІЅЈαοΑΒΕΖΗΙΚΜΝΟΡΤΥΧ‐‑‒–—−",
        "aeopcyxisjhdqwABEKMHOPCTYXISJaoABEZHIKMNOPTYX------",
        strict=True,
    )
)
_COLOUR: Final = "\x1b\\[[0-9;?]{0,16}[A-Za-z]"
_ESCAPE_BYTE: Final = 0x1B
_CARRIAGE_RETURN: Final = 0x0D
_IS_INVISIBLE: Final = re.compile(f"[{_INVISIBLE}]")
_QUOTES: Final = dict(zip("“”„‟‘’‚‛", "\"\"\"\"''''", strict=True))
_FOLDABLE: Final = unicode_linear(
    f"\r\n?|{_COLOUR}|[{_INVISIBLE}]+|[{_SPACES}{_COMPATIBLE}{''.join(_TWINS)}{''.join(_QUOTES)}]"
)
_MATCHES_BETWEEN_CHECKS: Final = 64
_WIDEST: Final = 4
"""Bytes of the widest character."""


def fold(data: bytes, budget: Budget) -> View | None:
    """Return UTF-8 `data` with all that folded, or None when nothing folds (the common case).

    Every line then ends with one line feed, whatever the system that wrote it.
    """
    if data.isascii() and b"\x1b" not in data and b"\r" not in data:
        return None
    builder, at = ViewBuilder(), 0
    for number, match in enumerate(_FOLDABLE.finditer(data), 1):
        if number % _MATCHES_BETWEEN_CHECKS == 0:
            budget.spend(_MATCHES_BETWEEN_CHECKS)
        start, end = match.span()
        new = _folded(data, start, end)
        if new is not None:
            builder.copy(data, at, start)
            builder.replace(new, start, end)
            at = end
    if not at:
        return None
    builder.copy(data, at, len(data))
    return builder.build()


def _folded(data: bytes, start: int, end: int) -> bytes | None:
    """Return what stands for the match, empty when it vanishes, None when it stays."""
    if data[start] == _ESCAPE_BYTE:
        return b""
    if data[start] == _CARRIAGE_RETURN:
        return b"\n"
    char = data[start : start + _WIDEST].decode(errors="ignore")[:1]
    if char in _TWINS:
        return _TWINS[char].encode() if _touches_ascii(data, start, end) else None
    if char in _WIDE_PUNCTUATION and not _follows_wide(data, start):
        return None
    return _plain(char)


@cache
def _plain(char: str) -> bytes | None:
    """Return what a compatible character is in ASCII, None when it is nothing there."""
    if _IS_INVISIBLE.match(char):
        return b""
    plain = _QUOTES.get(char) or unicodedata.normalize("NFKC", char)
    return plain.encode() if plain.isascii() else None


def _touches_ascii(data: bytes, start: int, end: int) -> bool:
    before = data[max(0, start - 3 * _WIDEST) : start].decode(errors="ignore")[-3:]
    after = data[end : end + 3 * _WIDEST].decode(errors="ignore")[:3]
    return any(char.isascii() and char.isalnum() for char in before + after)


def _follows_wide(data: bytes, at: int) -> bool:
    before = data[max(0, at - 3) : at].decode(errors="ignore")
    return len(before) == 1 and "\uff01" <= before <= "\uff5e" and before not in "\uff1a，"
