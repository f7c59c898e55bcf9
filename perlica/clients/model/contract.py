"""What is said to a model and what comes back, whatever API carries it.

A runtime builds a `Conversation` of protected texts, a client sends it and returns one `ModelTurn`,
whose texts are raw: they are protected before anything else is done with them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, TypeAlias

from perlica.domain.cancel import CancelToken
from perlica.domain.plan import JsonValue
from perlica.protection import Protected


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as it is declared to the model; `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemMessage:
    """The rules; the first message of a conversation."""

    content: Protected


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessage:
    """The window, or a note of the service in the course of a task."""

    content: Protected


@dataclass(frozen=True, slots=True, kw_only=True)
class SentCall:
    """A tool call as it is replayed: `wire_id` pairs it with its `ToolMessage`.

    `arguments` holds a JSON object, protected; anything else is replayed as `{}`.
    """

    wire_id: str
    name: str
    arguments: Protected


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantMessage:
    """An earlier turn of the model, replayed.

    `reasoning` is None where the provider gave none; `opaque` are signed thinking blocks in the
    form in which the same API's client returned them, replayed unchanged.
    """

    text: Protected
    calls: tuple[SentCall, ...] = ()
    reasoning: Protected | None = None
    opaque: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolMessage:
    """The result of one call, wrapped as data (`perlica.session.wrapper`)."""

    wire_id: str
    content: Protected
    is_error: bool = False


ChatMessage: TypeAlias = SystemMessage | UserMessage | AssistantMessage | ToolMessage
Conversation: TypeAlias = tuple[ChatMessage, ...]
"""In order. All results of an assistant message's calls follow it, before any other message."""


class Finish(StrEnum):
    """Why the model stopped, in one vocabulary for all providers."""

    stop = "stop"
    calls = "calls"
    length = "length"
    filtered = "filtered"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """A call as the model wrote it: `arguments_json` is not checked and may be no JSON at all.

    `is_oversized` says that the arguments passed the client's limit and were dropped.
    """

    provider_id: str = field(repr=False)
    name: str = field(repr=False)
    arguments_json: str = field(repr=False)
    is_oversized: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTurn:
    """One answer of a model, raw: protect it before anything else.

    Token counts are the provider's; where it gave none they are estimated from bytes and
    `usage_is_estimate` says so. `attempts` counts the requests that were made for it.
    """

    text: str = field(repr=False)
    calls: tuple[ModelCall, ...]
    finish: Finish
    input_tokens: int
    output_tokens: int
    reasoning: str | None = field(default=None, repr=False)
    opaque: bytes | None = field(default=None, repr=False)
    usage_is_estimate: bool = False
    attempts: int = 1


class ModelClient(Protocol):
    """A model behind one API; one instance may serve several threads."""

    def complete(
        self, conversation: Conversation, tools: Sequence[ToolSpec], cancel: CancelToken
    ) -> ModelTurn:
        """Fetch one turn; nothing of it is visible before it is whole, so failures are retried
        inside.

        Raises:
            Cancelled: the token was set; the socket is closed.
            Retryable: every attempt failed, or the total deadline passed.
            Refused: the provider will not answer this request.
            Misconfigured: key, address, model name, balance or dialect is wrong.
        """
        ...

    def probe(self, cancel: CancelToken) -> tuple["ProbeFinding", ...]:
        """Ask the provider for one word, for `perlica doctor`; never raises for a bad answer."""
        ...

    def close(self) -> None:
        """Close idle connections."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeFinding:
    """One line for doctor: `code` is stable, `remedy` says what an operator may do ("" when it is
    good).
    """

    is_good: bool
    code: str
    text: str
    remedy: str = ""
