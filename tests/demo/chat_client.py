"""A small OpenAI-compatible client for the tests of the model stand-ins: requests, nothing more."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import requests

from perlica.demo.model.server import ModelServer
from tests.demo.peer import Json

WITHIN_S = 10
Executor = Callable[[str, dict[str, Any]], str]


def ask(model: ModelServer, messages: list[Json], tools: list[Json], **more: object) -> Json:
    """One turn without streaming: the assistant's message."""
    answer = post(model, {"messages": messages, "tools": tools, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()["choices"][0]["message"]


def post(model: ModelServer, body: dict[str, Any], **more: Any) -> requests.Response:
    """POST to the chat path with the model's own key."""
    return requests.post(
        f"{model.base_url}/chat/completions",
        json={"model": model.models[0], **body},
        headers={"Authorization": f"Bearer {model.api_key}"},
        timeout=WITHIN_S,
        **more,
    )


def stream(model: ModelServer, messages: list[Json], **more: object) -> Iterator[str]:
    """The lines of a streamed turn, comments and blank lines included."""
    body = {"messages": messages, "stream": True, **more}
    with post(model, body, stream=True) as answer:
        for line in answer.iter_lines():
            yield line.decode()


def read_stream(lines: Iterator[str]) -> Json:
    """The assistant's message and the usage out of a stream's chunks, put together by index."""
    text, reasoning, usage, finish = "", "", None, None
    calls: dict[int, dict[str, str]] = {}
    for line in lines:
        if not line.startswith("data: ") or line == "data: [DONE]":
            continue
        chunk = json.loads(line.removeprefix("data: "))
        usage = chunk.get("usage") or usage
        for choice in chunk["choices"]:
            finish = choice["finish_reason"] or finish
            text += choice["delta"].get("content") or ""
            reasoning += choice["delta"].get("reasoning_content") or ""
            for part in choice["delta"].get("tool_calls", ()):
                call = calls.setdefault(part["index"], {"id": "", "name": "", "arguments": ""})
                call["id"] += part.get("id", "")
                call["name"] += part["function"].get("name", "")
                call["arguments"] += part["function"].get("arguments", "")
    return {
        "text": text,
        "reasoning": reasoning,
        "calls": [calls[index] for index in sorted(calls)],
        "usage": usage,
        "finish": finish,
    }


def work_off(
    model: ModelServer, request: str, tools: list[Json], execute: Executor, *, most_turns: int = 12
) -> tuple[str, list[tuple[str, dict[str, Any]]]]:
    """Play a whole task: the final text, and every call that was made."""
    messages: list[Json] = [{"role": "system", "content": "规则"}]
    messages.append({"role": "user", "content": request})
    made: list[tuple[str, dict[str, Any]]] = []
    for _ in range(most_turns):
        turn = ask(model, messages, tools)
        messages.append(turn)
        for call in turn.get("tool_calls", ()):
            name = call["function"]["name"]
            arguments = json.loads(call["function"]["arguments"])
            made.append((name, arguments))
            messages.append(
                {"role": "tool", "tool_call_id": call["id"], "content": execute(name, arguments)}
            )
        if not turn.get("tool_calls"):
            return turn["content"], made
    raise AssertionError(f"no end after {most_turns} turns: {made}")
