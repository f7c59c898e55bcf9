"""What a request asks for: a path, some query parameters, a language and a theme. Nothing else.

Made by the application from the WSGI environment; pages see this and no request.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final
from urllib.parse import parse_qsl, urlencode

from perlica.domain.texts import Language

MAX_FIELDS: Final = 20
MAX_VALUE_CODE_POINTS: Final = 200
MAX_ADDRESS_CODE_POINTS: Final = 2_000
MAX_DIGITS: Final = 18
"""Of a number in an address: it fits into SQLite's integers."""
SETTINGS: Final = ("lang", "theme")
"""Parameters that change how pages look; they go into cookies and out of the address."""


class Theme(StrEnum):
    """`auto` follows the system."""

    auto = "auto"
    light = "light"
    dark = "dark"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request for a page."""

    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    language: Language = Language.zh
    theme: Theme = Theme.auto

    def get(self, name: str) -> str:
        """A parameter without the spaces around it, "" when it was not given."""
        return self.query.get(name, "").strip()

    def number(self, name: str) -> int | None:
        """A parameter that is a whole number of at most 18 digits."""
        text = self.get(name)
        return int(text) if _is_number(text) else None

    def numbers(self, name: str) -> tuple[int, int] | None:
        """A parameter of two whole numbers, such as `1700000000000.42`."""
        first, _, second = self.get(name).partition(".")
        if _is_number(first) and _is_number(second):
            return int(first), int(second)
        return None

    def link(self, **changes: str | int) -> str:
        """This address with some parameters changed; "" takes one out."""
        query = {**self.query, **{name: str(value) for name, value in changes.items()}}
        kept = {name: value for name, value in query.items() if value}
        return f"{self.path}?{urlencode(kept)}" if kept else self.path


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS


def read_query(text: str) -> dict[str, str]:
    """The parameters of an address, the first of each name, cut; damaged text is replaced."""
    try:
        pairs = parse_qsl(text, errors="replace", max_num_fields=MAX_FIELDS)
    except ValueError:
        return {}
    found: dict[str, str] = {}
    for name, value in pairs:
        found.setdefault(name, value[:MAX_VALUE_CODE_POINTS])
    return found


def safe_path(text: str) -> str:
    """An address of this console to lead on to; `/` for anything else."""
    is_local = text.startswith("/") and not text.startswith("//") and "\\" not in text
    is_plain = text.isascii() and text.isprintable() and len(text) <= MAX_ADDRESS_CODE_POINTS
    return text if is_local and is_plain else "/"
