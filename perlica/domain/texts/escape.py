"""Foreign text made visible: what could hide, reorder, pad or imitate is written as an escape.

Used wherever a member reads something that Perlica did not word itself: approvals, names, answers
of the model. Incident 4 of the peers is a text that looked harmless on the screen.
"""

import re
import unicodedata

_PLAIN_RANGES = (
    (0x21, 0x7E),  # printable ASCII
    (0xC0, 0xFF),  # Latin letters with accents
    (0x3041, 0x3096),  # Hiragana
    (0x30A1, 0x30FA),  # Katakana
    (0x3400, 0x4DBF),  # Han, extension A
    (0x4E00, 0x9FFF),  # Han
    (0xAC00, 0xD7A3),  # Hangul syllables
    (0x20000, 0x3134F),  # Han, rarer extensions
)
_PLAIN_SIGNS = frozenset("、。《》「」『』【】！（），：；？“”‘’—…·ー々〇")
_SHORT_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_INVISIBLE = frozenset({"Cc", "Cf", "Mn", "Me"})
_SPACES = re.compile(r" {2,}|^ | $")
_LOOKS_LIKE_OURS = re.compile(r"^(?=[.．。｡․【])", re.MULTILINE)
_REORDERS = re.compile("[\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]")
_LINE_ENDS = re.compile(r"\r\n|[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]")


def _is_plain(character: str) -> bool:
    if character in _PLAIN_SIGNS:
        return True
    code = ord(character)
    inside = any(low <= code <= high for low, high in _PLAIN_RANGES)
    return inside and unicodedata.category(character) != "Cn"


def _escape_character(character: str) -> str:
    short = _SHORT_ESCAPES.get(character)
    if short is not None:
        return short
    if character == " " or _is_plain(character):
        return character
    return f"\\u{{{ord(character):x}}}"


def escape_visible(text: str) -> str:
    r"""The text on one line, every character of it visible, and different texts never the same.

    Kept as they are: printable ASCII, accented Latin letters, Han, kana, Hangul and Chinese
    punctuation. All else is written `\u{…}`, a backslash as two, and spaces at an end or in a row
    are counted, such as `⟨␠x5000⟩` (their signs are escaped when the text itself holds them).
    """
    pieces: list[str] = []
    end = 0
    for run in _SPACES.finditer(text):
        pieces.extend(map(_escape_character, text[end : run.start()]))
        pieces.append(f"⟨␠x{len(run.group())}⟩")
        end = run.end()
    pieces.extend(map(_escape_character, text[end:]))
    return "".join(pieces)


def clip_line(text: str, limit_code_points: int) -> str:
    """The beginning of the escaped text, with an ellipsis where something was left out."""
    visible = escape_visible(text[: limit_code_points + 1])
    if len(visible) <= limit_code_points:
        return visible
    return visible[: limit_code_points - 1] + "…"


def sanitise_lines(text: str) -> str:
    """A model's text in which no line can pass for a command or for one of Perlica's own headers.

    Lines that begin with a dot (also a full-width or an ideographic one) or with `【` get a mark in
    front, also behind invisible characters; characters that reorder a line are left out.
    """
    lines = _LINE_ENDS.split(_REORDERS.sub("", text))
    return _LOOKS_LIKE_OURS.sub("› ", "\n".join(map(_bare_imitation, lines)))


def _bare_imitation(line: str) -> str:
    """The line without what stands before its first visible sign, if that sign imitates ours."""
    for position, character in enumerate(line):
        if not (character.isspace() or unicodedata.category(character) in _INVISIBLE):
            rest = line[position:]
            return rest if _LOOKS_LIKE_OURS.match(rest) else line
    return ""
