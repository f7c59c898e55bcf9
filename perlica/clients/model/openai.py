"""The OpenAI-compatible chat completions API: requests, streams, and the quirks of its many
servers.

`OpenAiClient` is what `open_client` gives for `api = "openai"`; docs/facts/models.md lists the
quirks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from perlica.clients.model.call_pieces import CallPart, CallSorter, read_index
from perlica.clients.model.contract import Finish
from perlica.clients.model.drafts import (
    TurnDraft,
    read_count,
    read_list,
    read_map,
    read_name,
    read_object,
    read_text,
    write_arguments,
)
from perlica.clients.model.encoding import encode_json, open_text, read_arguments
from perlica.clients.model.error_mapping import judge_stream_error
from perlica.clients.model.exchange import HttpModelClient
from perlica.clients.model.finishes import read_finish
from perlica.clients.model.settings import Dialect, ModelSettings
from perlica.clients.model.sse import ServerEvent
from perlica.clients.model.wanted_back import (
    collect_call,
    collect_turn,
    pack_returned,
    unpack_returned,
)
from perlica.conversation import (
    AssistantMessage,
    ChatMessage,
    Conversation,
    SystemMessage,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from perlica.domain.plan import JsonValue

_DONE: Final = "[DONE]"


class OpenAiClient(HttpModelClient):
    """A model behind an OpenAI-compatible server."""

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__(settings, OpenAiApi(settings))


class OpenAiApi:
    """How this API is written and read."""

    path = "chat/completions"
    needs_retry_after = False

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings

    def headers(self, key: str | None) -> dict[str, str]:
        """The key's header."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    def encode(self, conversation: Conversation, tools: Sequence[ToolSpec]) -> bytes:
        """The request's body. Raises: Refused when a text could not be scanned to its end."""
        settings = self._settings
        replays = _reasoning_replay(settings.effective_dialect, conversation)
        body: dict[str, JsonValue] = {
            "model": settings.model,
            "messages": [_message(message, replays) for message in conversation],
            "stream": True,
            settings.effective_max_tokens_field: settings.max_output_tokens,
        }
        if settings.asks_for_usage:
            body["stream_options"] = {"include_usage": True}
        if settings.temperature is not None:
            body["temperature"] = settings.temperature
        if tools:
            body["tools"] = [_tool(tool) for tool in tools]
            body["tool_choice"] = "auto"
        return encode_json({**body, **settings.extra_body})

    def reader(self) -> "OpenAiReader":
        """A reader for one answer."""
        return OpenAiReader(self._settings)


class OpenAiReader:
    """Reads one answer, streamed or whole."""

    def __init__(self, settings: ModelSettings) -> None:
        self.draft = TurnDraft(settings)
        self.is_over = False
        self._was_refused = False
        self._calls = CallSorter(self.draft)

    def take(self, event: ServerEvent) -> bool:
        """Take one chunk in; whether the model said something in it."""
        if event.data.strip() == _DONE:
            self.is_over = True
            return False
        chunk = read_object(event.data)
        _raise_error(chunk)
        self._take_usage(chunk)
        moved = False
        for raw in read_list(chunk.get("choices")):
            choice = read_map(raw)
            if choice.get("index", 0) == 0:
                moved = self._take_delta(read_map(choice.get("delta"))) or moved
                self._take_finish(choice.get("finish_reason"))
        return moved

    def take_whole(self, body: bytes) -> None:
        """Take in an answer that came as one document."""
        answer = read_object(body)
        _raise_error(answer)
        choice = read_map((read_list(answer.get("choices")) or [None])[0])
        self._take_delta(read_map(choice.get("message")))
        self._take_finish(choice.get("finish_reason"))
        self._take_usage(answer)
        self.is_over = True

    def _take_delta(self, delta: dict[str, object]) -> bool:
        moved = self.draft.add_text(_read_content(delta.get("content")))
        for name in ("reasoning_content", "reasoning"):
            if isinstance(delta.get(name), str):
                moved = self.draft.add_reasoning(read_text(delta[name])) or moved
                break
        if read_text(delta.get("refusal")):
            self._was_refused = True
        collect_turn(self.draft.returned, delta)
        pieces = read_list(delta.get("tool_calls"))
        if not pieces and isinstance(delta.get("function_call"), dict):
            pieces = [{"function": delta["function_call"]}]
        for position, raw in enumerate(pieces):
            self._take_call(position, read_map(raw))
            moved = True
        return moved

    def _take_call(self, position: int, piece: dict[str, object]) -> None:
        function = read_map(piece.get("function"))
        arguments = function.get("arguments")
        if isinstance(arguments, dict):
            arguments = write_arguments(arguments)
        part = CallPart(
            index=read_index(piece.get("index")),
            provider_id=read_name(piece.get("id")),
            name=read_name(function.get("name")),
            arguments=read_text(arguments),
            position=position,
        )
        call = self._calls.place(part)
        self.draft.add_arguments(call, part.arguments)
        collect_call(call.returned, piece)

    def _take_finish(self, raw: object) -> None:
        finish = read_finish(raw)
        if finish is None:
            return
        draft = self.draft
        draft.opaque = pack_returned(
            draft.returned, [call.returned for call in draft.ordered_calls()]
        )
        draft.finish = Finish.filtered if self._was_refused else finish

    def _take_usage(self, chunk: dict[str, object]) -> None:
        usage = read_map(chunk.get("usage"))
        sent, written = (
            read_count(usage.get("prompt_tokens")),
            read_count(usage.get("completion_tokens")),
        )
        if sent is not None and written is not None:
            self.draft.input_tokens, self.draft.output_tokens = sent, written


@dataclass(frozen=True, slots=True, kw_only=True)
class _Replay:
    """Which assistant turns carry `reasoning_content`."""

    every_turn: bool
    turns_with_calls: bool

    def covers(self, message: AssistantMessage) -> bool:
        return self.every_turn or (self.turns_with_calls and bool(message.calls))


def _reasoning_replay(dialect: Dialect, conversation: Conversation) -> _Replay:
    """DeepSeek wants it in every turn, Kimi in turns with calls; an unknown server once it sent
    some.
    """
    has_any = any(
        isinstance(message, AssistantMessage) and message.reasoning is not None
        for message in conversation
    )
    return _Replay(
        every_turn=dialect is Dialect.deepseek or (dialect is Dialect.auto and has_any),
        turns_with_calls=dialect is Dialect.kimi,
    )


def _raise_error(answer: dict[str, object]) -> None:
    """Raise the error that a 200 carries instead of an answer, if it does."""
    if answer.get("error"):
        judge_stream_error(answer["error"])
    reply = read_map(answer.get("base_resp"))
    if reply.get("status_code") and not answer.get("choices"):
        judge_stream_error({"base_resp": reply})


def _read_content(content: object) -> str:
    """The text of a content field: a text, or a list of parts of which the texts count."""
    parts = (read_map(part) for part in read_list(content))
    return read_text(content) or "".join(
        read_text(part.get("text")) for part in parts if part.get("type") == "text"
    )


def _tool(tool: ToolSpec) -> dict[str, JsonValue]:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.parameters),
        },
    }


def _message(message: ChatMessage, replays: _Replay) -> JsonValue:
    match message:
        case SystemMessage():
            return {"role": "system", "content": open_text(message.content)}
        case UserMessage():
            return {"role": "user", "content": open_text(message.content)}
        case ToolMessage():
            content = open_text(message.content)
            return {"role": "tool", "tool_call_id": message.wire_id, "content": content}
        case AssistantMessage():
            return _assistant(message, replays)


def _assistant(message: AssistantMessage, replays: _Replay) -> JsonValue:
    text = open_text(message.text)
    sent: dict[str, JsonValue] = {
        "role": "assistant",
        "content": text or (None if message.calls else ""),
    }
    returned = unpack_returned(message.opaque)
    fields = (*returned.calls, *({} for _ in message.calls))
    if message.calls:
        sent["tool_calls"] = [
            {
                **kept,
                "id": call.wire_id,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": encode_json(read_arguments(call)).decode(),
                },
            }
            for call, kept in zip(message.calls, fields, strict=False)
        ]
    sent |= returned.turn
    if replays.covers(message):
        sent["reasoning_content"] = open_text(message.reasoning) if message.reasoning else ""
    return sent
