"""How foreign text becomes part of a page: nothing in it hides, reorders, or turns into markup.

The templates call `to_html` for every value; there is no other way into a page. Short texts that
name something (ids, names, actors) go through `perlica.domain.texts.escape_visible` before, which
lets through still less.
"""

import re
import unicodedata
from html import escape

# All that may need a look: neither printable ASCII, nor line end or tab, nor Han or kana.
_SUSPICIOUS = re.compile(r"[^\x20-\x7e\n\t\u3000-\u3029\u3041-\u30ff\u4e00-\u9fff\uff01-\uff5e]")
_HIDING = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp", "Zs"})
# Invisible although Unicode calls them letters, marks or symbols: fillers, joiners, variation
# selectors (which can carry hidden text), the blank of Braille.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)
_EMOJI_STYLE = "\ufe0f"
_SYMBOLS = frozenset({"So", "Sm", "Po"})
MAX_MARKS = 2
"""Combining marks that one letter may carry; piles of them cover the lines around."""
_PILES = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0e31\u0e34-\u0e3a"
    f"\u0e47-\u0e4e\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{{{MAX_MARKS + 1},}}"
)


def show_hidden(text: str) -> str:
    r"""The text with everything invisible or reordering written as `\u{…}`; line ends stay."""
    shown = _SUSPICIOUS.sub(_show, text.replace("\r\n", "\n"))
    return _PILES.sub(_show_pile, shown)


def to_html(value: object) -> str:
    """A value as text inside HTML or inside a quoted attribute."""
    return escape(show_hidden(str(value)), quote=True)


def _show(match: re.Match[str]) -> str:
    character = match[0]
    if character == _EMOJI_STYLE and _follows_symbol(match):
        return character
    hides = unicodedata.category(character) in _HIDING or _BLANK.match(character)
    return _written(character) if hides else character


def _follows_symbol(match: re.Match[str]) -> bool:
    start = match.start()
    return start > 0 and unicodedata.category(match.string[start - 1]) in _SYMBOLS


def _show_pile(match: re.Match[str]) -> str:
    return match[0][:MAX_MARKS] + "".join(map(_written, match[0][MAX_MARKS:]))


def _written(character: str) -> str:
    return f"\\u{{{ord(character):x}}}"
