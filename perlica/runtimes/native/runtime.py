"""The native runtime: one HTTP request, one turn, checked before anybody acts on it.

Used by the agent loop through `perlica.runtimes.contract`.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from perlica.clients.model.contract import Finish, ModelClient, ModelTurn
from perlica.conversation import Conversation, ToolSpec
from perlica.domain.cancel import CancelToken
from perlica.domain.ids import TaskId
from perlica.domain.task import EndReason
from perlica.runtimes.checks import WrittenCall, check_calls, check_text, wire_ids
from perlica.runtimes.contract import AgentTurn, RequestedCall


@dataclass(frozen=True, slots=True)
class NativeRuntime:
    """An `AgentRuntime` over a `ModelClient`, which keeps its connections for all tasks."""

    client: ModelClient

    def open(self, _task: TaskId, _cancel: CancelToken) -> "NativeSession":
        """Nothing is begun: a turn is one request."""
        return NativeSession(self.client)


@dataclass(frozen=True, slots=True)
class NativeSession:
    """A `RuntimeSession`; keeps nothing of the task."""

    client: ModelClient

    def turn(
        self, conversation: Conversation, tools: Sequence[ToolSpec], cancel: CancelToken
    ) -> AgentTurn:
        """Fetch one turn and check it: the contract's `turn`."""
        turn = self.client.complete(conversation, tools, cancel)
        return check_turn(turn, tools, wire_ids(conversation))

    def close(self) -> None:
        """Nothing was kept."""


def check_turn(
    turn: ModelTurn, tools: Sequence[ToolSpec], used_wire_ids: Collection[str]
) -> AgentTurn:
    """What a model's turn means.

    A turn that was cut off or filtered ends the task whatever it holds: half a call is not a call.
    """
    end: EndReason | None = None
    correction = ""
    calls: tuple[RequestedCall, ...] = ()
    if turn.finish is Finish.length:
        end = EndReason.incomplete_answer
    elif turn.finish is Finish.filtered:
        end = EndReason.model_filtered
    elif turn.calls:
        written = [
            WrittenCall(
                provider_id=call.provider_id,
                name=call.name,
                arguments_json=call.arguments_json,
                is_oversized=call.is_oversized,
            )
            for call in turn.calls
        ]
        calls = check_calls(written, tools, used_wire_ids)
    else:
        end, correction = check_text(turn.text, tools)
    return AgentTurn(
        text=turn.text,
        calls=calls,
        end=end,
        correction=correction,
        input_tokens=turn.input_tokens,
        output_tokens=turn.output_tokens,
        usage_is_estimate=turn.usage_is_estimate,
        reasoning=turn.reasoning,
        opaque=turn.opaque,
    )
