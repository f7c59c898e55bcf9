"""The list of pages, with what waits on each."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from perlica.console.pages.spec import PageSpec
from perlica.console.wording import Wording
from perlica.stores.database import Database
from perlica.stores.views.overview import count_waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class NavigationItem:
    """A page in the list; `count` is empty where nothing waits, `label` says it in words."""

    href: str
    text: str
    is_current: bool
    count: str
    label: str


def list_pages(
    pages: Sequence[PageSpec],
    database: Database,
    path: str,
    wording: Wording,
    *,
    off: Collection[str] = (),
) -> tuple[NavigationItem, ...]:
    """Every page that has a word, the one of `path` marked, without those of capabilities `off`."""
    waiting = count_waiting(database, wording.now_ms)
    first = path.strip("/").split("/")[0]
    items = []
    for page in pages:
        if page.label is None or page.capability in off:
            continue
        count = page.waiting(waiting)
        items.append(
            NavigationItem(
                href=page.href,
                text=page.label.say(wording.language),
                is_current=page.href == f"/{first}" or first in page.marked_on,
                count=wording.number(count) if count else "",
                label=wording.say("waiting", count=count),
            )
        )
    return tuple(items)
