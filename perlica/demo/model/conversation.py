"""A chat request as an OpenAI-compatible server reads it, with the rules such servers enforce.

Source: docs/facts/models.md. A request that breaks a rule is answered with 400, as real servers do.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class BadConversation(ValueError):
    """The messages break a rule; the text is what the server answers."""


class _Wire(BaseModel):
    """Clients may send more fields than we know."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Function(_Wire):
    """Name and arguments of a call that is replayed."""

    name: str
    arguments: str


class ReplayedCall(_Wire):
    """A tool call of an earlier turn."""

    id: str
    type: Literal["function"] = "function"
    function: Function


class ChatMessage(_Wire):
    """One message; content may be text or text parts."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[dict[str, Any]] | None = None
    tool_calls: tuple[ReplayedCall, ...] = ()
    tool_call_id: str | None = None
    reasoning_content: str | None = None

    @property
    def text(self) -> str:
        """The content as text."""
        if isinstance(self.content, list):
            return "".join(str(part.get("text", "")) for part in self.content)
        return self.content or ""


class DeclaredFunction(_Wire):
    """A tool the client offers."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = Field(default_factory=dict)


class DeclaredTool(_Wire):
    """Its envelope."""

    type: Literal["function"]
    function: DeclaredFunction


class StreamOptions(_Wire):
    """What a stream carries beside the turn."""

    include_usage: bool = False


class ChatRequest(_Wire):
    """POST /v1/chat/completions."""

    model: str
    messages: tuple[ChatMessage, ...] = Field(min_length=1)
    tools: tuple[DeclaredTool, ...] = ()
    stream: bool = False
    stream_options: StreamOptions | None = None

    def find_tool(self, name: str) -> DeclaredFunction | None:
        """The declared tool of that name."""
        return next((t.function for t in self.tools if t.function.name == name), None)

    @property
    def wants_usage(self) -> bool:
        """Whether a last chunk with the token counts is asked for."""
        return self.stream_options is not None and self.stream_options.include_usage


def check_conversation(request: ChatRequest, *, demands_reasoning: bool = False) -> None:
    """Hold the request against the rules on tool calls and, if asked, on reasoning.

    Raises:
        BadConversation: a call without result, a result without call, or missing reasoning.
    """
    open_ids: set[str] = set()
    for message in request.messages:
        if message.role == "tool":
            if message.tool_call_id not in open_ids:
                raise BadConversation(
                    "messages with role 'tool' must be a response to a preceding message with"
                    " 'tool_calls'"
                )
            open_ids.discard(message.tool_call_id)
            continue
        _refuse_open_calls(open_ids)
        open_ids = {call.id for call in message.tool_calls}
        if message.tool_calls and demands_reasoning and message.reasoning_content is None:
            raise BadConversation(
                "The reasoning_content in the thinking mode must be passed back to the API"
            )
    _refuse_open_calls(open_ids)


def _refuse_open_calls(open_ids: set[str]) -> None:
    if open_ids:
        raise BadConversation(
            "An assistant message with 'tool_calls' must be followed by tool messages responding"
            f" to each 'tool_call_id'; missing: {', '.join(sorted(open_ids))}"
        )
