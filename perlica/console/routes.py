"""Every page by its path. Ids in paths have the alphabet of our ids; anything else is not found."""

from collections.abc import Callable, Mapping
from typing import Final

from perlica.console.pages.audit import show_audit
from perlica.console.pages.context import Page
from perlica.console.pages.find import show_found
from perlica.console.pages.outbox import show_outbox
from perlica.console.pages.overview import show_overview
from perlica.console.pages.recovery import show_recovery
from perlica.console.pages.sandboxes import show_image, show_sandbox, show_sandboxes
from perlica.console.pages.tasks import show_tasks
from perlica.console.pages.tickets import show_tickets
from perlica.console.pages.timeline import show_active, show_task
from perlica.console.pages.usage import show_usage
from perlica.console.pages.works import show_call, show_operation, show_ticket, show_turn

_ID: Final = "re:[A-Za-z0-9_-]{1,80}"
_NUMBER: Final = "re:[0-9]{1,15}"

ROUTES: Final[Mapping[str, Callable[..., Page]]] = {
    "/": show_overview,
    "/active": show_active,
    "/tasks": show_tasks,
    f"/tasks/<task:{_ID}>": show_task,
    f"/tasks/<task:{_ID}>/turns/<seq:{_NUMBER}>": show_turn,
    f"/calls/<call:{_ID}>": show_call,
    f"/operations/<operation:{_ID}>": show_operation,
    "/tickets": show_tickets,
    f"/tickets/<ticket:{_ID}>": show_ticket,
    "/sandboxes": show_sandboxes,
    f"/sandboxes/<sandbox:{_NUMBER}>": show_sandbox,
    "/image": show_image,
    "/outbox": show_outbox,
    "/recovery": show_recovery,
    "/audit": show_audit,
    "/usage": show_usage,
    "/find": show_found,
}
