"""JSON documents: values judged by the path of names above them, and redaction that keeps the
document valid.

The document's scan uses it when the whole text is one JSON value; log lines with JSON in them are
plain text.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from perlica.protection.budget import Budget
from perlica.protection.judgement import Setting, is_secret
from perlica.protection.redaction import Span
from perlica.protection.sheet import Hit
from perlica.protection.vocabulary import Announces, KeyName, understand

_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_ESCAPE: Final = re.compile(rb"\\(?:u[0-9a-fA-F]{4}|.)", re.DOTALL)
_TELLS_NOTHING: Final = frozenset(
    "value val values data default text content current raw plain plaintext string stringvalue "
    "secretstring _text $ #text v".split()
)
_NAMING: Final = frozenset(
    "name key id field variable var env option property parameter label header k".split()
)
_VALUE: Final = frozenset("value val default content data v stringvalue".split())
_SETTING: Final = Setting(quoted=True, alone=True, firm=True)
_LONGEST_ESCAPE: Final = 6
_TOKENS_BETWEEN_CHECKS: Final = 1024


@dataclass(slots=True)
class _Level:
    """An object or list that is open: the name it stands under, and the scalars seen in it by
    name.
    """

    is_object: bool
    name: str
    pending: str = ""
    scalars: dict[str, tuple[int, int]] = field(default_factory=dict)


def is_json(text: str) -> bool:
    """Return whether the whole text is one JSON object or list."""
    if text.lstrip()[:1] not in {"{", "["}:
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def find_hits(data: bytes, budget: Budget) -> Iterator[Hit]:
    """Yield the values of a valid JSON document that the names above or beside them announce."""
    levels: list[_Level] = [_Level(is_object=False, name="")]
    for number, match in enumerate(_TOKEN.finditer(data)):
        if number % _TOKENS_BETWEEN_CHECKS == 0:
            budget.check()
        token, level = match.group(), levels[-1]
        if token in {b"{", b"["}:
            levels.append(_Level(is_object=token == b"{", name=_telling(level)))
        elif token in {b"}", b"]"}:
            yield from _judge_pairs(data, levels.pop())
            levels[-1].pending = ""
        elif token == b",":
            level.pending = ""
        elif token != b":":
            yield from _take_scalar(data, level, match)


def _telling(level: _Level) -> str:
    """Return the name that a new object or list stands under: its own, or the next one above that
    tells more.
    """
    name = level.pending
    return level.name if not name or name.lower() in _TELLS_NOTHING else name


def _take_scalar(data: bytes, level: _Level, match: re.Match[bytes]) -> Iterator[Hit]:
    if level.is_object and not level.pending:
        level.pending = _decoded(match.group())
        return
    start, end = match.span()
    if match.group().startswith(b'"'):
        start, end = start + 1, end - 1
    if level.is_object:
        level.scalars[level.pending.lower()] = (start, end)
    if not level.pending or level.pending.lower() in _TELLS_NOTHING:
        yield from _judge(data, start, end, understand(level.name))


def _judge_pairs(data: bytes, level: _Level) -> Iterator[Hit]:
    """`{"value": …, "name": "DB_PASSWORD"}` in any order."""
    named = [level.scalars[name] for name in _NAMING if name in level.scalars]
    valued = [level.scalars[name] for name in _VALUE if name in level.scalars]
    for start, end in named:
        name = understand(data[start:end].decode(errors="replace"))
        for value in valued:
            yield from _judge(data, *value, name)


def _judge(data: bytes, start: int, end: int, name: KeyName) -> Iterator[Hit]:
    if name.announces < Announces.SECRET or end <= start:
        return
    if is_secret(name, _decoded(b'"' + data[start:end] + b'"'), _SETTING):
        yield Hit(start, end, name.kind, "json.path", 23)


def _decoded(token: bytes) -> str:
    try:
        value = json.loads(token)
    except ValueError:
        return ""
    return value if isinstance(value, str) else str(value)


def fit(spans: Sequence[Span], data: bytes) -> tuple[Span, ...]:
    """Return the spans cut to the insides of strings and to whole bare values, whole escapes
    only.
    """
    tokens = [m.span() for m in _TOKEN.finditer(data) if m.group() not in _MARKS]
    starts = [start for start, _ in tokens]
    fitted: dict[int, Span] = {}
    for span in spans:
        first = max(0, bisect_right(starts, span.start) - 1)
        for start, end in tokens[first:]:
            if start >= span.end:
                break
            piece = _piece(span, start, end, data)
            if piece and piece.end > piece.start:
                fitted.setdefault(piece.start, piece)
    return tuple(fitted[start] for start in sorted(fitted))


_MARKS: Final = frozenset({b"{", b"}", b"[", b"]", b",", b":"})


def _piece(span: Span, start: int, end: int, data: bytes) -> Span | None:
    if span.start >= end:
        return None
    if data[start] != ord('"'):
        return Span(start, end, span.kind, span.rule, is_bare=True)
    low = _outward(data, max(span.start, start + 1), start + 1, ahead=False)
    high = _outward(data, min(span.end, end - 1), start + 1, ahead=True)
    return Span(low, high, span.kind, span.rule) if high > low else None


def _outward(data: bytes, at: int, floor: int, *, ahead: bool) -> int:
    """Return `at`, moved to the edge of the escape it falls into."""
    first = data.rfind(b"\\", max(floor, at - _LONGEST_ESCAPE), at)
    while first > floor and data[first - 1] == ord("\\"):
        first -= 1
    position = first if first >= 0 else at
    while 0 <= position < at:
        escape = _ESCAPE.match(data, position)
        if escape is None:
            position += 1
        elif escape.end() > at:
            return escape.end() if ahead else position
        else:
            position = escape.end()
    return at
