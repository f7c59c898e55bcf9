"""What makes a page of the console: its addresses, its place in the list, whose it is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from perlica.console.pages.context import Page
from perlica.domain.texts import Text
from perlica.stores.views.overview import Waiting

Maker = Callable[..., Page]
"""Called with the `PageContext` and the named parts of the address."""


def _nothing_waits(_waiting: Waiting) -> int:
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSpec:
    """A page and the pages behind it.

    `routes` are Bottle's patterns with what makes each page; the first one is where the navigation
    leads. `label` is its word there, None for pages that are only linked to. `marked_on` are first
    parts of other addresses on which it is the current one. `capability` names what it belongs to,
    "" for the service itself. `templates` are texts of templates that it brings along, by name.
    """

    name: str
    routes: Mapping[str, Maker]
    label: Text | None = None
    marked_on: frozenset[str] = frozenset()
    capability: str = ""
    waiting: Callable[[Waiting], int] = _nothing_waits
    templates: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def href(self) -> str:
        """Where the navigation leads."""
        return next(iter(self.routes))
