"""The native runtime: one HTTP request, one turn.

An `AgentRuntime` over a client of `perlica.clients.model`; it only says in the contract's words
what the client returned. The checks are `perlica.runtimes.checks`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from perlica.clients.model.contract import Finish as ModelFinish
from perlica.clients.model.contract import ModelClient, ModelTurn
from perlica.conversation import Conversation, ToolSpec
from perlica.domain.cancel import CancelToken
from perlica.runtimes.contract import Finish, OpenTask, RawCall, RawTurn

_FINISHES: Final = {
    ModelFinish.stop: Finish.complete,
    ModelFinish.calls: Finish.complete,
    ModelFinish.length: Finish.cut_off,
    ModelFinish.filtered: Finish.filtered,
}


@dataclass(frozen=True, slots=True)
class NativeSession:
    """A session that holds nothing: each request carries the whole conversation."""

    client: ModelClient

    def turn(
        self, conversation: Conversation, tools: Sequence[ToolSpec], cancel: CancelToken
    ) -> RawTurn:
        """Fetch one turn: the contract's `turn`.

        Raises: Cancelled, Retryable, Refused, Misconfigured as the contract says.
        """
        return read_turn(self.client.complete(conversation, tools, cancel))

    def close(self) -> None:
        """Nothing is kept; the client's connections serve the next task too."""


@dataclass(frozen=True, slots=True)
class NativeRuntime:
    """An `AgentRuntime` over a `ModelClient`."""

    client: ModelClient

    def open(self, task: OpenTask, cancel: CancelToken) -> NativeSession:  # noqa: ARG002 - a model's API knows no tasks
        """A session for any task. Raises: Cancelled when the token was set."""
        cancel.check()
        return NativeSession(self.client)


def read_turn(turn: ModelTurn) -> RawTurn:
    """A model's turn in the words of the contract."""
    return RawTurn(
        text=turn.text,
        calls=tuple(
            RawCall(
                wire_id=call.provider_id,
                tool=call.name,
                arguments_json=call.arguments_json,
                is_oversized=call.is_oversized,
            )
            for call in turn.calls
        ),
        finish=_FINISHES[turn.finish],
        input_tokens=turn.input_tokens,
        output_tokens=turn.output_tokens,
        usage_is_estimate=turn.usage_is_estimate,
        reasoning=turn.reasoning,
        opaque=turn.opaque,
    )
