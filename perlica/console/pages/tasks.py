"""The list of tasks, and the head that every page about one task begins with."""

from dataclasses import dataclass, field

from perlica.console.pages.context import PAGE_ROWS, Page, PageContext
from perlica.console.pages.pieces import (
    Fact,
    Link,
    choices,
    chosen_of,
    read_map,
    task_link,
    ticket_link,
)
from perlica.console.wording import Badge, Moment, Wording
from perlica.stores.views.tasks import TaskFilter, TaskView, list_tasks
from perlica.stores.views.tickets import TicketFilter, list_tickets


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLine:
    """A task in a list."""

    link: Link
    state: Badge
    reason: str
    asked: str = field(repr=False)
    requester: str = field(repr=False)
    created: Moment
    took: str
    calls: str
    tokens: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskHead:
    """What a task's page says before its timeline; `since_iso` while its time runs on."""

    id: str
    link: Link
    state: Badge
    is_alive: bool
    asked: str = field(repr=False)
    is_asked_cut: bool
    requester: str = field(repr=False)
    created: Moment
    facts: tuple[Fact, ...]
    waits_for: str
    waits_link: Link | None


def show_tasks(context: PageContext) -> Page:
    """/tasks: the newest first, by state."""
    which = chosen_of(TaskFilter, context.asked.get("state"))
    before = context.asked.numbers("before")
    tasks = list_tasks(context.database, which, limit=PAGE_ROWS + 1, before=before)
    shown, more = tasks[:PAGE_ROWS], len(tasks) > PAGE_ROWS
    wording = context.wording
    words = {word.value: wording.say(f"filter.{word.value}") for word in TaskFilter}
    older = f"{shown[-1].created_at_ms}.{shown[-1].place}" if more else ""
    return Page(
        title=wording.say("nav.tasks"),
        template="tasks",
        fields={
            "tasks": task_lines(shown, wording),
            "choices": choices(context.asked, "state", words, which.value),
            "older": context.asked.link(before=older) if older else "",
            "newest": context.asked.link(before="") if before else "",
        },
    )


def task_lines(tasks: tuple[TaskView, ...], wording: Wording) -> tuple[TaskLine, ...]:
    """Tasks as lines of a list."""
    return tuple(_line(task, wording) for task in tasks)


def task_head(context: PageContext, task: TaskView) -> TaskHead:
    """The head of a task's page."""
    wording = context.wording
    waits_for, waits_link = _waiting(context, task)
    return TaskHead(
        id=task.id,
        link=task_link(task.id),
        state=wording.task_badge(task.state, task.end_reason),
        is_alive=task.is_alive,
        asked=task.asked.text,
        is_asked_cut=task.asked.is_cut,
        requester=_requester(task, wording),
        created=wording.moment(task.created_at_ms),
        facts=tuple(_facts(task, wording)),
        waits_for=waits_for,
        waits_link=waits_link,
    )


def _facts(task: TaskView, wording: Wording) -> list[Fact]:
    say = wording.say
    elapsed = "task.elapsed" if task.is_alive else "task.took"
    tokens = f"{wording.number(task.input_tokens)} / {wording.number(task.output_tokens)}"
    versions = f"{wording.name(task.policy_version)} / {wording.name(task.context_version)}"
    facts = [
        Fact(label=say(elapsed), text=wording.duration(task.worked_ms(wording.now_ms))),
        Fact(label=say("task.step"), text=wording.number(task.step + 1)),
        Fact(label=say("task.model_calls"), text=wording.number(task.model_calls)),
        Fact(label=say("task.tool_calls"), text=wording.number(task.tool_calls)),
        Fact(label=say("task.tokens"), text=tokens),
        Fact(label=say("task.window"), text=_window(task, wording)),
        Fact(label=say("task.versions"), text=versions),
    ]
    if task.end_reason:
        facts.insert(0, Fact(label=say("task.reason"), text=wording.end_reason(task.end_reason)))
    if task.crashes:
        facts.append(Fact(label=say("task.crashes"), text=wording.number(task.crashes)))
    return facts


def _window(task: TaskView, wording: Wording) -> str:
    """How the window was cut, in words."""
    facts = read_map(task.window_facts)
    if not facts:
        return "—"
    text = wording.say(
        "window.facts",
        messages=_whole(facts.get("messages")),
        code_points=_whole(facts.get("code_points")),
        cut=wording.known(f"window.cut.{facts.get('cut_by')}", str(facts.get("cut_by"))),
    )
    left_out = _whole(facts.get("left_out"))
    if left_out:
        text += wording.say("window.left_out", count=left_out)
    quoted = str(facts.get("quoted", "none"))
    return text if quoted == "none" else text + wording.known(f"window.quoted.{quoted}", quoted)


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0


def _waiting(context: PageContext, task: TaskView) -> tuple[str, Link | None]:
    """The sentence about the ticket that a task waits for, and where it leads."""
    if task.state != "waiting_approval":
        return "", None
    wording = context.wording
    for ticket in list_tickets(context.database, TicketFilter.living, limit=PAGE_ROWS):
        if ticket.task_id == task.id:
            sentence = wording.say(
                "task.waits_for",
                ticket=wording.id(ticket.id),
                action=wording.action(ticket.action),
                left=wording.left(ticket.expires_at_ms),
            )
            return sentence, ticket_link(ticket.id)
    return "", None


def _line(task: TaskView, wording: Wording) -> TaskLine:
    return TaskLine(
        link=task_link(task.id),
        state=wording.task_badge(task.state, task.end_reason),
        reason=wording.end_reason(task.end_reason) if task.end_reason else "",
        asked=f"{task.asked.text}…" if task.asked.is_cut else task.asked.text,
        requester=_requester(task, wording),
        created=wording.moment(task.created_at_ms),
        took=wording.duration(task.worked_ms(wording.now_ms)),
        calls=f"{task.model_calls} / {task.tool_calls}",
        tokens=wording.number(task.input_tokens + task.output_tokens),
    )


def _requester(task: TaskView, wording: Wording) -> str:
    """Display name and QQ number; the number alone where the name is gone."""
    number = str(task.requester_id)
    return f"{wording.name(task.requester_name)} ({number})" if task.requester_name else number
