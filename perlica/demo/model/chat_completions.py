"""The OpenAI-compatible wire format: a reply as one JSON object or as stream chunks.

Another API (Anthropic messages) would be a second module with the same three functions, chosen by
the path of the request. Source: docs/facts/models.md.
"""

import itertools
import json
import time
from collections.abc import Iterator
from typing import Any

from perlica.demo.model.conversation import ChatRequest
from perlica.demo.model.reply import Call, Reply

PATH = "/v1/chat/completions"
DONE = b"data: [DONE]\n\n"
KEEP_ALIVE = b": keep-alive\n\n"
CHARS_FOR_A_TOKEN = 3
MOST_FRAGMENTS = 40
_numbers = itertools.count(1)


def whole(request: ChatRequest, reply: Reply) -> dict[str, Any]:
    """The answer to a request without `stream`."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.reasoning is not None:
        message["reasoning_content"] = reply.reasoning
    if reply.calls:
        message["tool_calls"] = [_call(call) for call in reply.calls]
    choice = {"index": 0, "message": message, "finish_reason": reply.finish_reason}
    return {
        **_head(request, "chat.completion"),
        "choices": [choice],
        "usage": usage(request, reply),
    }


def chunks(
    request: ChatRequest, reply: Reply, *, has_finish: bool = True, is_done: bool = True
) -> Iterator[bytes]:
    """The answer to a request with `stream`, fragment by fragment, as server-sent events."""
    head = _head(request, "chat.completion.chunk")

    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return event({**head, "choices": [choice]})

    yield KEEP_ALIVE
    yield chunk({"role": "assistant", "content": ""})
    for fragment in fragments(reply.reasoning or ""):
        yield chunk({"reasoning_content": fragment})
    for fragment in fragments(reply.text):
        yield chunk({"content": fragment})
    for index, call in enumerate(reply.calls):
        for delta in _call_deltas(index, call):
            yield chunk({"tool_calls": [delta]})
    if has_finish:
        yield chunk({}, reply.finish_reason)
    if request.wants_usage:
        yield event({**head, "choices": [], "usage": usage(request, reply)})
    if is_done:
        yield DONE


def event(value: object) -> bytes:
    """One server-sent event."""
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode("utf-8", "replace")


def error(message: str, *, kind: str = "invalid_request_error") -> dict[str, Any]:
    """The body of a refusal."""
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def usage(request: ChatRequest, reply: Reply) -> dict[str, int]:
    """Invented but plausible token counts."""
    asked = sum(len(message.text) for message in request.messages) // CHARS_FOR_A_TOKEN + 1
    said = len(reply.text) + sum(len(call.arguments_text) for call in reply.calls)
    answered = said // CHARS_FOR_A_TOKEN + 1
    return {
        "prompt_tokens": asked,
        "completion_tokens": answered,
        "total_tokens": asked + answered,
    }


def fragments(text: str) -> Iterator[str]:
    """The text in a few dozen pieces, however long it is."""
    size = max(len(text) // MOST_FRAGMENTS, 4)
    return (text[start : start + size] for start in range(0, len(text), size))


def _call_deltas(index: int, call: Call) -> Iterator[dict[str, Any]]:
    """Id and name come with the first fragment only."""
    function = {"name": call.tool, "arguments": ""}
    yield {"index": index, "id": call.id, "type": "function", "function": function}
    for fragment in fragments(call.arguments_text):
        yield {"index": index, "function": {"arguments": fragment}}


def _call(call: Call) -> dict[str, Any]:
    function = {"name": call.tool, "arguments": call.arguments_text}
    return {"id": call.id, "type": "function", "function": function}


def _head(request: ChatRequest, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{next(_numbers)}",
        "object": kind,
        "created": int(time.time()),
        "model": request.model,
    }
