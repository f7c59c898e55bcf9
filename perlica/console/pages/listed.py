"""Every page, in the order of the navigation: the one list.

Ids in addresses have the alphabet of our ids; anything else is not found. A page whose capability
is switched off leaves the navigation; its address stays, so that no record is ever out of reach.
"""

from collections.abc import Iterable
from typing import Final

from perlica.console.pages.audit import show_audit
from perlica.console.pages.find import show_found
from perlica.console.pages.outbox import show_outbox
from perlica.console.pages.overview import show_overview
from perlica.console.pages.recovery import show_recovery
from perlica.console.pages.sandboxes import show_image, show_sandbox, show_sandboxes
from perlica.console.pages.spec import PageSpec
from perlica.console.pages.tasks import show_tasks
from perlica.console.pages.tickets import show_tickets
from perlica.console.pages.timeline import show_active, show_task
from perlica.console.pages.usage import show_usage
from perlica.console.pages.works import show_call, show_operation, show_ticket, show_turn
from perlica.console.words import WORDS
from perlica.domain.errors import Misconfigured

_ID: Final = "re:[A-Za-z0-9_-]{1,80}"
_NUMBER: Final = "re:[0-9]{1,15}"
_SANDBOX: Final = "sandbox"

PAGES: Final = (
    PageSpec(name="overview", routes={"/": show_overview}, label=WORDS["nav.overview"]),
    PageSpec(name="active", routes={"/active": show_active}, label=WORDS["nav.active"]),
    PageSpec(
        name="tasks",
        routes={
            "/tasks": show_tasks,
            f"/tasks/<task:{_ID}>": show_task,
            f"/tasks/<task:{_ID}>/turns/<seq:{_NUMBER}>": show_turn,
            f"/calls/<call:{_ID}>": show_call,
        },
        label=WORDS["nav.tasks"],
        marked_on=frozenset({"calls"}),
    ),
    PageSpec(
        name="tickets",
        routes={"/tickets": show_tickets, f"/tickets/<ticket:{_ID}>": show_ticket},
        label=WORDS["nav.tickets"],
        waiting=lambda waiting: waiting.tickets,
    ),
    PageSpec(
        name="sandboxes",
        routes={"/sandboxes": show_sandboxes, f"/sandboxes/<sandbox:{_NUMBER}>": show_sandbox},
        label=WORDS["nav.sandboxes"],
        capability=_SANDBOX,
    ),
    PageSpec(
        name="image",
        routes={"/image": show_image},
        label=WORDS["nav.image"],
        capability=_SANDBOX,
    ),
    PageSpec(
        name="outbox",
        routes={"/outbox": show_outbox},
        label=WORDS["nav.outbox"],
        waiting=lambda waiting: waiting.failed_sends,
    ),
    PageSpec(
        name="recovery",
        routes={"/recovery": show_recovery},
        label=WORDS["nav.recovery"],
        waiting=lambda waiting: waiting.operations + waiting.sends + waiting.orphans,
    ),
    PageSpec(
        name="audit",
        routes={"/audit": show_audit, f"/operations/<operation:{_ID}>": show_operation},
        label=WORDS["nav.audit"],
        marked_on=frozenset({"operations"}),
    ),
    PageSpec(name="usage", routes={"/usage": show_usage}, label=WORDS["nav.usage"]),
    PageSpec(name="find", routes={"/find": show_found}),
)


def with_more(more: Iterable[PageSpec]) -> tuple[PageSpec, ...]:
    """The pages and others behind them.

    Raises: Misconfigured when two have one name, one address, or one template.
    """
    pages = (*PAGES, *more)
    _refuse_twice("name", [page.name for page in pages])
    _refuse_twice("address", [route for page in pages for route in page.routes])
    _refuse_twice("template", [name for page in pages for name in page.templates])
    return pages


def _refuse_twice(what: str, names: list[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise Misconfigured("page_twice", f"two console pages have one {what}: {', '.join(twice)}")
