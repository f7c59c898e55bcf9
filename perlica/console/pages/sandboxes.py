"""Sandboxes and the one image that all of them are made of."""

from dataclasses import dataclass, field
from typing import Final

from perlica.console.pages.context import PAGE_ROWS, NotFound, Page, PageContext
from perlica.console.pages.details import labelled_pairs, name_of_key
from perlica.console.pages.pieces import (
    Fact,
    Link,
    Pairs,
    operation_link,
    read_json,
    read_map,
    task_link,
    ticket_link,
)
from perlica.console.pages.timeline import outcome_of
from perlica.console.wording import Badge, Moment, Wording
from perlica.domain.sandbox import MAX_SANDBOXES
from perlica.stores.views.nodes import (
    NodeView,
    OrphanView,
    SwitchView,
    find_switch,
    list_nodes,
    list_orphans,
)
from perlica.stores.views.operations import SandboxAct, list_in_sandbox
from perlica.stores.views.sandboxes import (
    ImageView,
    SandboxView,
    find_image,
    find_sandbox,
    list_ended,
    list_living,
)

_ENDED_SHOWN: Final = 20
_SHORT_DIGEST: Final = 19
_ENDS_BY_ITSELF: Final = frozenset({"ready", "stopped"})
_SIZES: Final = frozenset({"memory_bytes", "disk_bytes"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxCard:
    """A living sandbox; `left_share` is how much of its idle time is left, 0 to 100."""

    link: Link
    slot: int
    state: Badge
    purpose: str = field(repr=False)
    facts: tuple[Fact, ...]
    deletion: str
    left_share: int | None
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLine:
    """A node that sandboxes lie on."""

    name: str
    state: Badge
    since: Moment
    seen: Moment | None
    evidence: Pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanLine:
    """What may still lie on a node."""

    link: Link
    cause: str
    node: str
    reason: str
    found: Moment
    attempts: int
    next_try: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedLine:
    """A sandbox that is deleted or lost."""

    link: Link
    state: Badge
    node: str
    reason: str
    created: Moment
    ended: Moment | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionLine:
    """What was done in or to a sandbox."""

    kind: str
    state: Badge
    level: Badge
    operation: Link
    task: Link | None
    created: Moment
    took: str
    detail: str = field(repr=False)


def show_sandboxes(context: PageContext) -> Page:
    """/sandboxes: the three slots, and what has ended lately."""
    wording, image = context.wording, find_image(context.database)
    living = list_living(context.database)
    free = sorted(set(range(1, MAX_SANDBOXES + 1)) - {sandbox.slot for sandbox in living})
    return Page(
        title=wording.say("nav.sandboxes"),
        template="sandboxes",
        fields={
            "cards": tuple(_card(sandbox, image, context) for sandbox in living),
            "free": free,
            "nodes": tuple(_node(node, wording) for node in list_nodes(context.database)),
            "orphans": orphan_lines(list_orphans(context.database), wording),
            "ended": tuple(_ended(s, wording) for s in list_ended(context.database, _ENDED_SHOWN)),
        },
    )


def show_sandbox(context: PageContext, sandbox: str) -> Page:
    """/sandboxes/<row>: one sandbox and what was done in it.

    Raises: NotFound.
    """
    found = find_sandbox(context.database, int(sandbox))
    if found is None:
        raise NotFound
    wording = context.wording
    before = context.asked.get("before") or None
    actions = list_in_sandbox(context.database, found.id, limit=PAGE_ROWS + 1, before=before)
    shown, more = actions[:PAGE_ROWS], len(actions) > PAGE_ROWS
    return Page(
        title=wording.say("sandbox.title", name=wording.name(found.name)),
        template="sandbox",
        fields={
            "card": _card(found, find_image(context.database), context),
            "actions": tuple(_action(action, wording) for action in shown),
            "older": context.asked.link(before=shown[-1].operation.id) if more else "",
            "newest": context.asked.link(before="") if before else "",
        },
    )


def show_image(context: PageContext) -> Page:
    """/image: the global image, and whether every sandbox is made of it."""
    wording, image = context.wording, find_image(context.database)
    living = list_living(context.database)
    others = [s for s in living if image is None or s.image_digest != image.digest]
    users = [s for s in living if s not in others]
    switch = find_switch(context.database)
    steady = "image.mixed" if others else "image.steady"
    return Page(
        title=wording.say("nav.image"),
        template="image",
        fields={
            "facts": _image_facts(image, wording) if image else (),
            "switch": _switch_facts(switch, wording) if switch else (),
            "consistency": Badge(text=wording.say(steady), tone="bad" if others else "good"),
            "users": tuple(_card(s, image, context) for s in users),
            "others": tuple(_card(s, image, context) for s in others),
        },
    )


def _image_facts(image: ImageView, wording: Wording) -> tuple[Fact, ...]:
    say = wording.say
    return (
        Fact(label=say("image.reference"), text=wording.id(image.reference), is_code=True),
        Fact(label=say("image.digest"), text=wording.id(image.digest), is_code=True),
        Fact(label=say("image.introduction"), text=image.introduction),
        Fact(label=say("image.revision"), text=wording.number(image.revision)),
        Fact(label=say("image.updated"), moment=wording.moment(image.updated_at_ms)),
    )


def _switch_facts(switch: SwitchView, wording: Wording) -> tuple[Fact, ...]:
    say = wording.say
    doomed = read_json(switch.doomed.text)
    names = [str(read_name(entry)) for entry in doomed] if isinstance(doomed, list) else []
    facts = [
        Fact(label=say("column.state"), badge=wording.badge("state.switch", switch.state)),
        Fact(label=say("switch.started"), moment=wording.moment(switch.started_at_ms)),
        Fact(label=say("switch.changed"), moment=wording.moment(switch.changed_at_ms)),
        Fact(label=say("switch.doomed"), text=", ".join(map(wording.name, names)) or "—"),
        Fact(label=say("column.ticket"), link=ticket_link(switch.ticket_id)),
        Fact(label=say("column.operation"), link=operation_link(switch.operation_id)),
        Fact(
            label=say("switch.to"),
            text=f"{wording.id(switch.reference)} {wording.id(switch.digest)}",
            is_code=True,
        ),
        Fact(label=say("switch.from"), text=wording.id(switch.from_digest), is_code=True),
        Fact(label=say("image.introduction"), text=switch.introduction),
    ]
    if switch.reason:
        facts.append(Fact(label=say("sandbox.reason"), text=wording.reason(switch.reason)))
    return tuple(facts)


def read_name(entry: object) -> object:
    """The name in one entry of a switch's list."""
    return entry.get("name", "—") if isinstance(entry, dict) else "—"


def _node(node: NodeView, wording: Wording) -> NodeLine:
    return NodeLine(
        name=wording.name(node.name),
        state=wording.node_badge(node.state),
        since=wording.moment(node.since_ms),
        seen=None if node.seen_at_ms is None else wording.moment(node.seen_at_ms),
        evidence=labelled_pairs(node.evidence, wording),
    )


def orphan_lines(orphans: tuple[OrphanView, ...], wording: Wording) -> tuple[OrphanLine, ...]:
    """Orphans as lines of a list."""
    return tuple(
        OrphanLine(
            link=Link(href=f"/sandboxes/{orphan.sandbox_id}", text=wording.name(orphan.name)),
            cause=wording.known(f"cause.{orphan.cause}", orphan.cause),
            node=wording.name(orphan.node),
            reason=wording.reason(orphan.reason),
            found=wording.moment(orphan.found_at_ms),
            attempts=orphan.attempts,
            next_try=wording.left(orphan.next_try_ms),
        )
        for orphan in orphans
    )


def _card(sandbox: SandboxView, image: ImageView | None, context: PageContext) -> SandboxCard:
    wording = context.wording
    deletion, left_share = _deletion(sandbox, context)
    return SandboxCard(
        link=Link(href=f"/sandboxes/{sandbox.id}", text=wording.name(sandbox.name)),
        slot=sandbox.slot or 0,
        state=wording.badge("state.sandbox", sandbox.state),
        purpose=sandbox.purpose.text,
        facts=_facts(sandbox, wording),
        deletion=deletion,
        left_share=left_share,
        warnings=_warnings(sandbox, image, wording),
    )


def _deletion(sandbox: SandboxView, context: PageContext) -> tuple[str, int | None]:
    """The countdown to the automatic deletion, as text and as a share of the idle time."""
    idle_ms = min(sandbox.idle_ms, context.settings.idle_ms)
    if idle_ms <= 0 or sandbox.state not in _ENDS_BY_ITSELF:
        return "", None
    until_ms = sandbox.last_active_at_ms + idle_ms
    left_ms = max(0, until_ms - context.wording.now_ms)
    return context.wording.left(until_ms), min(100, 100 * left_ms // idle_ms)


def _facts(sandbox: SandboxView, wording: Wording) -> tuple[Fact, ...]:
    say = wording.say
    digest = wording.id(sandbox.image_digest)
    revision = say("sandbox.revision", revision=sandbox.image_revision)
    facts = [
        Fact(label=say("sandbox.node"), text=wording.name(sandbox.node)),
        Fact(label=say("sandbox.touched"), moment=wording.moment(sandbox.last_active_at_ms)),
        Fact(label=say("sandbox.created"), moment=wording.moment(sandbox.created_at_ms)),
        Fact(
            label=say("sandbox.image"),
            text=f"{digest[:_SHORT_DIGEST]}… {revision}",
            is_code=True,
        ),
        Fact(label=say("sandbox.limits"), text=_limits(sandbox.limits, wording)),
        Fact(label=say("sandbox.disk"), text=_disk(sandbox, wording)),
        Fact(label=say("sandbox.network"), text=wording.name(sandbox.network)),
    ]
    if sandbox.instance:
        instance = wording.name(sandbox.instance)
        facts.append(Fact(label=say("sandbox.instance"), text=instance, is_code=True))
    if sandbox.state_reason:
        facts.append(Fact(label=say("sandbox.reason"), text=wording.reason(sandbox.state_reason)))
    return tuple(facts)


def _disk(sandbox: SandboxView, wording: Wording) -> str:
    """What was used of the disk when the node last said so, and how long ago that was."""
    used, seen_at_ms = sandbox.disk_used_bytes, sandbox.disk_seen_at_ms
    if used is None or seen_at_ms is None:
        return "—"
    limit = read_map(sandbox.limits).get("disk_bytes")
    share = f" ({100 * used // limit}%)" if isinstance(limit, int) and limit > 0 else ""
    return f"{wording.size(used)}{share} · {wording.ago(seen_at_ms)}"


def _limits(text: str, wording: Wording) -> str:
    """Limits on one line, bytes as sizes."""
    said = [
        f"{name_of_key(name, wording)} {_limit(name, value, wording)}"
        for name, value in read_map(text).items()
        if isinstance(value, int)
    ]
    return " · ".join(said) or "—"


def _limit(name: str, value: int, wording: Wording) -> str:
    """A limit in the unit that people think in: bytes as sizes, thousandths of a core as cores."""
    if name in _SIZES:
        return wording.size(value)
    return f"{value / 1000:g}" if name == "cpu_millis" else str(value)


def _warnings(sandbox: SandboxView, image: ImageView | None, wording: Wording) -> tuple[str, ...]:
    is_other = image is not None and sandbox.slot and sandbox.image_digest != image.digest
    told = {
        "sandbox.orphan": sandbox.state == "unconfirmed",
        "sandbox.blocked": sandbox.has_unknown,
        "sandbox.other_image": bool(is_other),
    }
    return tuple(wording.say(word) for word, holds in told.items() if holds)


def _ended(sandbox: SandboxView, wording: Wording) -> EndedLine:
    ended_at_ms = sandbox.ended_at_ms
    return EndedLine(
        link=Link(href=f"/sandboxes/{sandbox.id}", text=wording.name(sandbox.name)),
        state=wording.badge("state.sandbox", sandbox.state),
        node=wording.name(sandbox.node),
        reason=wording.reason(sandbox.state_reason),
        created=wording.moment(sandbox.created_at_ms),
        ended=None if ended_at_ms is None else wording.moment(ended_at_ms),
    )


def _action(action: SandboxAct, wording: Wording) -> ActionLine:
    operation = action.operation
    took_ms = operation.took_ms
    return ActionLine(
        kind=wording.known(f"act.{action.kind}", action.kind),
        state=wording.operation_badge(operation.state, outcome_of(operation)),
        level=wording.badge("level", operation.level),
        operation=operation_link(operation.id),
        task=task_link(operation.task_id) if operation.task_id else None,
        created=wording.moment(operation.created_at_ms),
        took="" if took_ms is None else wording.duration(took_ms),
        detail=_effect(operation.plan.text, wording),
    )


def _effect(plan: str, wording: Wording) -> str:
    """What was run or touched, on one line."""
    effect = read_map(plan).get("effect")
    if not isinstance(effect, dict):
        return ""
    argv, path = effect.get("argv"), effect.get("path")
    if isinstance(argv, list):
        return wording.name(" ".join(str(word) for word in argv))
    return wording.name(path) if isinstance(path, str) else ""
