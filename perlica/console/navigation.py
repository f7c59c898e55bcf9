"""The list of pages, with what waits on each."""

from dataclasses import dataclass
from typing import Final

from perlica.console.wording import Wording
from perlica.stores.database import Database
from perlica.stores.views.overview import Waiting, count_waiting

_PAGES: Final = (
    ("overview", "/"),
    ("active", "/active"),
    ("tasks", "/tasks"),
    ("tickets", "/tickets"),
    ("sandboxes", "/sandboxes"),
    ("image", "/image"),
    ("outbox", "/outbox"),
    ("recovery", "/recovery"),
    ("audit", "/audit"),
    ("usage", "/usage"),
)
_BELONGS: Final = {"operations": "/audit", "calls": "/tasks"}


@dataclass(frozen=True, slots=True, kw_only=True)
class NavigationItem:
    """A page in the list; `count` is empty where nothing waits, `label` says it in words."""

    href: str
    text: str
    is_current: bool
    count: str
    label: str


def list_pages(database: Database, path: str, wording: Wording) -> tuple[NavigationItem, ...]:
    """Every page, the one of `path` marked."""
    counts = _counts(count_waiting(database, wording.now_ms))
    current = _page_of(path)
    return tuple(
        NavigationItem(
            href=href,
            text=wording.say(f"nav.{name}"),
            is_current=href == current,
            count=wording.number(counts[name]) if counts.get(name) else "",
            label=wording.say("waiting", count=counts.get(name, 0)),
        )
        for name, href in _PAGES
    )


def _counts(waiting: Waiting) -> dict[str, int]:
    return {
        "tickets": waiting.tickets,
        "outbox": waiting.failed_sends,
        "recovery": waiting.operations + waiting.sends + waiting.orphans,
    }


def _page_of(path: str) -> str:
    first = path.strip("/").split("/")[0]
    return _BELONGS.get(first, f"/{first}")
