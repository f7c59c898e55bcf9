"""Short ways to write conversations, streams and settings in tests of the model's door."""

from perlica.clients.model.settings import ModelSettings
from perlica.conversation import (
    AssistantMessage,
    Conversation,
    SentCall,
    SystemMessage,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from perlica.protection import Channel, Protected, protect
from tests.model.server import Json, encode_event

RUN = ToolSpec(
    name="sandbox_exec",
    description="Run a command.",
    parameters={"type": "object", "properties": {"argv": {"type": "array"}}},
)
DONE = b"data: [DONE]\n\n"


def sealed(text: str) -> Protected:
    return protect(text, Channel.MODEL)


QUESTION: Conversation = (
    SystemMessage(content=sealed("规则")),
    UserMessage(content=sealed("你好")),
)


def called(wire_id: str, arguments: str = "{}", *, reasoning: str | None = None) -> Conversation:
    """A conversation in which one call was made and answered."""
    call = SentCall(wire_id=wire_id, name=RUN.name, arguments=sealed(arguments))
    thought = None if reasoning is None else sealed(reasoning)
    return (
        *QUESTION,
        AssistantMessage(text=sealed(""), calls=(call,), reasoning=thought),
        ToolMessage(wire_id=wire_id, content=sealed("exit code 0")),
    )


def settings(url: str, **changes: Json) -> ModelSettings:
    """Settings with short deadlines and no waits."""
    short = {
        "connect_s": 2.0,
        "first_token_s": 5.0,
        "between_tokens_s": 5.0,
        "attempt_s": 8.0,
        "total_s": 9.0,
        "backoff_base_s": 0.001,
        "max_attempts": 1,
    }
    return ModelSettings(base_url=url, model="test-model", **{**short, **changes})


def delta(finish: str | None = None, **fields: Json) -> bytes:
    return encode_event({"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]})


def piece(index: int | None = None, **fields: Json) -> bytes:
    """A piece of a tool call; `name` and `arguments` stand in its function."""
    function = {key: fields.pop(key) for key in ("name", "arguments") if key in fields}
    position = {} if index is None else {"index": index}
    return delta(tool_calls=[{**position, **fields, "function": function}])


def usage(sent: int, written: int) -> bytes:
    return encode_event(
        {"choices": [], "usage": {"prompt_tokens": sent, "completion_tokens": written}}
    )
