"""A model's text made harmless for the group: plain, visible, and unable to pass for Perlica's own
words.

Used by `perlica.tasks.final` for every text of a model that members read. What counts as a
command or a header stands in `perlica.domain.texts` too; this goes further, because here the whole
text is foreign.
"""

import re
import unicodedata
from typing import Final

from perlica.domain.texts import sanitise_lines
from perlica.tasks.code_blocks import Piece, split_code

_LINE_ENDS: Final = re.compile(r"\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_HIDING: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
_VARIATIONS: Final = range(0xE0100, 0xE01F0)
_JOINER: Final = "\u200d"
_EMOJI_STYLE: Final = "\ufe0f"
_BLANK_LETTERS: Final = frozenset("\u115f\u1160\u3164\uffa0\u2800")
_DOTS: Final = ".．。｡․﹒⋅"
_FULL_WIDTH: Final = ord("ａ") - ord("a")
_DECIDING: Final = "|".join(
    "".join(f"[{letter}{chr(ord(letter) + _FULL_WIDTH)}]" for letter in word)
    for word in ("approve", "deny", "recovery")
)
_COMMAND: Final = re.compile(rf"[{_DOTS}](?=\s?(?:{_DECIDING}))", re.IGNORECASE)
_BRACKETS: Final = str.maketrans("【】〖〗︻︼︗︘⁅⁆", "[][][][][]")
_MARKS: Final = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u20d0-\u20ff"
_MARKS_IN_A_ROW: Final = re.compile(f"([{_MARKS}]{{3}})[{_MARKS}]+")
_BLANKS: Final = r"[ \t\u00a0\u2000-\u200a\u202f\u205f\u3000]"
_MANY_SPACES: Final = re.compile(rf"{_BLANKS}{{81,}}")
_MANY_SPACES_IN_CODE: Final = re.compile(rf"{_BLANKS}{{121,}}")
_MANY_LINES: Final = re.compile(r"(?:[ \t\u3000]*\n){3,}")
_MANY_LINES_IN_CODE: Final = re.compile(r"(?:[ \t\u3000]*\n){9,}")
_BLANK_START: Final = re.compile(r"\A(?:\s*\n)+")

_HEADING: Final = re.compile(r"^\s{0,3}#{1,6}\s+(.*)$")
_HEADING_END: Final = re.compile(r"\s#+$")
_RULE: Final = re.compile(r"^\s{0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$")
_TABLE_RULE: Final = re.compile(r"^\s*+\|?\s*+:?-++:?\s*+(?:\|\s*+:?-++:?\s*+)+\|?\s*+$")
_CODE_SPAN: Final = re.compile(r"(`{1,8})(?!`)(.{1,500}?)(?<!`)\1(?!`)")
_IMAGE_OR_LINK: Final = re.compile(
    r"!?\[([^\[\]\n]{0,500})\]\((?:<([^<>\n]{1,2000})>|([^()\s]{1,2000}))\)"
)
_STRONG: Final = re.compile(
    r"(?<![\w*/])(\*\*\*|\*\*)(?=[^\s*/])(.{1,500}?)(?<=[^\s*])\1(?![\w*/])", re.ASCII
)
_STRUCK: Final = re.compile(r"~~(?=\S)([^~\n]{1,500}?)(?<=\S)~~")


def sanitise(text: str) -> str:
    r"""The text as members may read it.

    Markdown becomes plain text; what hides or reorders is written as an escape such as `\u{202e}`;
    endless padding is shortened; `.approve` and its like lose their dot's effect wherever they
    stand, every other line that begins like a command or a header gets a mark in front; `【】`,
    which frame Perlica's own headers, become `[]`. Placeholders of credentials stay as they are.
    Code keeps its signs, its indentation and its columns.
    """
    pieces = split_code(_LINE_ENDS.sub("\n", text))
    return _finish("\n".join(_shorten(_visible(_plain(piece)), piece) for piece in pieces))


def sanitise_literally(text: str) -> str:
    """The same for a text that is no Markdown, such as a command line: no sign of it is taken."""
    piece = Piece(text=_LINE_ENDS.sub("\n", text), is_code=False)
    return _finish(_shorten(_visible(piece.text), piece))


def _finish(visible: str) -> str:
    harmless = sanitise_lines(_COMMAND.sub("[.]", visible.translate(_BRACKETS)))
    return _BLANK_START.sub("", harmless).rstrip()


def _visible(plain: str) -> str:
    return "".join(map(_show, plain, ["", *plain], [*plain[1:], ""]))


def _plain(piece: Piece) -> str:
    """The piece without Markdown's marks; code is kept as it is."""
    if piece.is_code:
        return piece.text
    lines = piece.text.split("\n")
    return "\n".join(
        _strip_line(line) for line in lines if not (_RULE.match(line) or _TABLE_RULE.match(line))
    )


def _strip_line(line: str) -> str:
    heading = _HEADING.match(line)
    kept, end = [], 0
    source = _HEADING_END.sub("", heading.group(1).rstrip()) if heading else line
    for span in _CODE_SPAN.finditer(source):
        kept += [_strip_marks(source[end : span.start()]), _bare_code(span.group(2))]
        end = span.end()
    return "".join([*kept, _strip_marks(source[end:])])


def _bare_code(code: str) -> str:
    """Without the one blank on each side that lets code begin or end with a backtick."""
    if code.startswith(" ") and code.endswith(" ") and code.strip():
        return code[1:-1]
    return code


def _strip_marks(text: str) -> str:
    text = _IMAGE_OR_LINK.sub(_show_link, text)
    for pattern in (_STRONG, _STRUCK):
        text = pattern.sub(lambda match: match.group(match.re.groups), text)
    return text


def _show_link(match: re.Match[str]) -> str:
    label, target = match.group(1), match.group(2) or match.group(3)
    return target if label in {"", target} else f"{label} ({target})"


def _show(character: str, before: str, after: str) -> str:
    """The character, or its escape if it hides, reorders or imitates nothing."""
    if character in "\n\t":
        return character
    if character == _JOINER and _is_picture(before) and _is_picture(after):
        return character
    is_hidden = unicodedata.category(character) in _HIDING or character in _BLANK_LETTERS
    if is_hidden or ord(character) in _VARIATIONS:
        return f"\\u{{{ord(character):x}}}"
    return character


def _is_picture(character: str) -> bool:
    return character == _EMOJI_STYLE or unicodedata.category(character or "\n") in {"So", "Sk"}


def _shorten(text: str, piece: Piece) -> str:
    text = _MARKS_IN_A_ROW.sub(r"\1", text)
    if piece.is_code:
        text = _MANY_SPACES_IN_CODE.sub(" … ", text)
        return _MANY_LINES_IN_CODE.sub("\n\n", text)
    return _MANY_LINES.sub("\n\n", _MANY_SPACES.sub(" … ", text))
