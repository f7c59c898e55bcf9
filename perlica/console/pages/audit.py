"""The audit trail with filters and a search, and its lines for other pages."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Final

from perlica.console.pages.context import PAGE_ROWS, Page, PageContext
from perlica.console.pages.details import labelled_pairs
from perlica.console.pages.pieces import (
    Link,
    Pairs,
    operation_link,
    task_link,
    ticket_link,
)
from perlica.console.wording import Badge, Moment, Wording
from perlica.domain.plan import Level
from perlica.stores.database import Database
from perlica.stores.views.audit import AuditFilter, AuditPage, AuditView, list_kinds, search
from perlica.stores.views.people import read_names

_SECOND_MS: Final = 1_000
_PERSON: Final = re.compile(r"(?:[a-z_]+:)?([0-9]{5,11})")
_FIELDS: Final = ("kind", "level", "actor", "about", "since", "until", "text")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine:
    """An event in a list."""

    at: Moment
    title: str
    kind: str
    actor: str
    level: Badge | None
    about: tuple[Link, ...]
    detail: Pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A value of a choice in a form."""

    value: str
    text: str
    is_chosen: bool


def show_audit(context: PageContext) -> Page:
    """/audit: who did what, newest first, as far as the filter fits."""
    asked, wording = context.asked, context.wording
    wanted = _wanted(context)
    page = search(context.database, wanted, limit=PAGE_ROWS, before=asked.number("before"))
    given = {name: asked.get(name) for name in _FIELDS}
    return Page(
        title=wording.say("nav.audit"),
        template="audit",
        fields={
            "events": audit_lines(page.events, wording, actor_names(context.database, page.events)),
            "given": given,
            "kinds": _options(list_kinds(context.database), given["kind"], wording),
            "levels": _level_options(given["level"], wording),
            "is_filtered": any(given.values()),
            "seen_to": _seen_to(page, wording),
            "older": asked.link(before=page.next_before) if page.next_before else "",
            "newest": asked.link(before="") if asked.get("before") else "",
        },
    )


def audit_lines(
    events: tuple[AuditView, ...], wording: Wording, names: Mapping[int, str] | None = None
) -> tuple[AuditLine, ...]:
    """Events as lines of a list; `names` are those of people among the actors."""
    return tuple(_line(event, names or {}, wording) for event in events)


def actor_names(database: Database, events: tuple[AuditView, ...]) -> Mapping[int, str]:
    """Display names of the people who did what the events tell."""
    found = (_PERSON.fullmatch(event.actor) for event in events)
    return read_names(database, (int(person[1]) for person in found if person))


def _say_actor(actor: str, names: Mapping[int, str], wording: Wording) -> str:
    person = _PERSON.fullmatch(actor)
    name = names.get(int(person[1])) if person else None
    return f"{wording.name(name)} ({wording.name(actor)})" if name else wording.name(actor)


def _wanted(context: PageContext) -> AuditFilter:
    asked, zone = context.asked, context.settings.zone
    about = asked.get("about")
    is_operation, is_task = about.startswith("op-"), about.startswith("T-")
    return AuditFilter(
        kind=asked.get("kind") or None,
        actor=asked.get("actor") or None,
        level=asked.get("level") or None,
        task=about if is_task else None,
        operation=about if is_operation else None,
        ticket=about if about and not (is_task or is_operation) else None,
        since_ms=read_time(asked.get("since"), zone),
        until_ms=read_time(asked.get("until"), zone),
        text=asked.get("text") or None,
    )


def read_time(text: str, zone: tzinfo) -> int | None:
    """What a browser's date and time field gives, in the service's zone; None for anything else."""
    try:
        moment = datetime.fromisoformat(text)
        return int(moment.replace(tzinfo=zone).timestamp() * _SECOND_MS)
    except (ValueError, OverflowError):
        return None


def _options(kinds: tuple[str, ...], chosen: str, wording: Wording) -> tuple[Option, ...]:
    known = kinds if chosen in kinds or not chosen else (chosen, *kinds)
    options = [Option(value=k, text=_kind(k, wording), is_chosen=k == chosen) for k in known]
    return (Option(value="", text=wording.say("audit.any"), is_chosen=not chosen), *options)


def _kind(kind: str, wording: Wording) -> str:
    """A kind in words with its own name behind; that alone where it has no words."""
    title, name = wording.event(kind), wording.name(kind)
    return f"{title} ({name})" if title else name


def _level_options(chosen: str, wording: Wording) -> tuple[Option, ...]:
    options = [
        Option(value=level, text=wording.say(f"level.{level}"), is_chosen=level == chosen)
        for level in Level
    ]
    return (Option(value="", text=wording.say("audit.any"), is_chosen=not chosen), *options)


def _seen_to(page: AuditPage, wording: Wording) -> str:
    if page.seen_to_ms is None:
        return ""
    return wording.say("audit.seen_to", time=wording.moment(page.seen_to_ms).full)


def _line(event: AuditView, names: Mapping[int, str], wording: Wording) -> AuditLine:
    about = [
        task_link(event.task_id) if event.task_id else None,
        ticket_link(event.ticket_id) if event.ticket_id else None,
        operation_link(event.operation_id) if event.operation_id else None,
    ]
    return AuditLine(
        at=wording.moment(event.at_ms),
        title=wording.event(event.kind),
        kind=wording.name(event.kind),
        actor=_say_actor(event.actor, names, wording),
        level=wording.badge("level", event.level) if event.level else None,
        about=tuple(link for link in about if link),
        detail=labelled_pairs(event.detail, wording),
    )
