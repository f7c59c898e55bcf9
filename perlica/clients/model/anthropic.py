"""The Anthropic messages API: requests, streams, tool use, and thinking blocks with their
signatures.

`AnthropicClient` is what `open_client` gives for `api = "anthropic"`; docs/facts/models.md.
"""

from collections.abc import Sequence
from typing import Final, cast

from perlica.clients.model.drafts import (
    CallDraft,
    TurnDraft,
    read_count,
    read_list,
    read_map,
    read_name,
    read_object,
    read_text,
    write_arguments,
    write_json,
)
from perlica.clients.model.encoding import encode_json, open_text, read_arguments
from perlica.clients.model.error_mapping import judge_stream_error
from perlica.clients.model.exchange import HttpModelClient
from perlica.clients.model.finishes import read_finish
from perlica.clients.model.settings import ModelSettings
from perlica.clients.model.sse import ServerEvent
from perlica.clients.model.thinking import ThinkingBlock, pack_thinking, unpack_thinking
from perlica.conversation import (
    AssistantMessage,
    ChatMessage,
    Conversation,
    SystemMessage,
    ToolMessage,
    ToolSpec,
)
from perlica.domain.plan import JsonValue

API_VERSION: Final = "2023-06-01"
_THINKING: Final = frozenset({"thinking", "redacted_thinking"})
_INPUT_COUNTS: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class AnthropicClient(HttpModelClient):
    """A model behind the Anthropic messages API."""

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__(settings, AnthropicApi(settings))


class AnthropicApi:
    """How this API is written and read."""

    path = "v1/messages"
    needs_retry_after = True

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings

    def headers(self, key: str | None) -> dict[str, str]:
        """The key's header and the version's."""
        return {"anthropic-version": API_VERSION, **({"x-api-key": key} if key else {})}

    def encode(self, conversation: Conversation, tools: Sequence[ToolSpec]) -> bytes:
        """The request's body. Raises: Refused when a text could not be scanned to its end."""
        settings = self._settings
        system = [open_text(m.content) for m in conversation if isinstance(m, SystemMessage)]
        body: dict[str, JsonValue] = {
            "model": settings.model,
            "max_tokens": settings.max_output_tokens,
            "messages": _messages(conversation),
            "stream": True,
        }
        if system:
            body["system"] = "\n\n".join(system)
        if settings.temperature is not None:
            body["temperature"] = settings.temperature
        if tools:
            body["tools"] = [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": dict(tool.parameters),
                }
                for tool in tools
            ]
        return encode_json({**body, **settings.extra_body})

    def reader(self) -> "AnthropicReader":
        """A reader for one answer."""
        return AnthropicReader(self._settings)


class AnthropicReader:
    """Reads one answer, streamed or whole."""

    def __init__(self, settings: ModelSettings) -> None:
        self.draft = TurnDraft(settings)
        self.is_over = False
        self._thinking: dict[int, ThinkingBlock] = {}
        self._open: dict[int, CallDraft] = {}
        self._starts: list[tuple[CallDraft, object]] = []
        self._has_text_block = False

    def take(self, event: ServerEvent) -> bool:
        """Take one event in; whether the model said something in it."""
        body = read_object(event.data)
        index = read_count(body.get("index")) or 0
        match read_text(body.get("type")) or event.name:
            case "message_start":
                self._take_usage(read_map(read_map(body.get("message")).get("usage")))
            case "content_block_start":
                return self._start_block(index, read_map(body.get("content_block")))
            case "content_block_delta":
                return self._take_delta(index, read_map(body.get("delta")))
            case "message_delta":
                self._take_usage(read_map(body.get("usage")))
                self._take_finish(read_map(body.get("delta")).get("stop_reason"))
            case "message_stop":
                self.is_over = True
            case "error":
                judge_stream_error(body.get("error"))
        return False

    def take_whole(self, body: bytes) -> None:
        """Take in an answer that came as one document."""
        message = read_object(body)
        if message.get("error"):
            judge_stream_error(message["error"])
        for index, raw in enumerate(read_list(message.get("content"))):
            self._start_block(index, read_map(raw))
        self._take_usage(read_map(message.get("usage")))
        self._take_finish(message.get("stop_reason"))
        self.is_over = True

    def _start_block(self, index: int, block: dict[str, object]) -> bool:
        kind = read_text(block.get("type"))
        if kind == "text":
            self._has_text_block = True
            return self.draft.add_text(read_text(block.get("text")))
        if kind == "tool_use":
            call = self.draft.new_call(index)
            call.provider_id, call.name = read_name(block.get("id")), read_name(block.get("name"))
            self._open[index] = call
            self._starts.append((call, block.get("input")))
            return True
        if kind in _THINKING:
            after = len(self.draft.calls) + int(self._has_text_block)
            self.draft.count(write_json(block))
            self._thinking[index] = ThinkingBlock(after=after, block=dict(block))
            return True
        return False

    def _take_delta(self, index: int, delta: dict[str, object]) -> bool:
        match delta.get("type"):
            case "text_delta":
                return self.draft.add_text(read_text(delta.get("text")))
            case "input_json_delta" if index in self._open:
                call = self._open[index]
                return self.draft.add_arguments(call, read_text(delta.get("partial_json")))
            case "thinking_delta":
                return self._extend_thinking(index, "thinking", read_text(delta.get("thinking")))
            case "signature_delta":
                return self._extend_thinking(index, "signature", read_text(delta.get("signature")))
        return False

    def _extend_thinking(self, index: int, name: str, piece: str) -> bool:
        if index not in self._thinking:
            return False
        self.draft.count(piece)
        block = self._thinking[index].block
        block[name] = read_text(block.get(name)) + piece
        return bool(piece)

    def _take_finish(self, raw: object) -> None:
        finish = read_finish(raw)
        if finish is None:
            return
        for call, start in self._starts:
            self._use_start(call, start)
        self.draft.opaque = pack_thinking([self._thinking[i] for i in sorted(self._thinking)])
        self.draft.finish = finish

    def _use_start(self, call: CallDraft, start: object) -> None:
        """A tool without parameters streams no arguments: its start block holds them."""
        if call.arguments_bytes == 0 and isinstance(start, dict):
            self.draft.add_arguments(call, write_arguments(start))

    def _take_usage(self, usage: dict[str, object]) -> None:
        counts = [read_count(usage.get(name)) for name in _INPUT_COUNTS]
        if counts[0] is not None:
            self.draft.input_tokens = sum(count or 0 for count in counts)
        written = read_count(usage.get("output_tokens"))
        if written is not None:
            self.draft.output_tokens = written


def _messages(conversation: Conversation) -> list[JsonValue]:
    """Alternating turns: results and notes between two assistant turns are one user turn."""
    turns: list[tuple[str, list[JsonValue]]] = []
    for message in conversation:
        if isinstance(message, SystemMessage):
            continue
        role = "assistant" if isinstance(message, AssistantMessage) else "user"
        if not turns or turns[-1][0] != role:
            turns.append((role, []))
        turns[-1][1].extend(_blocks(message))
    return [{"role": role, "content": blocks} for role, blocks in turns if blocks]


def _blocks(message: ChatMessage) -> list[JsonValue]:
    match message:
        case ToolMessage():
            result: dict[str, JsonValue] = {
                "type": "tool_result",
                "tool_use_id": message.wire_id,
                "content": open_text(message.content),
            }
            return [{**result, "is_error": True} if message.is_error else result]
        case AssistantMessage():
            return _assistant_blocks(message)
        case _:
            return [{"type": "text", "text": open_text(message.content)}]


def _assistant_blocks(message: AssistantMessage) -> list[JsonValue]:
    text = open_text(message.text)
    others: list[JsonValue] = [{"type": "text", "text": text}] if text.strip() else []
    others += [
        {"type": "tool_use", "id": call.wire_id, "name": call.name, "input": read_arguments(call)}
        for call in message.calls
    ]
    blocks: list[JsonValue] = []
    thinking = list(unpack_thinking(message.opaque))
    for position in range(len(others) + 1):
        while thinking and (thinking[0].after <= position or position == len(others)):
            blocks.append(cast(JsonValue, thinking.pop(0).block))
        blocks += others[position : position + 1]
    return blocks
