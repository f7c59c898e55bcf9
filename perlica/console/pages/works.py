"""Single things with a page of their own: a turn, a call, an operation, a ticket."""

from collections.abc import Mapping

from perlica.console.pages.audit import actor_names, audit_lines
from perlica.console.pages.context import PAGE_ROWS, NotFound, Page, PageContext
from perlica.console.pages.details import labelled_pairs, policy_of, target_pairs
from perlica.console.pages.pieces import (
    Fact,
    Link,
    call_link,
    operation_link,
    read_json,
    read_map,
    task_link,
    ticket_link,
)
from perlica.console.pages.timeline import call_badge, outcome_of
from perlica.console.wording import Badge, Wording
from perlica.stores.views.audit import AuditFilter, search
from perlica.stores.views.columns import PAGE_CODE_POINTS, Excerpt
from perlica.stores.views.operations import (
    OperationView,
    find_for_call,
    find_for_ticket,
    find_operation,
)
from perlica.stores.views.people import read_names
from perlica.stores.views.tickets import TicketView, find_ticket
from perlica.stores.views.transcript import find_call, find_turn, read_page

_MAX_PAGE = 10_000


def show_turn(context: PageContext, task: str, seq: str) -> Page:
    """/tasks/<id>/turns/<seq>: a long turn of a transcript, page by page.

    Raises: NotFound.
    """
    turn = find_turn(context.database, task, int(seq))
    if turn is None:
        raise NotFound
    wording = context.wording
    body = {} if turn.body.is_cut else read_map(turn.body.text)
    texts = [str(body.get(name) or "") for name in ("text", "reasoning")]
    text = "\n\n".join(filter(None, texts)) or turn.body.text
    return Page(
        title=wording.known(f"turn.{turn.kind}", turn.kind),
        template="text",
        fields={
            "facts": (
                Fact(label=wording.say("call.of_task"), link=task_link(task)),
                Fact(
                    label=wording.say("column.created"), moment=wording.moment(turn.created_at_ms)
                ),
            ),
            "heading": wording.say("column.text"),
            **_page_of(context, text, turn.body.size_bytes if turn.body.is_cut else 0),
        },
    )


def _page_of(context: PageContext, text: str, cut_size_bytes: int) -> dict[str, object]:
    """A text in hand as pages; `cut_size_bytes` is above 0 when its end is not in hand."""
    number = min(context.asked.number("page") or 0, _MAX_PAGE)
    start = number * PAGE_CODE_POINTS
    wording = context.wording
    size = wording.size(cut_size_bytes)
    return {
        "text": text[start : start + PAGE_CODE_POINTS],
        "note": wording.say("cut", size=size) if cut_size_bytes else "",
        "number": number + 1,
        "next": context.asked.link(page=number + 1) if start + PAGE_CODE_POINTS < len(text) else "",
        "previous": _previous(context, number),
    }


def _previous(context: PageContext, number: int) -> str:
    return context.asked.link(page=number - 1 or "") if number else ""


def show_call(context: PageContext, call: str) -> Page:
    """/calls/<id>: what was asked of a tool and all that it gave, page by page.

    Raises: NotFound.
    """
    found = find_call(context.database, call)
    if found is None:
        raise NotFound
    wording = context.wording
    operation = find_for_call(context.database, call)
    number = min(context.asked.number("page") or 0, _MAX_PAGE)
    text = read_page(context.database, call, number) if found.output else ""
    facts = [
        Fact(label=wording.say("column.state"), badge=call_badge(found, operation, wording)),
        Fact(label=wording.say("call.tool"), text=wording.name(found.tool)),
        Fact(label=wording.say("call.of_task"), link=task_link(found.task_id)),
        Fact(label=wording.say("column.created"), moment=wording.moment(found.created_at_ms)),
    ]
    if operation is not None:
        link = operation_link(operation.id)
        facts.append(Fact(label=wording.say("column.operation"), link=link))
    if found.source:
        facts.append(Fact(label=wording.say("call.source"), text=wording.name(found.source)))
    if found.finding_count:
        redacted = wording.say("call.redacted", count=found.finding_count)
        facts.append(Fact(label=wording.say("usage.redactions"), text=redacted))
    more = len(text) >= PAGE_CODE_POINTS
    return Page(
        title=wording.say("call.title", id=wording.id(call)),
        template="call",
        fields={
            "facts": facts,
            "arguments": labelled_pairs(found.arguments, wording),
            "has_result": found.output is not None,
            "text": text,
            "number": number + 1,
            "next": context.asked.link(page=number + 1) if more else "",
            "previous": _previous(context, number),
        },
    )


def show_operation(context: PageContext, operation: str) -> Page:
    """/operations/<id>: plan, identity and outcome of one executed action.

    Raises: NotFound.
    """
    found = find_operation(context.database, operation)
    if found is None:
        raise NotFound
    wording = context.wording
    events = search(context.database, AuditFilter(operation=operation), limit=PAGE_ROWS)
    return Page(
        title=wording.say("operation.title", id=wording.id(found.id)),
        template="operation",
        fields={
            "facts": operation_facts(found, wording),
            "plan": labelled_pairs(found.plan, wording),
            "outcome": labelled_pairs(found.outcome, wording),
            "events": audit_lines(
                events.events, wording, actor_names(context.database, events.events)
            ),
        },
    )


def operation_facts(operation: OperationView, wording: Wording) -> tuple[Fact, ...]:
    """What there is to say of an operation besides plan and outcome."""
    say = wording.say
    facts = [
        Fact(label=say("column.state"), badge=_badge(operation, wording)),
        Fact(label=say("column.level"), badge=wording.badge("level", operation.level)),
        Fact(label=say("column.action"), text=wording.action(operation.action)),
        Fact(label=say("operation.identity"), text=wording.name(operation.identity)),
        Fact(label=say("operation.queued"), moment=wording.moment(operation.created_at_ms)),
    ]
    if operation.started_at_ms is not None:
        moment = wording.moment(operation.started_at_ms)
        facts.append(Fact(label=say("operation.started"), moment=moment))
    if operation.ended_at_ms is not None:
        moment = wording.moment(operation.ended_at_ms)
        facts.append(Fact(label=say("operation.ended"), moment=moment))
    if operation.took_ms is not None:
        facts.append(Fact(label=say("operation.took"), text=wording.duration(operation.took_ms)))
    facts += _origins(operation.task_id, operation.call_id, operation.ticket_id, wording=wording)
    facts += _order(operation, wording)
    hashed = wording.id(operation.plan_hash)
    return (
        *facts,
        Fact(label=say("operation.hash"), text=hashed, is_code=True),
        *_versions(operation.plan, operation.policy_version, wording),
    )


def _badge(operation: OperationView, wording: Wording) -> Badge:
    return wording.operation_badge(operation.state, outcome_of(operation))


def _versions(plan: Excerpt, protection: str, wording: Wording) -> tuple[Fact, Fact]:
    """Which policy judged a plan, and which protection rules its text passed."""
    say = wording.say
    return (
        Fact(label=say("operation.policy"), text=policy_of(plan, wording)),
        Fact(label=say("operation.protection"), text=wording.name(protection)),
    )


def _origins(
    task: str | None, call: str | None, ticket: str | None, *, wording: Wording
) -> list[Fact]:
    links: list[tuple[str, Link | None]] = [
        ("column.task", task_link(task) if task else None),
        ("operation.call", call_link(call) if call else None),
        ("column.ticket", ticket_link(ticket) if ticket else None),
    ]
    return [Fact(label=wording.say(word), link=link) for word, link in links if link]


def _order(about: OperationView | TicketView, wording: Wording) -> list[Fact]:
    """Who gave the order, for what comes from no task."""
    if about.task_id is not None:
        return []
    origin = wording.name(about.origin_id)
    if about.ordered_by is not None:
        text = wording.say("operation.ordered", user=str(about.ordered_by), origin=origin)
    elif about.origin_kind == "command":
        text = wording.say("operation.order", origin=origin)
    else:
        text = wording.name(f"{about.origin_kind} {about.origin_id}")
    return [Fact(label=wording.say("operation.origin"), text=text)]


def show_ticket(context: PageContext, ticket: str) -> Page:
    """/tickets/<id>: what an Owner was asked, and what became of it.

    Raises: NotFound.
    """
    found = find_ticket(context.database, ticket)
    if found is None:
        raise NotFound
    wording = context.wording
    operation = find_for_ticket(context.database, ticket)
    events = search(context.database, AuditFilter(ticket=ticket), limit=PAGE_ROWS)
    return Page(
        title=wording.say("ticket.title", id=wording.id(found.id)),
        template="ticket",
        fields={
            "facts": _ticket_facts(found, operation, _names(context, found), wording=wording),
            "target": target_pairs(found, wording),
            "plan": labelled_pairs(found.plan, wording),
            "events": audit_lines(
                events.events, wording, actor_names(context.database, events.events)
            ),
        },
    )


def _ticket_facts(
    ticket: TicketView,
    operation: OperationView | None,
    names: Mapping[int, str],
    *,
    wording: Wording,
) -> tuple[Fact, ...]:
    say = wording.say
    facts = [
        Fact(label=say("column.state"), badge=wording.badge("state.ticket", ticket.state)),
        Fact(label=say("column.action"), text=wording.action(ticket.action)),
        Fact(label=say("column.created"), moment=wording.moment(ticket.created_at_ms)),
        Fact(label=say("column.expires"), text=expiry(ticket, wording)),
        Fact(label=say("ticket.owners"), text=_owners(ticket, names, wording)),
        Fact(label=say("column.decided"), text=decision(ticket, names, wording)),
        Fact(label=say("ticket.attempts"), text=wording.number(ticket.attempts)),
    ]
    if ticket.consumed_at_ms is not None:
        moment = wording.moment(ticket.consumed_at_ms)
        facts.append(Fact(label=say("ticket.consumed"), moment=moment))
    if operation is not None:
        facts.append(Fact(label=say("ticket.operation"), link=operation_link(operation.id)))
    facts += _origins(ticket.task_id, ticket.call_id, None, wording=wording)
    facts += _order(ticket, wording)
    return (
        *facts,
        Fact(label=say("operation.hash"), text=wording.id(ticket.plan_hash), is_code=True),
        *_versions(ticket.plan, ticket.policy_version, wording),
    )


def expiry(ticket: TicketView, wording: Wording) -> str:
    """Until when a ticket counts: what is left while it lives, otherwise the time."""
    if ticket.state in {"pending", "approved"}:
        return wording.left(ticket.expires_at_ms)
    return wording.moment(ticket.expires_at_ms).text


def decision(ticket: TicketView, names: Mapping[int, str], wording: Wording) -> str:
    """Who decided it and when."""
    if ticket.decided_by is None or ticket.decided_at_ms is None:
        return "—"
    at = wording.moment(ticket.decided_at_ms).full
    return wording.say(
        "ticket.decided",
        user=wording.person(ticket.decided_by, names.get(ticket.decided_by, "")),
        time=at,
    )


def _names(context: PageContext, ticket: TicketView) -> Mapping[int, str]:
    """Names of the Owners who were asked, and of who decided."""
    decider = () if ticket.decided_by is None else (ticket.decided_by,)
    return read_names(context.database, (*_owner_numbers(ticket), *decider))


def _owner_numbers(ticket: TicketView) -> tuple[int, ...]:
    owners = read_json(ticket.owners)
    return tuple(o for o in owners if isinstance(o, int)) if isinstance(owners, list) else ()


def _owners(ticket: TicketView, names: Mapping[int, str], wording: Wording) -> str:
    said = (wording.person(owner, names.get(owner, "")) for owner in _owner_numbers(ticket))
    return ", ".join(said) or "—"
