"""A conversation with a model: what is said to it and the tools it is offered, all protected.

The session builds it from the rows, a runtime turns it into the next turn, a client of
`perlica.clients.model` writes it down for one API.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from perlica.domain.plan import JsonValue
from perlica.protection import Protected

MAX_OPAQUE_BYTES: Final = 1_048_576
"""The bound of the column `session_events.opaque`."""


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

    `reasoning` is None where the provider gave none; `opaque` is what the provider wants back, as
    JSON of at most `MAX_OPAQUE_BYTES` in the form in which the runtime returned it.
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
