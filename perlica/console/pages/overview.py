"""The first page: how the service is, what goes on, what waits."""

from dataclasses import dataclass, replace

from perlica.console.pages.context import Page, PageContext
from perlica.console.pages.tasks import task_head, task_lines
from perlica.console.parts import Health, PartStatus
from perlica.console.wording import Badge, Wording
from perlica.domain.sandbox import MAX_SANDBOXES
from perlica.domain.texts.models import TROUBLES
from perlica.stores.health import MIN_FREE_BYTES
from perlica.stores.model_standing import read_model_standing
from perlica.stores.views.nodes import NodeView, list_nodes
from perlica.stores.views.overview import (
    DatabaseFacts,
    Waiting,
    count_waiting,
    last_heard_at_ms,
    read_database_facts,
)
from perlica.stores.views.tasks import TaskFilter, find_active_task, list_tasks
from perlica.stores.views.transcript import last_answer_at_ms

_RECENT = 6
_BACKUP_WITHIN_MS = 7 * 86_400_000
_TONES = {
    Health.ok: "good",
    Health.warning: "wait",
    Health.fault: "bad",
    Health.off: "quiet",
    Health.unknown: "quiet",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PartLine:
    """One part of the service."""

    name: str
    badge: Badge
    text: str
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountTile:
    """How many of something wait, and where they are listed."""

    href: str
    label: str
    count: str
    tone: str


def show_overview(context: PageContext) -> Page:
    """/: parts, the active task, counts, recent tasks."""
    wording, database = context.wording, context.database
    active = find_active_task(database)
    head = task_head(context, active) if active else None
    recent = list_tasks(database, TaskFilter.everything, limit=_RECENT)
    idle = wording.say("overview.idle")
    return Page(
        title=wording.say("nav.overview"),
        template="overview",
        fields={
            "task": head,
            "parts": (*_given_parts(context), *_known_parts(context)),
            "tiles": _tiles(count_waiting(database, wording.now_ms), wording),
            "tasks": task_lines(recent, wording),
        },
        news=f"{head.id} {head.state.text} {head.waits_for}".strip() if head else idle,
    )


def _given_parts(context: PageContext) -> tuple[PartLine, ...]:
    return tuple(
        _model(part, context) if part.is_model else _given(part, context.wording)
        for part in context.settings.parts()
    )


def _given(part: PartStatus, wording: Wording) -> PartLine:
    language = wording.language
    return PartLine(
        name=part.name.say(language),
        badge=_health(part.health, wording),
        text=part.text.say(language),
        remedy=part.remedy.say(language) if part.remedy else "",
    )


def _model(part: PartStatus, context: PageContext) -> PartLine:
    """The model as the tables know it: in order only while it really answers."""
    wording = context.wording
    line, standing = _given(part, wording), read_model_standing(context.database)
    if standing.trouble is not None and standing.failed_at_ms is not None:
        trouble, ago = TROUBLES[standing.trouble], wording.ago(standing.failed_at_ms)
        what = trouble.what.say(wording.language)
        return replace(
            line,
            badge=_health(Health.fault, wording),
            text=f"{line.text} · {wording.say('part.model.failed', what=what, ago=ago)}",
            remedy=trouble.remedy.say(wording.language),
        )
    if standing.answered_at_ms is None:
        never = wording.say("part.model.never")
        return replace(line, text=f"{line.text} · {never}")
    return replace(line, badge=_health(Health.ok, wording))


def _known_parts(context: PageContext) -> tuple[PartLine, ...]:
    """What the database itself tells."""
    wording, database = context.wording, context.database
    facts = read_database_facts(database)
    return (
        *(_node(node, wording) for node in list_nodes(database)),
        _seen("group", last_heard_at_ms(database), wording),
        _seen("answers", last_answer_at_ms(database), wording),
        _database(facts, wording),
        _backup(facts, wording),
    )


def _node(node: NodeView, wording: Wording) -> PartLine:
    """A node of sandboxes: what is thought of it, and when it last answered."""
    seen = node.seen_at_ms
    text = (
        wording.say("part.node.never")
        if seen is None
        else wording.say("part.node.at", ago=wording.ago(seen))
    )
    return PartLine(
        name=wording.say("part.node", name=wording.name(node.name)),
        badge=wording.node_badge(node.state),
        text=text,
    )


def _seen(name: str, at_ms: int | None, wording: Wording) -> PartLine:
    if at_ms is None:
        text = wording.say(f"part.{name}.never")
    else:
        text = wording.say(f"part.{name}.at", ago=wording.ago(at_ms))
    health = Health.unknown if at_ms is None else Health.ok
    return PartLine(name=wording.say(f"part.{name}"), badge=_health(health, wording), text=text)


def _database(facts: DatabaseFacts, wording: Wording) -> PartLine:
    is_low = facts.size.free_bytes < MIN_FREE_BYTES
    text = wording.say(
        "part.database.text",
        schema=facts.schema,
        size=wording.size(facts.size.database_bytes),
        wal=wording.size(facts.size.wal_bytes),
        free=wording.size(facts.size.free_bytes),
    )
    if facts.restored_from:
        origin = wording.name(facts.restored_from)
        text = f"{text} · {wording.say('part.restored', origin=origin)}"
    return PartLine(
        name=wording.say("part.database"),
        badge=_health(Health.warning if is_low else Health.ok, wording),
        text=text,
        remedy=wording.say("part.database.low") if is_low else "",
    )


def _backup(facts: DatabaseFacts, wording: Wording) -> PartLine:
    at_ms = facts.last_backup_at_ms
    is_fresh = at_ms is not None and wording.now_ms - at_ms <= _BACKUP_WITHIN_MS
    if at_ms is None:
        text = wording.say("part.backup.never")
    else:
        text = wording.say("part.backup.at", ago=wording.ago(at_ms))
    return PartLine(
        name=wording.say("part.backup"),
        badge=_health(Health.ok if is_fresh else Health.warning, wording),
        text=text,
        remedy="" if is_fresh else wording.say("part.backup.how"),
    )


def _health(health: Health, wording: Wording) -> Badge:
    return Badge(text=wording.say(f"part.{health.value}"), tone=_TONES[health])


def _tiles(waiting: Waiting, wording: Wording) -> tuple[CountTile, ...]:
    entries = (
        ("tickets", "/tickets?state=living", waiting.tickets, "wait"),
        ("operations", "/recovery", waiting.operations, "bad"),
        ("sends", "/outbox?state=unknown", waiting.sends, "bad"),
        ("failed_sends", "/outbox?state=failed", waiting.failed_sends, "wait"),
        ("queued_sends", "/outbox?state=waiting", waiting.queued_sends, "busy"),
    )
    tiles = [
        CountTile(
            href=href,
            label=wording.say(f"overview.{name}"),
            count=wording.number(count),
            tone=tone if count else "quiet",
        )
        for name, href, count, tone in entries
    ]
    sandboxes = CountTile(
        href="/sandboxes",
        label=wording.say("overview.sandboxes"),
        count=f"{waiting.sandboxes} / {MAX_SANDBOXES}",
        tone="bad" if waiting.orphans else "quiet",
    )
    return (*tiles, sandboxes)
