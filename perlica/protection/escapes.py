"""Escapes undone and broken strings joined: what each match of `CHANGING` stands for.

Asked by `readings`, which builds views of it.
"""

import html
from typing import Final

from perlica.protection.engine import Match, linear

_JOIN: Final = (
    r"\\\r?\n[ \t]*|`\r?\n[ \t]*|\^\r?\n[ \t]*|\\n[ \t]*\\?\r?\n"
    r"|\\?[\"'][ \t]*(?:\+|\.|&|\|\||\.\.|~|%|<>)?[ \t]*(?:\\?\r?\n[ \t]*(?:[+.&|>#]{1,2}[ \t]*)"
    r"?)?[fbru]?\\?[\"']"
)
_ESCAPE: Final = (
    r"%[0-9A-Fa-f]{2}|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]"
    r"{4}|\\u\{[0-9a-fA-F]{1,6}\}"
    r"|\\x[0-9a-fA-F]{2}|\\{2,300}(?:u[0-9a-fA-F]{4}|[nrt\"'/])|\\[nrt\"'/\\&=:@]|\\0?[0-3][0-7]{2}|&#[0-9]{2,7};|&#[xX][0-9a-fA-F]{2,"
    r"6};|&[a-zA-Z]{2,8};"
)
_PRINTABLE: Final = r"=\r?\n(?:> ?)?|=[0-9A-F]{2}"
CHANGING: Final = linear(f"({_JOIN})|({_ESCAPE})")
CHANGING_PRINTABLE: Final = linear(f"({_JOIN})|({_ESCAPE})|({_PRINTABLE})")
IS_QUOTED_PRINTABLE: Final = linear(r"=\r?\n|=[0-9A-F]{2}=[0-9A-F]{2}|=3D")
_ESCAPE_ALONE: Final = linear(_ESCAPE)
_FULL_LINE: Final = 50
_LONGEST_LINE: Final = 80
_TOKEN_BYTE: Final = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-.~!@#$%^&*"
)
_SHELL_ESCAPES: Final = {b"n": b"\n", b"r": b"\n", b"t": b"\t"}

Change = tuple[int, int, bytes]
"""Start, end, and the bytes that stand for what is between."""


def changes(data: bytes, match: Match) -> list[Change]:
    """Return what the match of one of the patterns changes; nothing when it only looked like an
    escape.
    """
    start, end = match.span()
    if match.start(1) >= 0:
        if _is_inside_token(data, start, end):
            return [(start, end, b"")]
        if data.find(b"\\", start, end) < 0:
            return []
        inner = _ESCAPE_ALONE.finditer(data, start, end)
        return [change for found in inner for change in _as_change(found, unescaped(found))]
    new = unescaped(match) if match.start(2) >= 0 else _unquoted(data, match)
    return _as_change(match, new)


def _as_change(match: Match, new: bytes | None) -> list[Change]:
    return [] if new is None else [(match.start(), match.end(), new)]


def _is_inside_token(data: bytes, start: int, end: int) -> bool:
    return (
        start > 0
        and end < len(data)
        and data[start - 1] in _TOKEN_BYTE
        and data[end] in _TOKEN_BYTE
    )


def unescaped(match: Match) -> bytes | None:
    """Return what an escape stands for, None when it is none."""
    found = _outermost(match.group())
    if found[:1] == b"%":
        return bytes.fromhex(found.replace(b"%", b"").decode())
    if found[:1] == b"&":
        text = html.unescape(found.decode())
        return text.encode(errors="replace") if text != found.decode() else None
    if found[1:2] == b"u":
        return _from_code_units(found)
    if found[1:2] == b"x":
        return bytes.fromhex(found.replace(b"\\x", b"").decode())
    if found[1:2].isdigit():
        return bytes([int(found[1:], 8)])
    return _SHELL_ESCAPES.get(found[1:2], found[1:2])


def _outermost(found: bytes) -> bytes:
    r"""Return a quote in JSON in JSON in JSON as one escape: every level doubles the backslashes,
    and a reading for each level would be as many readings.
    """
    mark = found.lstrip(b"\\")
    return b"\\" + mark if mark and found[:2] == b"\\\\" else found


def _from_code_units(found: bytes) -> bytes:
    if found[2:3] == b"{":
        code = int(found[3:-1], 16)
        return chr(code).encode(errors="replace") if code < 0x110000 else b"?"
    units = bytes.fromhex(found.replace(b"\\u", b"").decode())
    return units.decode("utf-16-be", errors="replace").encode(errors="replace")


def _line_before(data: bytes, at: int) -> int:
    """Return where the line before `at` begins; of a line longer than any that mail breaks, -1."""
    if at <= _LONGEST_LINE:
        return data.rfind(b"\n", 0, at)
    newline = data.rfind(b"\n", at - _LONGEST_LINE, at)
    return newline if newline >= 0 else -_LONGEST_LINE


def _unquoted(data: bytes, match: Match) -> bytes | None:
    """A soft break ends a full line; only what needs it is escaped, never a letter or digit."""
    found = match.group()
    if b"\n" in found:
        length = match.start() - _line_before(data, match.start())
        return b"" if _FULL_LINE < length <= _LONGEST_LINE else None
    byte = int(found[1:], 16)
    return bytes([byte]) if byte >= 0x80 or byte in b"=\r\n\t ?_" else None
