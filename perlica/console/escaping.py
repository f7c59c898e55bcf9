"""How foreign text becomes part of a page: nothing in it hides, reorders, or turns into markup.

The templates call `to_html` for every value; there is no other way into a page. Short texts that
name something (ids, names, actors) go through `perlica.domain.texts.escape_visible` before, which
lets through still less.
"""

import re
import unicodedata
from html import escape

# All that may need a look: neither printable ASCII, nor line end or tab, nor Han or kana.
_SUSPICIOUS = re.compile(r"[^\x20-\x7e\n\t\u3001-\u3029\u3041-\u30ff\u4e00-\u9fff\uff01-\uff5e]")
_HIDING = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp", "Zs"})
_EMOJI_STYLE = "\ufe0f"
_WIDE_SPACE = "\u3000"
MAX_MARKS = 2
"""Combining marks that one letter may carry; piles of them cover the lines around."""


def show_hidden(text: str) -> str:
    r"""The text with everything invisible or reordering written as `\u{…}`; line ends stay."""
    shown = _SUSPICIOUS.sub(_show, text.replace("\r\n", "\n"))
    return _PILES.sub(_show_pile, shown)


def to_html(value: object) -> str:
    """A value as text inside HTML or inside a quoted attribute."""
    return escape(show_hidden(str(value)), quote=True)


def _show(match: re.Match[str]) -> str:
    character = match[0]
    if character == _WIDE_SPACE:
        return character
    if character == _EMOJI_STYLE and _follows_symbol(match):
        return character
    hides = unicodedata.category(character) in _HIDING or _is_selector(character)
    return f"\\u{{{ord(character):x}}}" if hides else character


def _follows_symbol(match: re.Match[str]) -> bool:
    start = match.start()
    return start > 0 and unicodedata.category(match.string[start - 1]) in {"So", "Sm", "Po"}


def _is_selector(character: str) -> bool:
    """Variation selectors change nothing that is seen and can carry hidden text."""
    code = ord(character)
    return 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF


_PILES = re.compile(
    rf"[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0e31\u0e34-\u0e3a"
    rf"\u0e47-\u0e4e\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{{{MAX_MARKS + 1},}}"
)


def _show_pile(match: re.Match[str]) -> str:
    kept, piled = match[0][:MAX_MARKS], match[0][MAX_MARKS:]
    return kept + "".join(f"\\u{{{ord(character):x}}}" for character in piled)
