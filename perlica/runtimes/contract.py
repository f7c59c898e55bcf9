"""The contract of an agent runtime: who turns a conversation into the next turn.

The loop (`perlica.session.loop`) owns everything that lasts; a runtime only thinks. The native
runtime (`perlica.runtimes.native.runtime`) speaks to a model over HTTP; others may stand behind the
same contract.

A runtime may:

- send the conversation and the tools that it was given to a model, as often as one turn needs;
- repeat a request that failed, because nothing of a turn is visible before `turn` returns;
- keep connections and processes for the next turn, until the task's session is closed.

A runtime may not:

- execute a tool, or let anything behind it execute one: calls are returned, the gateway decides;
- offer the model other tools, texts or skills than it was given, or call a model for another
  purpose;
- remember a task: after a restart the same conversation is given to a new session;
- write files, read the database, or pass on an error text of a provider;
- go on after `cancel` was set: it returns or raises `Cancelled` within two seconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from perlica.conversation import Conversation, ToolSpec
from perlica.domain.cancel import CancelToken
from perlica.domain.errors import PerlicaError, Refused
from perlica.domain.ids import CallId, TaskId
from perlica.domain.task import EndReason
from perlica.domain.texts.models import REASON_OF

UNKNOWN_TOOL = "unknown_tool"
"""The name under which a call of a tool that does not exist is kept: the model's own is foreign
text.
"""
RUNTIME_FAULT: Final = "runtime_fault"
"""The code of what a runtime raised against its contract."""

_REASONS: Final = {
    "protection_incomplete": EndReason.protection_failed,
    "protection_failed": EndReason.protection_failed,
    "protection_altered_thinking": EndReason.protection_altered,
    RUNTIME_FAULT: EndReason.internal_fault,
}


class RuntimeName(StrEnum):
    """Runtimes that a configuration may name."""

    native = "native"


class CallFault(StrEnum):
    """Why a call never runs; its result says so to the model."""

    unknown_tool = "unknown_tool"
    malformed_arguments = "malformed_arguments"
    oversized_arguments = "oversized_arguments"
    unscannable_arguments = "unscannable_arguments"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedCall:
    """A tool call of this turn; `id` is drawn by us, `wire_id` pairs call and result at the
    provider.

    `arguments_json` is raw: a JSON object unless `fault` says otherwise.
    """

    id: CallId
    wire_id: str
    tool: str
    arguments_json: str = field(repr=False)
    fault: CallFault | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTurn:
    """What the model did in one turn; all texts are raw: protect them before anything else.

    Exactly one of three: `calls` to take to the gateway; an `end` (`answered`, or why there is no
    answer); or a `correction`, a note to append so that the model tries again. `opaque` is JSON
    that the runtime wants back unchanged with the conversation.
    """

    text: str = field(repr=False)
    calls: tuple[RequestedCall, ...] = ()
    end: EndReason | None = None
    correction: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    usage_is_estimate: bool = False
    reasoning: str | None = field(default=None, repr=False)
    opaque: bytes | None = field(default=None, repr=False)


class RuntimeSession(Protocol):
    """Thinks about one task, from its first turn in this process to its end."""

    def turn(
        self, conversation: Conversation, tools: Sequence[ToolSpec], cancel: CancelToken
    ) -> AgentTurn:
        """The next turn after `conversation`, which is always whole.

        Raises:
            Cancelled: the token was set.
            Retryable: the model could not be reached in time; nothing happened.
            Refused: the model or its provider will not answer this conversation.
            Misconfigured: an operator must change something first.
        """
        ...

    def close(self) -> None:
        """The task has ended, or the service stops: let go what was kept. Called once."""
        ...


class AgentRuntime(Protocol):
    """Thinks: see the module's text for what it may and may not do."""

    def open(self, task: TaskId, cancel: CancelToken) -> RuntimeSession:
        """Begin to think about a task. Raises: as `RuntimeSession.turn`; nothing is kept then."""
        ...


def find_end_reason(error: PerlicaError) -> EndReason:
    """Why a task ends when a turn failed with `error`, which is none of `Cancelled`."""
    if error.code in REASON_OF:
        return REASON_OF[error.code]
    if error.code in _REASONS:
        return _REASONS[error.code]
    return EndReason.model_refused if isinstance(error, Refused) else EndReason.model_failed
