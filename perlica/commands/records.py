"""Answers to `.tasks`, `.task`, `.audit` and `.whoami`: facts in, plain text out. Pure.

Names of people and actions may hold anything; they are escaped and clipped here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo

from perlica.commands import record_texts as texts
from perlica.commands.audit_words import say_actor, say_facts, say_kind
from perlica.commands.roles import Role
from perlica.domain.actions import ActionCatalog
from perlica.domain.approval import TicketState
from perlica.domain.ids import TaskId, TicketId, UserId
from perlica.domain.task import EndReason, TaskState
from perlica.domain.texts import Language, clip_line, say_duration, say_time
from perlica.domain.texts.faults import say_fault
from perlica.domain.texts.notices import NAME_CODE_POINTS, REASONS, say_task_state

MOST_TASKS = 5
MOST_AUDIT_EVENTS = 10
_KIND_CODE_POINTS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLine:
    """One task on a line; `requester` is a protected display name or a QQ number as text."""

    task: TaskId
    state: TaskState
    requester: str = field(repr=False)
    age_ms: int
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTicket:
    """A ticket of a task; `action` is its label."""

    ticket: TicketId
    action: str = field(repr=False)
    state: TicketState


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRecord:
    """Everything that `.task` tells; `executed` are lines made from the operations' rows."""

    line: TaskLine
    step: int
    model_calls: int
    tool_calls: int
    tokens: int
    tickets: tuple[TaskTicket, ...]
    executed: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine:
    """One audit event; `about` are the ids that it names, `facts` what its protected detail says,
    with the action and the target of what it is about.
    """

    at_ms: int
    kind: str
    actor: str
    about: tuple[str, ...]
    facts: Mapping[str, object] = field(default_factory=dict, repr=False)


def answer_tasks(lines: Sequence[TaskLine], language: Language) -> str:
    """The newest tasks, one on each line."""
    if not lines:
        return texts.TASKS_NONE.say(language)
    said = [
        texts.TASKS_ITEM.say(
            language,
            task=line.task,
            state=say_task_state(line.state, line.reason, language),
            requester=clip_line(line.requester, NAME_CODE_POINTS),
            age=say_duration(line.age_ms, language),
        )
        for line in lines[:MOST_TASKS]
    ]
    return "\n".join([texts.TASKS_HEAD.say(language), *said])


def answer_task(asked: TaskId, record: TaskRecord | None, language: Language) -> str:
    """One task: how it stands or ended, what it asked for, used and did."""
    if record is None:
        return texts.TASK_UNKNOWN.say(language, task=asked)
    line = record.line
    said = [
        texts.TASK_HEAD.say(
            language, task=line.task, state=say_task_state(line.state, line.reason, language)
        ),
        texts.TASK_WHO.say(
            language,
            requester=clip_line(line.requester, NAME_CODE_POINTS),
            age=say_duration(line.age_ms, language),
        ),
    ]
    if line.reason is not None:
        said.append(texts.TASK_REASON.say(language, reason=_say_reason(line.reason, language)))
    said.append(
        texts.TASK_USAGE.say(
            language,
            step=record.step + 1,
            models=record.model_calls,
            tools=record.tool_calls,
            tokens=record.tokens,
        )
    )
    said += [_say_ticket(ticket, language) for ticket in record.tickets]
    if record.executed:
        said += [texts.TASK_DONE.say(language), *(f"- {done}" for done in record.executed)]
    else:
        said.append(texts.TASK_NOTHING_DONE.say(language))
    return "\n".join(said)


def answer_audit(
    lines: Sequence[AuditLine], zone: tzinfo, language: Language, actions: ActionCatalog
) -> str:
    """The newest audit events."""
    if not lines:
        return texts.AUDIT_NONE.say(language)
    said = [_say_event(line, zone, language, actions) for line in lines[:MOST_AUDIT_EVENTS]]
    return "\n".join([texts.AUDIT_HEAD.say(language), *said])


def answer_whoami(user: UserId, role: Role, language: Language) -> str:
    """What the configuration says of whoever asks."""
    return texts.WHOAMI.say(language, user=user, role=texts.ROLES[role].say(language))


def _say_reason(reason: str, language: Language) -> str:
    known = REASONS.get(EndReason(reason)) if reason in set(EndReason) else None
    return known.say(language) if known else say_fault(reason, language)


def _say_ticket(ticket: TaskTicket, language: Language) -> str:
    return texts.TASK_TICKET.say(
        language,
        ticket=ticket.ticket,
        action=clip_line(ticket.action, _KIND_CODE_POINTS),
        state=texts.TICKET_STATES[ticket.state].say(language),
    )


def _say_event(line: AuditLine, zone: tzinfo, language: Language, actions: ActionCatalog) -> str:
    about = " ".join(clip_line(item, _KIND_CODE_POINTS) for item in line.about)
    return texts.AUDIT_ITEM.say(
        language,
        time=say_time(line.at_ms, zone),
        kind=say_kind(line.kind, language),
        facts=say_facts(line.facts, language, actions),
        actor=say_actor(line.actor, language),
        about=f" {about}" if about else "",
    )
