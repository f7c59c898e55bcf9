"""The contract of an agent runtime: who turns a conversation into the next turn.

The loop (`perlica.session.loop`) owns everything that lasts; a runtime only thinks. The native
runtime (`perlica.runtimes.native.runtime`) speaks to a model over HTTP; others (pi, agents over
ACP) may stand behind the same contract.

A session lasts from a task's first turn in this process to the task's end or the stop of the
service. After a restart it is opened anew and given the whole conversation. Every turn that it
returns is looked at by `perlica.runtimes.checks` before anybody acts on it.

A runtime may:

- send the conversation and the tools that it was given to a model, as often as one turn needs;
- repeat a request that failed, because nothing of a turn is visible before `turn` returns;
- keep connections and processes for the next turn of the same task.

A runtime may not:

- execute a tool, or let anything behind it execute one: calls are returned, the gateway decides;
- offer the model other tools, texts or skills than it was given;
- call a model for another purpose than the turn it was asked for;
- remember a task beyond its session: what it needs again is in the next conversation;
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

UNKNOWN_TOOL: Final = "unknown_tool"
"""The name under which a call of a tool that does not exist is kept: the model's own is foreign
text.
"""
RUNTIME_FAULT: Final = "runtime_fault"
"""The code of the `Refused` that a runtime's fault becomes: whatever the contract does not name."""

_REASONS: Final = {
    RUNTIME_FAULT: EndReason.internal_fault,
    "protection_incomplete": EndReason.protection_failed,
    "protection_failed": EndReason.protection_failed,
    "protection_altered_thinking": EndReason.protection_altered,
}


# --- what a runtime is given and returns --------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTask:
    """The task that a session is opened for; `id` tells one session from another, nothing more."""

    id: TaskId


class Finish(StrEnum):
    """Whether the model came to its end: half a turn is no turn, whatever it holds."""

    complete = "complete"
    cut_off = "cut_off"
    filtered = "filtered"


@dataclass(frozen=True, slots=True, kw_only=True)
class RawCall:
    """A call as the model wrote it: `arguments_json` may be no JSON, `tool` may not exist.

    `wire_id` is the provider's id, "" where it gave none. `is_oversized` says that the arguments
    passed a limit of the runtime's and were dropped.
    """

    wire_id: str = field(repr=False)
    tool: str = field(repr=False)
    arguments_json: str = field(repr=False)
    is_oversized: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RawTurn:
    """One turn as a runtime returns it: unchecked, unprotected.

    Tokens are the provider's count, or an estimate where `usage_is_estimate` says so. `reasoning`
    is None where the provider gave none. `opaque` is JSON in UTF-8 that the provider wants back
    unchanged; it comes back in the turn's `AssistantMessage`.
    """

    text: str = field(repr=False)
    calls: tuple[RawCall, ...] = ()
    finish: Finish = Finish.complete
    input_tokens: int
    output_tokens: int
    usage_is_estimate: bool = False
    reasoning: str | None = field(default=None, repr=False)
    opaque: bytes | None = field(default=None, repr=False)


class RuntimeSession(Protocol):
    """Thinks for one task; used by one thread at a time."""

    def turn(
        self, conversation: Conversation, tools: Sequence[ToolSpec], cancel: CancelToken
    ) -> RawTurn:
        """The next turn after `conversation`, which is always the whole one.

        Raises:
            Cancelled: the token was set.
            Retryable: the model could not be reached in time; nothing happened.
            Refused: the model or its provider will not answer this conversation.
            Misconfigured: an operator must change something first.
        """
        ...

    def close(self) -> None:
        """End what was kept for the task. Called once, in a thread of its own, after the last turn.

        It should return at once: nobody waits for it longer than a few seconds, and the next task's
        session may be opened while it still runs.
        """
        ...


class AgentRuntime(Protocol):
    """Opens sessions: see the module's text for what they may and may not do."""

    def open(self, task: OpenTask, cancel: CancelToken) -> RuntimeSession:
        """A session for `task`.

        Raises:
            Cancelled: the token was set.
            Retryable: what the session needs could not be reached in time; nothing happened.
            Refused: there will be no session for this task.
            Misconfigured: an operator must change something first.
        """
        ...


# --- what the loop is given after the checks ----------------------------------------------------


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
    """What the model did in one turn, checked; all texts are raw: protect them before anything
    else.

    Exactly one of three: `calls` to take to the gateway; an `end` (`answered`, or why there is no
    answer); or a `correction`, a note to append so that the model tries again.
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


def find_end_reason(error: PerlicaError) -> EndReason:
    """Why a task ends when a turn failed with `error`, which is none of `Cancelled`."""
    if error.code in REASON_OF:
        return REASON_OF[error.code]
    if error.code in _REASONS:
        return _REASONS[error.code]
    return EndReason.model_refused if isinstance(error, Refused) else EndReason.model_failed
