"""One function for each answer: facts in, plain text out. Pure.

The text still has to pass `protect` before it goes to the outbox.
"""

from collections.abc import Mapping, Sequence

from perlica.commands import texts
from perlica.commands.facts import (
    CancelResult,
    CapabilityOff,
    PendingTicket,
    RecoveryItem,
    SandboxFacts,
    StatusFacts,
    SwitchFacts,
    TaskFacts,
)
from perlica.commands.grammar import Malformed, Unknown
from perlica.commands.names import CommandName
from perlica.commands.roles import Role, may_use, required_role
from perlica.domain.approval import Verdict
from perlica.domain.ids import OperationId, TaskId, TicketId
from perlica.domain.texts import Language, Text, clip_line, say_duration, say_list
from perlica.domain.texts.faults import say_fault
from perlica.domain.texts.models import TROUBLES
from perlica.domain.texts.notices import NAME_CODE_POINTS, STATES

MAX_LISTED = 5
"""Tickets or operations shown before the rest is only counted."""

_LABEL_CODE_POINTS = 60


def answer_verdict(ticket: TicketId, verdict: Verdict, language: Language) -> str:
    """What became of an `.approve` or `.deny`."""
    return texts.VERDICTS[verdict].say(language, ticket=ticket)


def answer_malformed(malformed: Malformed, language: Language) -> str:
    """What is wrong with a known command, and how it is typed."""
    return texts.USE_IT_SO.say(
        language,
        mistake=texts.MISTAKES[malformed.mistake].say(language),
        usage=texts.USAGES[malformed.name].say(language),
    )


def answer_unknown(unknown: Unknown, language: Language) -> str:
    """A hint for a dot word that is no command; the word itself is not repeated."""
    if unknown.resembles is None:
        return texts.UNKNOWN_COMMAND.say(language)
    return texts.DID_YOU_MEAN.say(language, usage=texts.USAGES[unknown.resembles].say(language))


def answer_not_allowed(name: CommandName, language: Language) -> str:
    """A member used a command for Owners."""
    return texts.NOT_ALLOWED.say(language, name=name)


def answer_help(role: Role, language: Language) -> str:
    """The commands that this member may use, one on each line."""
    lines = [texts.HELP_HEAD.say(language)]
    for name in CommandName:
        if may_use(name, role):
            line = f"{texts.USAGES[name].say(language)}  {texts.SUMMARIES[name].say(language)}"
            owners = required_role(name) is Role.owner
            lines.append(f"{line} ({texts.OWNERS_ONLY.say(language)})" if owners else line)
    return "\n".join(lines)


def answer_cancel(
    result: CancelResult,
    *,
    task: TaskId | None,
    asked: TaskId | None = None,
    language: Language,
) -> str:
    """What became of a `.cancel`; `task` is the one alive, `asked` the one that was named."""
    return _CANCELS[result].say(language, task=task or "", asked=asked or "")


def answer_status(facts: StatusFacts, language: Language) -> str:
    """The whole state on a few lines; what is fine or empty takes no line of its own."""
    lines = [texts.STATUS_HEAD.say(language) + _say_task(facts.task, language)]
    lines += _cap([_say_ticket(t, language) for t in facts.tickets], language)
    lines.append(_say_sandboxes(facts.sandboxes, facts.most_sandboxes, language))
    if facts.image_switch is not None:
        lines.append(_say_switch(facts.image_switch, language))
    if facts.orphans:
        lines.append(texts.STATUS_ORPHANS.say(language, count=facts.orphans))
    if facts.unknown_operations:
        lines.append(texts.STATUS_RECOVERY.say(language, count=facts.unknown_operations))
    if facts.outbox_waiting:
        lines.append(texts.STATUS_QUEUE.say(language, count=facts.outbox_waiting))
    lines.append(_say_connection(facts.connection_fault, language))
    if facts.model_trouble is not None:
        trouble = facts.model_trouble
        what = TROUBLES[trouble.reason].what.say(language)
        age = say_duration(trouble.age_ms, language)
        lines.append(texts.STATUS_MODEL.say(language, age=age, what=what))
    if facts.capabilities_off:
        lines.append(_say_off(facts.capabilities_off, language))
    return "\n".join(lines)


def answer_recovery(items: Sequence[RecoveryItem], language: Language) -> str:
    """The recovery queue, oldest first."""
    if not items:
        return texts.RECOVERY_NONE.say(language)
    lines = [
        texts.RECOVERY_ITEM.say(
            language,
            operation=item.operation,
            action=clip_line(item.action, _LABEL_CODE_POINTS),
            age=say_duration(item.age_ms, language),
        )
        for item in items
    ]
    return "\n".join([texts.RECOVERY_HEAD.say(language), *_cap(lines, language)])


def answer_resolved(operation: OperationId, *, found: bool, language: Language) -> str:
    """What became of `.recovery resolve`."""
    text = texts.RECOVERY_RESOLVED if found else texts.RECOVERY_UNKNOWN
    return text.say(language, operation=operation)


_CANCELS: Mapping[CancelResult, Text] = {
    CancelResult.cancelling: texts.CANCELLING,
    CancelResult.already_cancelling: texts.ALREADY_CANCELLING,
    CancelResult.nothing_to_cancel: texts.NOTHING_TO_CANCEL,
    CancelResult.not_this_task: texts.NOT_THIS_TASK,
    CancelResult.not_yours: texts.NOT_YOURS,
}


def _say_task(task: TaskFacts | None, language: Language) -> str:
    if task is None:
        return texts.STATUS_IDLE.say(language)
    line = texts.STATUS_TASK.say(
        language,
        task=task.task,
        phase=STATES[task.state].say(language),
        step=task.step + 1,
        elapsed=say_duration(task.elapsed_ms, language),
        requester=clip_line(task.requester, NAME_CODE_POINTS),
    )
    return line + texts.STATUS_CANCELLING.say(language) if task.cancelling else line


def _say_ticket(ticket: PendingTicket, language: Language) -> str:
    return texts.STATUS_TICKET.say(
        language,
        ticket=ticket.ticket,
        action=clip_line(ticket.action, _LABEL_CODE_POINTS),
        left=say_duration(ticket.left_ms, language),
    )


def _say_sandboxes(sandboxes: Sequence[SandboxFacts], most: int, language: Language) -> str:
    if not sandboxes:
        return texts.STATUS_NO_SANDBOX.say(language, most=most)
    names = say_list((_say_sandbox(sandbox, language) for sandbox in sandboxes), language)
    return texts.STATUS_SANDBOXES.say(language, count=len(sandboxes), most=most, names=names)


def _say_sandbox(sandbox: SandboxFacts, language: Language) -> str:
    state = texts.SANDBOX_STATES[sandbox.state].say(language)
    if sandbox.left_ms is None:
        return texts.STATUS_SANDBOX.say(language, name=sandbox.name, state=state)
    left = say_duration(sandbox.left_ms, language)
    return texts.STATUS_SANDBOX_LEFT.say(language, name=sandbox.name, state=state, left=left)


def _say_switch(switch: SwitchFacts, language: Language) -> str:
    if not switch.blocked_because:
        state = texts.STATUS_IMAGE_SWITCHING.say(language)
    else:
        reason = say_fault(switch.blocked_because, language)
        state = texts.STATUS_IMAGE_BLOCKED.say(language, reason=reason)
    return texts.STATUS_IMAGE.say(language, state=state)


def _say_connection(fault: str, language: Language) -> str:
    if not fault:
        return texts.STATUS_CONNECTED.say(language)
    return texts.STATUS_DISCONNECTED.say(language, reason=say_fault(fault, language))


def _say_off(capabilities: Sequence[CapabilityOff], language: Language) -> str:
    names = (texts.STATUS_OFF_ONE.say(language, name=c.name, reason=c.reason) for c in capabilities)
    return texts.STATUS_OFF.say(language, names=say_list(names, language))


def _cap(lines: list[str], language: Language) -> list[str]:
    hidden = len(lines) - MAX_LISTED
    if hidden <= 0:
        return lines
    return [*lines[:MAX_LISTED], texts.STATUS_MORE.say(language, count=hidden)]
