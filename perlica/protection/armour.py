"""Private keys in armour that are longer than a scan unit, or than whatever was read of them.

A rule sees one unit; here the whole text is walked once, line by line, so that no length of a key
brings its middle out. The scan of a document calls it.
"""

import re
from collections.abc import Iterator
from typing import Final

from perlica.protection.sheet import Hit

_MARK: Final = re.compile(
    rb"-{3,5} ?(BEGIN|END) (?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?"
    rb"|SSH2 [A-Z ]{0,20}PRIVATE KEY) ?-{3,5}"
)
_LINES: Final = re.compile(
    rb"(?:[A-Za-z0-9+/=]|\\[nr])*+"
    rb"(?:\r?\n[ \t>|#*\"']*+"
    rb"(?:(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash|Subject|MessageID): [^\n]*+"
    rb"|(?:[A-Za-z0-9+/=]|\\[nr])*+)"
    rb"[ \t\\,;+\"']*+(?=\r?\n|\Z))*+"
)
_BODY_LINE: Final = re.compile(
    rb"[ \t>|#*\"']*+(?:[A-Za-z0-9+/]{1,200}+={0,2}+|=[A-Za-z0-9+/]{4})[ \t\\,;+\"']*+\r?"
)
_LONG: Final = 24 * 1024
"""Shorter ones are found by their rule, which knows more forms."""
_EDGE: Final = re.compile(
    rb"(?:[ \t>|]*+[A-Za-z0-9+/=]{1,200}+[ \t\\]*+\r?\n)?+"
    rb"(?:[ \t>|]*+[A-Za-z0-9+/=]{40,200}+[ \t\\]*+\r?\n)*+"
    rb"(?:(?:[A-Za-z0-9+/=]|\\[nr])++(?=[^\w]|\Z))?+"
)
_PUBLIC_END: Final = re.compile(
    rb"[> \t]*-----END (?:[A-Z0-9 ]{0,30}CERTIFICATE(?: REQUEST)?|X509 CRL|PKCS7"
    rb"|[A-Z0-9 ]{0,30}PUBLIC KEY(?: BLOCK)?|PGP (?:SIGNATURE|MESSAGE))-----"
)
_ANY_END: Final = re.compile(rb"[> \t]*-{3,5} ?END [^\n]{0,60}")
_HEXADECIMAL: Final = re.compile(rb"[0-9a-fA-F\s]*+")


def find_long_keys(data: bytes) -> Iterator[Hit]:
    """Yield armoured private keys too long for a unit, whole or without one of their ends."""
    if len(data) < _LONG or b"PRIVATE KEY" not in data:
        return
    marks = list(_MARK.finditer(data))
    floor = 0
    for index, mark in enumerate(marks):
        if mark.group(1) == b"BEGIN":
            stop = _LINES.match(data, mark.end(), _next_start(marks, index, data))
            end = stop.end() if stop else mark.end()
            if end - mark.start() >= _LONG:
                yield _hit(mark.start(), end)
        else:
            start = _first_body_line(data, mark.start(), floor)
            if mark.start() - start >= _LONG:
                yield _hit(start, mark.end())
        floor = mark.end()


def begins_inside_armour(data: bytes, shown_from: int) -> bool:
    """True when `data` may begin in the middle of a private key that reaches behind `shown_from`.

    Whoever cut it can then look for the beginning further in front.
    """
    return any(True for _ in find_open_edge(data, shown_from))


def find_open_edge(data: bytes, shown_from: int) -> Iterator[Hit]:
    """Yield the body of armour that `data`, a cut text, begins in the middle of.

    What it is stands in front of the cut, so it counts as a private key: where it ends in
    somebody's public mark it does not, nor where nothing of it is shown.
    """
    edge = _EDGE.match(data)
    if edge is None or edge.end() <= shown_from or _HEXADECIMAL.fullmatch(edge.group()):
        return
    if _PUBLIC_END.match(data, edge.end()):
        return
    end = _ANY_END.match(data, edge.end())
    yield _hit(0, end.end() if end else edge.end())


def _next_start(marks: list[re.Match[bytes]], index: int, data: bytes) -> int:
    return marks[index + 1].start() if index + 1 < len(marks) else len(data)


def _first_body_line(data: bytes, end: int, floor: int) -> int:
    """Return where the lines of a body that ends at `end` begin."""
    start = data.rfind(b"\n", floor, end) + 1 or floor
    while start > floor:
        begin = data.rfind(b"\n", floor, start - 1) + 1 or floor
        if not _BODY_LINE.fullmatch(data, begin, start - 1):
            break
        start = begin
    return start


def _hit(start: int, end: int) -> Hit:
    return Hit(start=start, end=end, kind="private_key", rule="private_key.long", rank=90)
