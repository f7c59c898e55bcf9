"""One task from its request to its end: moves, model turns, calls, operations, results, sends."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlencode

from perlica.console.pages.context import NotFound, Page, PageContext
from perlica.console.pages.details import labelled_pairs, target_line
from perlica.console.pages.pieces import (
    Link,
    Pairs,
    call_link,
    operation_link,
    read_map,
    task_link,
    ticket_link,
)
from perlica.console.pages.summary import Summary, summary_of
from perlica.console.pages.tasks import task_head
from perlica.console.wording import Badge, Moment, Wording
from perlica.stores.database import Database
from perlica.stores.views.columns import PASSAGE_CODE_POINTS, Excerpt
from perlica.stores.views.operations import OperationView, list_for_task
from perlica.stores.views.outbox import SendView
from perlica.stores.views.outbox import list_for_task as list_sends
from perlica.stores.views.tasks import (
    TaskFilter,
    TaskMove,
    TaskView,
    find_active_task,
    find_task,
    list_moves,
    list_tasks,
)
from perlica.stores.views.tickets import TicketView
from perlica.stores.views.tickets import list_for_task as list_tickets
from perlica.stores.views.transcript import CallView, TurnView, find_summary, list_calls, list_turns

TURNS_AT_ONCE: Final = 60
"""Rows of the transcript on one page."""
_FOLDED: Final = frozenset({"system", "window"})
_LONG_CODE_POINTS: Final = 1_200
_LONG_LINES: Final = 24
_END_OF_TIME: Final = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class CallBox:
    """A call with its operation and its result."""

    tool: str
    link: Link
    state: Badge
    level: Badge | None
    took: str
    arguments: Pairs
    operation: Link | None
    ticket: Link | None
    source: str
    redacted: str
    result: str | None = field(repr=False)
    whole: Link | None
    fold: str = ""
    """What stands on the fold of a long result; "" where it is short enough to stand open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Something that happened in a task. `key` is stable, so that opened parts stay open."""

    key: str
    kind: str
    title: str
    at: Moment
    at_ms: int = field(repr=False)
    badge: Badge | None = None
    text: str = field(default="", repr=False)
    quiet: str = field(default="", repr=False)
    is_folded: bool = False
    link: Link | None = None
    whole: Link | None = None
    calls: tuple[CallBox, ...] = ()


def show_task(context: PageContext, task: str) -> Page:
    """/tasks/<id>: the whole way of one task.

    Raises: NotFound.
    """
    found = find_task(context.database, task)
    if found is None:
        raise NotFound
    return _page(context, found)


def show_active(context: PageContext) -> Page:
    """/active: the task that is alive; while there is none, the last one."""
    active = find_active_task(context.database)
    if active is not None:
        return _page(context, active)
    wording = context.wording
    last = list_tasks(context.database, TaskFilter.everything, limit=1)
    return Page(
        title=wording.say("nav.active"),
        template="active",
        fields={"last": task_head(context, last[0]) if last else None},
        news=wording.say("overview.idle"),
    )


def _page(context: PageContext, task: TaskView) -> Page:
    database, wording = context.database, context.wording
    after = context.asked.number("after") or 0
    turns = list_turns(database, task.id, after=after, limit=TURNS_AT_ONCE + 1)
    shown, more = turns[:TURNS_AT_ONCE], len(turns) > TURNS_AT_ONCE
    next_at_ms = turns[TURNS_AT_ONCE].created_at_ms if more else _END_OF_TIME
    first_at_ms = shown[0].created_at_ms if after and shown else -_END_OF_TIME
    entries = sorted(
        _entries(database, task, shown, wording), key=lambda entry: (entry.at_ms, entry.key)
    )
    head = task_head(context, task)
    summary = find_summary(database, task.id)
    return Page(
        title=wording.say("task.title", id=wording.id(task.id)),
        template="task",
        fields={
            "task": head,
            "entries": [e for e in entries if first_at_ms <= e.at_ms < next_at_ms],
            "audit": f"/audit?{urlencode({'about': task.id})}",
            "summary": _summary(database, task, summary, wording) if summary else None,
            "older": context.asked.link(after=shown[-1].seq) if more else "",
            "newest": context.asked.link(after="") if after else "",
        },
        news=f"{task.id} {head.state.text} {head.waits_for}".strip(),
    )


def _summary(database: Database, task: TaskView, found: Excerpt, wording: Wording) -> Summary:
    """What the session left behind, with how its operations stand now."""
    badges = {
        operation.id: wording.operation_badge(operation.state, outcome_of(operation))
        for operation in list_for_task(database, task.id)
    }
    return summary_of(found, wording, badges)


def _entries(
    database: Database, task: TaskView, turns: Sequence[TurnView], wording: Wording
) -> Iterator[Entry]:
    operations = {o.call_id: o for o in list_for_task(database, task.id) if o.call_id}
    calls: dict[int, list[CallBox]] = {}
    for call in list_calls(database, task.id, turns):
        box = _call_box(call, operations.get(call.id), wording)
        calls.setdefault(call.turn_seq, []).append(box)
    for move in list_moves(database, task.id):
        yield _move_entry(move, wording)
    for turn in turns:
        yield _turn_entry(task, turn, calls.get(turn.seq, ()), wording)
    for ticket in list_tickets(database, task.id):
        yield _ticket_entry(ticket, wording)
    for send in list_sends(database, task.id):
        yield _send_entry(send, wording)


def _move_entry(move: TaskMove, wording: Wording) -> Entry:
    return Entry(
        key=f"0-{move.id}",
        kind="state",
        title=wording.say("turn.state"),
        at=wording.moment(move.at_ms),
        at_ms=move.at_ms,
        badge=wording.task_badge(move.state_after, move.reason),
        quiet=wording.end_reason(move.reason) if move.reason else "",
    )


def _turn_entry(
    task: TaskView, turn: TurnView, calls: Sequence[CallBox], wording: Wording
) -> Entry:
    text, reasoning, is_cut = _read_body(turn)
    whole = None
    if is_cut:
        size = wording.size(turn.body.size_bytes)
        href = f"{task_link(task.id).href}/turns/{turn.seq}"
        whole = Link(href=href, text=wording.say("turn.whole", size=size))
    if turn.kind == "assistant" and not text and calls:
        text = wording.say("turn.silent")
    return Entry(
        key=f"1-{turn.seq}",
        kind=turn.kind if turn.kind in {"system", "window", "assistant", "note"} else "note",
        title=wording.known(f"turn.{turn.kind}", turn.kind),
        at=wording.moment(turn.created_at_ms),
        at_ms=turn.created_at_ms,
        text=text,
        quiet=reasoning,
        is_folded=turn.kind in _FOLDED or is_long(text),
        whole=whole,
        calls=tuple(calls),
    )


def is_long(text: str) -> bool:
    """Whether a text would push what stands around it off the screen."""
    return len(text) > _LONG_CODE_POINTS or text.count("\n") >= _LONG_LINES


def _read_body(turn: TurnView) -> tuple[str, str, bool]:
    """Text and reasoning of a turn, and whether there is more than is shown."""
    if turn.body.is_cut:
        return turn.body.text[:PASSAGE_CODE_POINTS], "", True
    body = read_map(turn.body.text)
    if not body:
        return turn.body.text[:PASSAGE_CODE_POINTS], "", len(turn.body.text) > PASSAGE_CODE_POINTS
    text, reasoning = (str(body.get(name) or "") for name in ("text", "reasoning"))
    is_cut = len(text) > PASSAGE_CODE_POINTS or len(reasoning) > PASSAGE_CODE_POINTS
    if "withheld" in body and not text:
        text = str(body["withheld"])
    return text[:PASSAGE_CODE_POINTS], reasoning[:PASSAGE_CODE_POINTS], is_cut


def _ticket_entry(ticket: TicketView, wording: Wording) -> Entry:
    return Entry(
        key=f"2-{ticket.id}",
        kind="ticket",
        title=wording.say("turn.ticket"),
        at=wording.moment(ticket.created_at_ms),
        at_ms=ticket.created_at_ms,
        badge=wording.badge("state.ticket", ticket.state),
        text=f"{wording.action(ticket.action)} · {target_line(ticket, wording)}",
        link=ticket_link(ticket.id),
    )


def _send_entry(send: SendView, wording: Wording) -> Entry:
    kind = wording.known(f"kind.{send.kind}", send.kind)
    part = wording.say("outbox.part", part=send.part, parts=send.parts) if send.parts > 1 else ""
    withheld = wording.say("outbox.withheld")
    return Entry(
        key=f"3-{send.id:012}",
        kind="send",
        title=f"{wording.say('turn.send')} · {kind} {part}".strip(),
        at=wording.moment(send.created_at_ms),
        at_ms=send.created_at_ms,
        badge=wording.badge("state.send", send.state),
        text="" if send.is_withheld else send.content.text,
        is_folded=is_long(send.content.text) and not send.is_withheld,
        quiet=withheld if send.is_withheld else wording.name(send.last_error),
    )


def _call_box(call: CallView, operation: OperationView | None, wording: Wording) -> CallBox:
    whole = None
    if call.output is not None and call.output.is_cut:
        size = wording.size(call.output.size_bytes)
        whole = call_link(call.id, wording.say("call.whole", size=size))
    took_ms = None if operation is None else operation.took_ms
    result = None if call.output is None else call.output.text
    return CallBox(
        tool=wording.name(call.tool),
        link=call_link(call.id),
        state=call_badge(call, operation, wording),
        level=None if operation is None else wording.badge("level", operation.level),
        took="" if took_ms is None else wording.duration(took_ms),
        arguments=labelled_pairs(call.arguments, wording),
        operation=None if operation is None else operation_link(operation.id),
        ticket=_paying_ticket(operation),
        source=wording.name(call.source),
        redacted=_redacted(call, wording),
        result=result,
        whole=whole,
        fold=_fold(result or "", wording),
    )


def _fold(result: str, wording: Wording) -> str:
    lines = result.count("\n") + 1
    return wording.say("call.fold", lines=wording.number(lines)) if is_long(result) else ""


def _redacted(call: CallView, wording: Wording) -> str:
    count = call.finding_count
    return wording.say("call.redacted", count=count) if count else ""


def _paying_ticket(operation: OperationView | None) -> Link | None:
    if operation is None or not operation.ticket_id:
        return None
    return ticket_link(operation.ticket_id)


def call_badge(call: CallView, operation: OperationView | None, wording: Wording) -> Badge:
    """How far a call is: its operation's state, or its own while it has none."""
    if operation is None:
        is_refused = call.state == "done" and call.is_error
        return wording.badge("state.call", "refused" if is_refused else call.state)
    return wording.operation_badge(operation.state, outcome_of(operation))


def outcome_of(operation: OperationView) -> Mapping[str, object]:
    """What an operation's row keeps of its outcome."""
    return {} if operation.outcome.is_cut else read_map(operation.outcome.text)
