"""What a page is made from, and what it gives."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from perlica.console.asked import Asked
from perlica.console.settings import ConsoleSettings
from perlica.console.wording import Wording
from perlica.stores.database import Database

PAGE_ROWS: Final = 50
"""Rows of a list on one page."""
LIVE_AGE_S: Final = 1.0
"""How old a page may be that refreshes itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageContext:
    """One moment of the database, and how to speak of it."""

    asked: Asked
    database: Database
    wording: Wording
    settings: ConsoleSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page before it is rendered. `age_s` is how long it may be shown to others as it is.

    `news` is a sentence that a screen reader is told when it changes.
    """

    title: str
    template: str
    fields: Mapping[str, object] = field(repr=False)
    status: int = 200
    age_s: float = LIVE_AGE_S
    news: str = ""


class NotFound(Exception):
    """There is no such page or record."""
