"""Pieces that several pages are made of: facts, filters, JSON as pairs, links to other pages."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeVar
from urllib.parse import quote

from perlica.console.asked import Asked
from perlica.console.wording import Badge, Moment, Wording
from perlica.stores.views.columns import Excerpt

MAX_PAIRS: Final = 80
MAX_VALUE_CODE_POINTS: Final = 2_000
_MAX_DEPTH: Final = 6
_DIGEST: Final = re.compile(r"(?:sha256:)?[0-9a-f]{64}")

_Word = TypeVar("_Word", bound=StrEnum)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Text that leads somewhere."""

    href: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A label with what belongs to it; exactly one of the values is given."""

    label: str
    text: str = ""
    badge: Badge | None = None
    moment: Moment | None = None
    link: Link | None = None
    is_code: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One of several views of a list."""

    href: str
    text: str
    is_chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """A JSON document as lines of name and value; `raw` instead, where it is none or was cut."""

    rows: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    raw: str = field(default="", repr=False)
    note: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show."""
        return not self.rows and not self.raw


def task_link(task: str) -> Link:
    """The page of a task."""
    return Link(href=f"/tasks/{quote(task, safe='')}", text=task)


def ticket_link(ticket: str) -> Link:
    """The page of a ticket."""
    return Link(href=f"/tickets/{quote(ticket, safe='')}", text=ticket)


def operation_link(operation: str) -> Link:
    """The page of an operation."""
    return Link(href=f"/operations/{quote(operation, safe='')}", text=operation)


def call_link(call: str, text: str = "") -> Link:
    """The page of a call."""
    return Link(href=f"/calls/{quote(call, safe='')}", text=text or call)


def choices(asked: Asked, name: str, words: Mapping[str, str], chosen: str) -> tuple[Choice, ...]:
    """Links that set one parameter; the first value stands for none."""
    first = next(iter(words))
    return tuple(
        Choice(
            href=asked.link(**{name: "" if value == first else value, "before": ""}),
            text=text,
            is_chosen=value == chosen,
        )
        for value, text in words.items()
    )


def chosen_of(words: type[_Word], given: str) -> _Word:
    """The word that was asked for, the first one where it is none of them."""
    members = list(words)
    return words(given) if given in members else members[0]


def read_json(text: str) -> object:
    """The value of a JSON text, None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def read_map(text: str) -> dict[str, object]:
    """The object of a JSON text, an empty one where it is none."""
    value = read_json(text)
    return value if isinstance(value, dict) else {}


def pairs_of(document: Excerpt, wording: Wording) -> Pairs:
    """A protected JSON document for showing."""
    value = None if document.is_cut else read_json(document.text)
    if not isinstance(value, dict | list):
        return _raw(document, wording)
    rows = rows_of(value)
    note = "" if len(rows) <= MAX_PAIRS else wording.say("cut", size=wording.size(_size(document)))
    return Pairs(rows=tuple(rows[:MAX_PAIRS]), note=note)


def rows_of(value: object) -> list[tuple[str, str]]:
    """The leaves of a JSON value with dotted names."""
    return list(_rows(value, "", 0))


def is_digest(text: str) -> bool:
    """Whether a value is a hash, which is shown small."""
    return _DIGEST.fullmatch(text) is not None


def clipped(text: str) -> tuple[str, bool]:
    """The beginning of a text that stands among others, and whether that is not all of it."""
    return text[:MAX_VALUE_CODE_POINTS], len(text) > MAX_VALUE_CODE_POINTS


def _raw(document: Excerpt, wording: Wording) -> Pairs:
    text, is_cut = clipped(document.text)
    note = wording.say("cut", size=wording.size(_size(document)))
    return Pairs(raw=text, note=note if is_cut or document.is_cut else "")


def _size(document: Excerpt) -> int:
    return document.size_bytes


def _rows(value: object, name: str, depth: int) -> Iterator[tuple[str, str]]:
    """Leaves with dotted names; lists of plain values, and what lies too deep, stay JSON."""
    if isinstance(value, dict) and value and depth < _MAX_DEPTH:
        for key, inner in value.items():
            yield from _rows(inner, f"{name}.{key}" if name else str(key), depth + 1)
    elif isinstance(value, list) and _has_objects(value) and depth < _MAX_DEPTH:
        for number, inner in enumerate(value, start=1):
            yield from _rows(inner, f"{name}[{number}]", depth + 1)
    else:
        yield name[:MAX_VALUE_CODE_POINTS], _leaf(value)


def _has_objects(values: Iterable[object]) -> bool:
    return any(isinstance(value, dict) for value in values)


def _leaf(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    short, is_cut = clipped(text)
    return f"{short}…" if is_cut else short
