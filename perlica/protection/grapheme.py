"""Where a text may be cut without tearing what a reader sees as one character.

Cuts ask here. The test is coarser than Unicode's UAX 29: it never allows a cut that UAX 29
forbids, and
forbids a few that it allows.
"""

import unicodedata
from typing import Final

_JOINER: Final = "\u200d"
_EXTENDING: Final = frozenset({"Mn", "Me", "Mc", "Cf"})
_SKIN_FIRST, _SKIN_LAST = "\U0001f3fb", "\U0001f3ff"
_FLAG_FIRST, _FLAG_LAST = "\U0001f1e6", "\U0001f1ff"
_HANGUL: Final = (("\u1100", "\u11ff"), ("\ua960", "\ua97f"), ("\uac00", "\ud7ff"))
_LEADING_VOWELS: Final = "\u0e40\u0e41\u0e42\u0e43\u0e44\u0ec0\u0ec1\u0ec2\u0ec3\u0ec4"
_VIRAMA_CLASS: Final = 9


def may_cut(text: str, at: int) -> bool:
    """Return whether `text[:at]` and `text[at:]` share no character as a reader sees it."""
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if before < "\u0300" and after < "\u0300" and after != "\u00ad":
        return not (before == "\r" and after == "\n")
    if before == _JOINER or unicodedata.category(after) in _EXTENDING:
        return False
    if _SKIN_FIRST <= after <= _SKIN_LAST or unicodedata.combining(before) == _VIRAMA_CLASS:
        return False
    if before in _LEADING_VOWELS or unicodedata.category(before) == "Cf":
        return False
    return not (_are_both(before, after, _FLAG_FIRST, _FLAG_LAST) or _are_hangul(before, after))


def _are_both(before: str, after: str, first: str, last: str) -> bool:
    return first <= before <= last and first <= after <= last


def _are_hangul(before: str, after: str) -> bool:
    """Only decomposed Hangul joins: a precomposed syllable takes at most a trailing jamo after
    it.
    """
    if "\uac00" <= after <= "\ud7a3":
        return "\u1100" <= before <= "\u115f" or "\ua960" <= before <= "\ua97f"
    return any(low <= before <= high for low, high in _HANGUL) and any(
        low <= after <= high for low, high in _HANGUL
    )
