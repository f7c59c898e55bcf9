"""A model's text made harmless for the group: plain, visible, and unable to pass for Perlica's own
words.

Used by `perlica.session.final` for every text of a model that members read. What counts as a
command or a header stands in `perlica.domain.texts` too; this goes further, because here the whole
text is foreign.
"""

import re
import unicodedata
from typing import Final

from perlica.domain.texts import neutralise_lines

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
_MANY_SPACES: Final = re.compile(r"[ \t\u00a0\u2000-\u200a\u202f\u205f\u3000]{12,}")
_MANY_LINES: Final = re.compile(r"(?:[ \t\u3000]*\n){3,}")

_FENCE: Final = re.compile(r"^\s{0,3}(?:```+|~~~+)[\w+.-]*\s*$")
_HEADING: Final = re.compile(r"^\s{0,3}#{1,6}\s+(.*)$")
_HEADING_END: Final = re.compile(r"\s#+$")
_RULE: Final = re.compile(r"^\s{0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$")
_TABLE_RULE: Final = re.compile(r"^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)+\|?\s*$")
_CODE_SPAN: Final = re.compile(r"(`{1,8})(?!`)(.{1,500}?)(?<!`)\1(?!`)")
_IMAGE_OR_LINK: Final = re.compile(
    r"!?\[([^\[\]\n]{0,500})\]\((?:<([^<>\n]{1,2000})>|([^()\s]{1,2000}))\)"
)
_STRONG: Final = re.compile(
    r"(?<![\w*])(\*\*\*|\*\*)(?=[^\s*])(.{1,500}?)(?<=[^\s*])\1(?![\w*])", re.ASCII
)
_STRUCK: Final = re.compile(r"~~(?=\S)([^~\n]{1,500}?)(?<=\S)~~")


def neutralise(text: str) -> str:
    r"""The text as members may read it.

    Markdown becomes plain text; what hides or reorders is written as an escape such as `\u{202e}`;
    endless padding is shortened; `.approve` and its like lose their dot's effect wherever they
    stand, every other line that begins like a command or a header gets a mark in front; `【】`,
    which frame Perlica's own headers, become `[]`. Placeholders of credentials stay as they are.
    """
    plain = strip_markdown(_LINE_ENDS.sub("\n", text))
    visible = _shorten("".join(map(_show, plain, ["", *plain], [*plain[1:], ""])))
    return neutralise_lines(_COMMAND.sub("[.]", visible.translate(_BRACKETS))).strip()


def strip_markdown(text: str) -> str:
    """The text without Markdown's marks; code between fences or backticks is kept as it is."""
    lines: list[str] = []
    is_code = False
    for line in text.split("\n"):
        if _FENCE.match(line):
            is_code = not is_code
        elif is_code:
            lines.append(line)
        elif not (_RULE.match(line) or _TABLE_RULE.match(line)):
            lines.append(_strip_line(line))
    return "\n".join(lines)


def _strip_line(line: str) -> str:
    heading = _HEADING.match(line)
    kept, end = [], 0
    source = _HEADING_END.sub("", heading.group(1).rstrip()) if heading else line
    for span in _CODE_SPAN.finditer(source):
        kept += [_strip_marks(source[end : span.start()]), span.group(2)]
        end = span.end()
    return "".join([*kept, _strip_marks(source[end:])])


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


def _shorten(text: str) -> str:
    text = _MARKS_IN_A_ROW.sub(r"\1", text)
    text = _MANY_SPACES.sub(" … ", text)
    return _MANY_LINES.sub("\n\n", text)
