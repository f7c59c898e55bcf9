"""Folding: invisible characters, colour codes and letters that merely look different.

The first reading of every text that is not plain ASCII; all rules look at folded text.
"""

import re
import unicodedata
from functools import cache
from typing import Final

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
_IS_INVISIBLE: Final = re.compile(f"[{_INVISIBLE}]")
_QUOTES: Final = dict(zip("“”„‟‘’‚‛", "\"\"\"\"''''", strict=True))
_FOLDABLE: Final = re.compile(
    f"{_COLOUR}|[{_INVISIBLE}]+|[{_SPACES}{_COMPATIBLE}{''.join(_TWINS)}{''.join(_QUOTES)}]"
)


def fold(text: str) -> View | None:
    """Return `text` in UTF-8 with all that folded, or None when nothing folds (the common case)."""
    if text.isascii() and "\x1b" not in text:
        return None
    if _FOLDABLE.search(text) is None:
        return None
    return _build(text)


def fold_bytes(data: bytes) -> View | None:
    """Return derived bytes folded; bytes that are no UTF-8 stay as they are."""
    text = data.decode(errors="surrogateescape")
    return None if _FOLDABLE.search(text) is None else _build(text)


def _build(text: str) -> View:
    builder, data = ViewBuilder(), _bytes(text)
    at_text = at_bytes = 0
    for match in _FOLDABLE.finditer(text):
        start = at_bytes + len(_bytes(text[at_text : match.start()]))
        end = start + len(_bytes(match.group()))
        new = _folded(text, match)
        if new is not None:
            builder.copy(data, at_bytes, start)
            builder.replace(new, start, end)
        else:
            builder.copy(data, at_bytes, end)
        at_text, at_bytes = match.end(), end
    builder.copy(data, at_bytes, len(data))
    return builder.build()


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _folded(text: str, match: re.Match[str]) -> bytes | None:
    """Return what stands for the match, empty when it vanishes, None when it stays."""
    found = match.group()
    first = found[0]
    if first == "\x1b" or _IS_INVISIBLE.match(first):
        return b""
    if first in _QUOTES:
        return _QUOTES[first].encode()
    if first in _TWINS:
        return _TWINS[first].encode() if _touches_ascii(text, match) else None
    if first in _WIDE_PUNCTUATION and not _follows_wide(text, match.start()):
        return None
    return _plain(first)


@cache
def _plain(char: str) -> bytes | None:
    """Return what a compatible character is in ASCII, None when it is nothing there."""
    plain = unicodedata.normalize("NFKC", char)
    return plain.encode() if plain.isascii() else None


def _touches_ascii(text: str, match: re.Match[str]) -> bool:
    around = text[max(0, match.start() - 3) : match.end() + 3]
    return any(char.isascii() and char.isalnum() for char in around)


def _follows_wide(text: str, at: int) -> bool:
    return at > 0 and "\uff01" <= text[at - 1] <= "\uff5e" and text[at - 1] not in "\uff1a，"
