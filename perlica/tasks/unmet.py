"""What a task asked an Owner for and did not get: tickets that were denied, expired or void.

Pure. A task that ends with an answer about such a ticket did not do what was asked, and its end
says so. A ticket for the same action that was drawn anew stands for the earlier one.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from perlica.domain.actions import ActionCatalog
from perlica.domain.approval import TicketState
from perlica.domain.task import EndReason
from perlica.domain.texts import Language, Text, clip_line
from perlica.domain.texts.notices import REASONS
from perlica.stores.approvals import Ticket

_REASONS: Final[Mapping[TicketState, EndReason]] = {
    TicketState.denied: EndReason.approval_denied,
    TicketState.expired: EndReason.approval_expired,
    TicketState.void: EndReason.approval_void,
}
_NAME_CODE_POINTS: Final = 40
_LINE: Final = Text(zh="{action}{target}：{reason}", en="{action}{target}: {reason}")
_TARGET: Final = Text(zh="（{name}）", en=" ({name})")


def unmet_tickets(tickets: Sequence[Ticket]) -> tuple[Ticket, ...]:
    """The dead tickets of a task, in their order, that no later one for the same replaced."""
    return tuple(
        ticket
        for place, ticket in enumerate(tickets)
        if ticket.state in _REASONS and not _is_made_good(ticket, tickets[place + 1 :])
    )


def end_reason(tickets: Sequence[Ticket]) -> EndReason:
    """Why a task that gave its answer ended: that, or the last approval that it did not get."""
    unmet = unmet_tickets(tickets)
    return _REASONS[unmet[-1].state] if unmet else EndReason.answered


def unmet_lines(
    tickets: Sequence[Ticket], language: Language, actions: ActionCatalog
) -> tuple[str, ...]:
    """One line for each approval that a task did not get."""
    return tuple(
        _LINE.say(
            language,
            action=actions.label(ticket.action, language),
            target=_say_target(ticket, language),
            reason=REASONS[_REASONS[ticket.state]].say(language),
        )
        for ticket in unmet_tickets(tickets)
    )


def _is_made_good(ticket: Ticket, later: Sequence[Ticket]) -> bool:
    """Whether a later ticket for the same action and thing stands for this one now."""
    return any(
        other.action == ticket.action and _name_of(other) == _name_of(ticket) for other in later
    )


def _say_target(ticket: Ticket, language: Language) -> str:
    name = _name_of(ticket)
    return _TARGET.say(language, name=clip_line(name, _NAME_CODE_POINTS)) if name else ""


def _name_of(ticket: Ticket) -> str:
    plan = json.loads(ticket.plan.content or "{}")
    target = plan.get("target") if isinstance(plan, dict) else None
    if not isinstance(target, dict):
        return ""
    return str(next((target[key] for key in ("sandbox", "name", "id") if target.get(key)), ""))
