"""Derived readings of a text: escapes undone, broken strings joined, only where something changes.

The scan asks for these after the text itself; each is a window around changes, with the way back.
"""

import html
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from perlica.protection.engine import Match, Pattern, linear
from perlica.protection.rules.tokens import completes
from perlica.protection.view import View, ViewBuilder
from perlica.protection.wording import is_dice, jumble, wordiness

_AROUND: Final = 320
_FURTHER: Final = 1024

_ESCAPE: Final = linear(
    r"%[0-9A-Fa-f]{2}|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\u\{[0-9a-fA-F]{1,6}\}|\\x[0-9a-fA-F]{2}|\\[nrt\"'/\\&=:@]"
    r"|\\0?[0-3][0-7]{2}|&#[0-9]{2,7};|&#[xX][0-9a-fA-F]{2,6};|&[a-zA-Z]{2,8};"
)
_SOFT_BREAK: Final = linear(r"=\r?\n(?:> ?)?|=[0-9A-F]{2}")
_IS_QUOTED_PRINTABLE: Final = linear(r"=\r?\n|=[0-9A-F]{2}=[0-9A-F]{2}|=3D")
_HARD_JOIN: Final = linear(
    r"\\\r?\n[ \t]*|`\r?\n[ \t]*|\^\r?\n[ \t]*"
    r"|\\?[\"'][ \t]*(?:\+|\.|&|\|\||\.\.|~|%|<>|,?[ \t]*\\)?[ \t]*(?:\\?\r?\n[ \t]*(?:[+.&|>#]{1,2}[ \t]*)?)?[fbru]?\\?[\"']"
    r"|\\n(?:[ \t]*)\\?\r?\n|\"[ \t]*\$\{?\w+\}?[ \t]*\""
)
_FULL_LINE: Final = 50
_LONGEST_LINE: Final = 80
_TOKEN_BYTE: Final = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-.~!@#$%^&*"
)
_SHELL_ESCAPES: Final = {b"n": b"\n", b"r": b"\n", b"t": b"\t"}
_SPLIT: Final = linear(r"([A-Za-z0-9+/=_\-.~!@#$%^&*:]{2,})([ \t]*\r?\n[> \t|]{0,12})([A-Za-z0-9+/=_\-.~!@#$%^&*]{2,}:?)")
_ASSIGNS: Final = re.compile(rb"[A-Za-z_][A-Za-z0-9_.\-]*(?::$|=[^=]|:[^:])")
_BETWEEN_WORDS: Final = re.compile(r"[-_.@/:,]")
_DATE_LIKE: Final = re.compile(rb"(?:\d{4}-\d\d|\d\d:\d\d|\d{1,3}(?:\.\d{1,3}){3}$|[0-9.\-:]+$)")


@dataclass(frozen=True, slots=True)
class Reading:
    """All windows of one derived reading. Of joined lines only hits across one of the `seams` count."""

    view: View
    seams: tuple[int, ...] = ()

    def counts(self, start: int, end: int) -> bool:
        """Return whether a hit there is one that only this reading shows."""
        if not self.seams:
            return True
        at = bisect_right(self.seams, start)
        return at < len(self.seams) and self.seams[at] < end


def derive(data: bytes) -> Iterator[Reading]:
    """Yield the derived readings of `data`."""
    yield from _windows(data, _ESCAPE, _unescaped)
    if b"=" in data and _IS_QUOTED_PRINTABLE.search(data):
        yield from _windows(data, _SOFT_BREAK, _unquoted_printable)
    yield from _windows(data, _HARD_JOIN, _joined)
    if b"\n" in data:
        yield from _soft_joins(data)


def _windows(
    data: bytes, pattern: Pattern, change: Callable[[bytes, Match], bytes | None]
) -> Iterator[Reading]:
    """Yield a view of windows around the places that `change` rewrites, if there are any."""
    builder = ViewBuilder()
    group: list[tuple[int, int, bytes]] = []
    for match in pattern.finditer(data):
        new = change(data, match)
        if new is None:
            continue
        if group and match.start() - group[-1][1] > 2 * _AROUND:
            _add_window(builder, data, group)
            group = []
        group.append((match.start(), match.end(), new))
    if group:
        _add_window(builder, data, group)
        yield Reading(builder.build())


def _add_window(builder: ViewBuilder, data: bytes, changes: list[tuple[int, int, bytes]]) -> None:
    first, last = changes[0][0], changes[-1][1]
    start = _back_to_space(data, max(0, first - _AROUND))
    end = _on_to_space(data, min(len(data), last + _AROUND))
    at = start
    builder.separate(start)
    for begin, stop, new in changes:
        builder.copy(data, at, begin)
        builder.replace(new, begin, stop)
        at = stop
    builder.copy(data, at, end)


def _back_to_space(data: bytes, at: int) -> int:
    """Return the start of the run that `at` is in: half a token must not look like a whole one."""
    floor = max(0, at - _FURTHER)
    return max(data.rfind(b" ", floor, at), data.rfind(b"\n", floor, at), floor - 1) + 1


def _on_to_space(data: bytes, at: int) -> int:
    ceiling = min(len(data), at + _FURTHER)
    ends = [found for found in (data.find(b" ", at, ceiling), data.find(b"\n", at, ceiling)) if found >= 0]
    return min(ends, default=ceiling)


def _unescaped(_data: bytes, match: Match) -> bytes | None:
    found = match.group() or b""
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


def _from_code_units(found: bytes) -> bytes:
    if found[2:3] == b"{":
        code = int(found[3:-1], 16)
        return chr(code).encode(errors="replace") if code < 0x110000 else b"?"  # noqa: PLR2004
    units = bytes.fromhex(found.replace(b"\\u", b"").decode())
    return units.decode("utf-16-be", errors="replace").encode(errors="replace")


def _unquoted_printable(data: bytes, match: Match) -> bytes | None:
    """A soft break ends a full line; only what needs it is escaped, letters and digits never are."""
    found = match.group() or b""
    if b"\n" in found:
        start = data.rfind(b"\n", max(0, match.start() - _LONGEST_LINE), match.start())
        return b"" if match.start() - start > _FULL_LINE else None
    byte = int(found[1:], 16)
    return bytes([byte]) if byte >= 0x80 or byte in b"=\r\n\t ?_" else None  # noqa: PLR2004


def _joined(data: bytes, match: Match) -> bytes | None:
    """Nothing stays of a join between two pieces of one token; other joins stay as they are."""
    start, end = match.span()
    if start == 0 or end >= len(data):
        return None
    if data[start - 1] not in _TOKEN_BYTE or data[end] not in _TOKEN_BYTE:
        return None
    return b""


def _soft_joins(data: bytes) -> Iterator[Reading]:
    """Yield lines joined where a token seems to go on behind a line break, whole chains at once."""
    builder, seams = ViewBuilder(), []
    chain: list[Match] = []
    at = 0
    while match := _SPLIT.search(data, at):
        at = match.start(3)
        if not _goes_on(match):
            continue
        if chain and match.start(1) != chain[-1].start(3):
            seams.extend(_add_chain(builder, data, chain))
            chain = []
        chain.append(match)
    if chain:
        seams.extend(_add_chain(builder, data, chain))
        yield Reading(builder.build(), tuple(seams))


def _goes_on(match: Match) -> bool:
    right = match.group(3) or b""
    if right.isalpha() and (right.islower() or right.istitle()) and len(right) < 12:  # noqa: PLR2004 - a word
        return wordiness(right.decode("latin-1")) < -1 and len(right) > 5 and _is_piece(match.group(1) or b"")  # noqa: PLR2004
    left = match.group(1) or b""
    if len(left) > 2000 or _DATE_LIKE.match(right) or _assigns(right) or completes(left):  # noqa: PLR2004
        return False
    if right.startswith(b"=") or b"==" in right.rstrip(b"="):
        return False
    return len(left) >= 4 and _is_piece(right) and _is_piece(left)  # noqa: PLR2004


def _assigns(run: bytes) -> bool:
    """True for the beginning of another pair, `LOG_LEVEL=info`."""
    match = _ASSIGNS.match(run)
    return bool(match) and not is_dice(re.split(rb"[=:]", run)[0].decode("latin-1"))


def _is_worded(text: str) -> bool:
    """True for words in kebab, snake or camel case."""
    return _BETWEEN_WORDS.sub("", text).isalpha() and not is_dice(text)


def _is_piece(run: bytes) -> bool:
    """True for what can be part of a token and hardly a word."""
    text = run.strip(b".:!").decode("latin-1")
    if len(text) >= 16 and is_dice(text):  # noqa: PLR2004
        return True
    if text.isalpha():
        return (wordiness(text) < -0.5 and len(text) >= 4) or jumble(text) > 0.34  # noqa: PLR2004
    return any(map(str.isalnum, text)) and not _is_worded(text)


def _add_chain(builder: ViewBuilder, data: bytes, chain: list[Match]) -> Iterator[int]:
    """Append the joined lines and yield where in the view they were joined."""
    first, last = chain[0], chain[-1]
    at = _back_to_space(data, max(0, first.start(1) - _AROUND))
    builder.separate(at)
    for match in chain:
        builder.copy(data, at, match.end(1))
        yield builder.length
        at = match.start(3)
    builder.copy(data, at, min(len(data), last.end(3) + 2))
