"""How a tool call can end at the gateway; the agent loop commits what these say."""

from dataclasses import dataclass

from perlica.domain.ids import OperationId, TicketId
from perlica.domain.task import EndReason
from perlica.protection import Channel, Protected, protect

WITHHELD = "the result is withheld: content protection could not finish on it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The call has a result for the model; `source` says where it came from."""

    content: Protected
    source: str
    failed: bool = False
    operation: OperationId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspended:
    """The call waits for an Owner; ticket, message and the task's state are committed."""

    ticket: TicketId


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The task cannot go on; the recovery queue holds the operation."""

    reason: EndReason
    operation: OperationId


CallEnd = Answered | Suspended | Ended


def answer(
    text: str | Protected,
    *,
    source: str,
    failed: bool = False,
    operation: OperationId | None = None,
) -> Answered:
    """A result, protected whole before anything cuts it; withheld where that failed."""
    content = text if isinstance(text, Protected) else protect(text, Channel.TOOL_RESULT)
    if text and not content.content:
        content = protect(WITHHELD, Channel.TOOL_RESULT)
    return Answered(content=content, source=source, failed=failed, operation=operation)


def refusal(text: str) -> Answered:
    """The gateway's own no, as a result."""
    return answer(text, source="perlica gateway", failed=True)
