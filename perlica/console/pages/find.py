"""From an id, a word or a person that somebody has at hand to the page of what it names."""

from perlica.console.pages.context import PAGE_ROWS, Page, PageContext
from perlica.console.pages.pieces import call_link, operation_link, task_link, ticket_link
from perlica.console.pages.tasks import task_lines
from perlica.stores.views.operations import find_operation
from perlica.stores.views.sandboxes import list_ended, list_living
from perlica.stores.views.tasks import find_task, search_tasks
from perlica.stores.views.tickets import find_ticket
from perlica.stores.views.transcript import find_call

_ENDED_LOOKED_AT = 200


class Found(Exception):
    """It has a page: go there."""

    def __init__(self, path: str) -> None:
        """Keep the path."""
        super().__init__(path)
        self.path = path


def show_found(context: PageContext) -> Page:
    """/find?id=…: leads to the page of an id, or lists tasks by words or person. Raises: Found."""
    wanted = context.asked.get("id")
    path = _path_of(context, wanted) if wanted else None
    if path is not None:
        raise Found(path)
    wording = context.wording
    tasks = search_tasks(context.database, wanted, limit=PAGE_ROWS) if wanted else ()
    if tasks:
        title = wording.say("find.found", words=wording.name(wanted))
        fields = {"tasks": task_lines(tasks, wording), "choices": (), "older": "", "newest": ""}
        return Page(title=title, template="tasks", fields=fields)
    nothing = wording.say("find.nothing", id=wording.name(wanted))
    return Page(title=wording.say("find"), template="error", fields={"text": nothing, "hint": ""})


def _path_of(context: PageContext, wanted: str) -> str | None:
    database, upper = context.database, wanted.upper()
    for task in (upper, f"T-{upper}"):
        if find_task(database, task):
            return task_link(task).href
    if find_ticket(database, upper):
        return ticket_link(upper).href
    if find_operation(database, wanted.lower()):
        return operation_link(wanted.lower()).href
    if find_call(database, wanted.lower()):
        return call_link(wanted.lower()).href
    for sandbox in (*list_living(database), *list_ended(database, _ENDED_LOOKED_AT)):
        if sandbox.name == wanted.lower():
            return f"/sandboxes/{sandbox.id}"
    return None
