"""The list of tickets."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from perlica.console.pages.context import PAGE_ROWS, Page, PageContext
from perlica.console.pages.details import target_line
from perlica.console.pages.pieces import Link, choices, chosen_of, task_link, ticket_link
from perlica.console.pages.works import expiry
from perlica.console.wording import Badge, Moment, Wording
from perlica.stores.views.people import read_names
from perlica.stores.views.tickets import TicketFilter, TicketView, list_tickets


@dataclass(frozen=True, slots=True, kw_only=True)
class TicketLine:
    """A ticket in a list."""

    link: Link
    state: Badge
    action: str
    target: str = field(repr=False)
    task: Link | None
    created: Moment
    expires: str
    decided_by: str
    decided_at: Moment | None


def show_tickets(context: PageContext) -> Page:
    """/tickets: the newest first, by what became of them."""
    which = chosen_of(TicketFilter, context.asked.get("state"))
    before = context.asked.numbers("before")
    tickets = list_tickets(context.database, which, limit=PAGE_ROWS + 1, before=before)
    shown, more = tickets[:PAGE_ROWS], len(tickets) > PAGE_ROWS
    wording = context.wording
    deciders = [ticket.decided_by for ticket in shown if ticket.decided_by is not None]
    names = read_names(context.database, deciders)
    words = {word.value: wording.say(f"filter.{word.value}") for word in TicketFilter}
    older = f"{shown[-1].created_at_ms}.{shown[-1].place}" if more else ""
    return Page(
        title=wording.say("nav.tickets"),
        template="tickets",
        fields={
            "tickets": tuple(_line(ticket, names, wording) for ticket in shown),
            "choices": choices(context.asked, "state", words, which.value),
            "older": context.asked.link(before=older) if older else "",
            "newest": context.asked.link(before="") if before else "",
        },
    )


def _line(ticket: TicketView, names: Mapping[int, str], wording: Wording) -> TicketLine:
    decided_at_ms = ticket.decided_at_ms
    return TicketLine(
        link=ticket_link(ticket.id),
        state=wording.badge("state.ticket", ticket.state),
        action=wording.action(ticket.action),
        target=target_line(ticket, wording),
        task=task_link(ticket.task_id) if ticket.task_id else None,
        created=wording.moment(ticket.created_at_ms),
        expires=expiry(ticket, wording),
        decided_by=_decider(ticket.decided_by, names, wording),
        decided_at=None if decided_at_ms is None else wording.moment(decided_at_ms),
    )


def _decider(number: int | None, names: Mapping[int, str], wording: Wording) -> str:
    return "—" if number is None else wording.person(number, names.get(number, ""))
