"""The transcript: session rows to what the model sees, and a turn to the rows that hold it.

The agent loop writes rows with `record_turn` and the `new_…` functions, and always asks a `Transcript` for
the conversation: also while the task runs it is made from rows alone, so a restart changes nothing in it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from perlica.clients.model.contract import (
    AssistantMessage,
    ChatMessage,
    Conversation,
    SentCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from perlica.clients.model.thinking import read_thinking
from perlica.domain.errors import Refused
from perlica.domain.ids import CallId
from perlica.protection import Channel, JsonValue, Protected, protect, truncate
from perlica.session.runtime import AgentTurn, CallFault, RequestedCall
from perlica.session.wrapper import ResultFacts, WrapSettings, wrap_result

_FAULTY_CODE_POINTS: Final = 2_000


class EventKind(StrEnum):
    """`session_events.kind` holds these words."""

    system = "system"
    window = "window"
    assistant = "assistant"
    result = "result"
    note = "note"


class EventRow(Protocol):
    """A row of `session_events`, as far as it is read here."""

    @property
    def seq(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def call_id(self) -> CallId | None: ...
    @property
    def body(self) -> Protected: ...
    @property
    def opaque(self) -> bytes | None: ...


class CallRow(Protocol):
    """A row of `tool_calls`, as far as it is read here."""

    @property
    def id(self) -> CallId: ...
    @property
    def turn_seq(self) -> int: ...
    @property
    def position(self) -> int: ...
    @property
    def provider_call_id(self) -> str: ...
    @property
    def tool(self) -> str: ...
    @property
    def arguments(self) -> Protected: ...


class OutputRow(Protocol):
    """A row of `tool_outputs`, as far as it is read here."""

    @property
    def call_id(self) -> CallId: ...
    @property
    def source(self) -> str: ...
    @property
    def content(self) -> Protected: ...
    @property
    def created_at_ms(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """A row to append to `session_events`."""

    kind: EventKind
    body: Protected
    call_id: CallId | None = None
    opaque: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """A row to insert into `tool_calls`, at its place in the turn.

    `is_intact` is False where protection changed the arguments. A call with a `fault` is never handed to
    the gateway: its result is `perlica.session.native.explain_fault`.
    """

    id: CallId
    position: int
    provider_call_id: str
    tool: str
    arguments: Protected
    is_intact: bool
    fault: CallFault | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTurn:
    """A turn as rows: the assistant event and its calls."""

    event: NewEvent
    calls: tuple[RecordedCall, ...]


def new_system(text: Protected, *, version: str) -> NewEvent:
    """The rules, with the version of the initial context that they hold."""
    return NewEvent(kind=EventKind.system, body=_seal({"text": _open(text), "version": version}))


def new_window(text: Protected) -> NewEvent:
    """The task's window, rendered."""
    return NewEvent(kind=EventKind.window, body=_seal({"text": _open(text)}))


def new_note(text: str) -> NewEvent:
    """A note of the service to the model: a correction, a review, a warning."""
    return NewEvent(kind=EventKind.note, body=_seal({"text": text}))


def new_result(call: CallId, *, is_error: bool) -> NewEvent:
    """A call has its result; the content stands in `tool_outputs`."""
    return NewEvent(kind=EventKind.result, body=_seal({"is_error": is_error}), call_id=call)


def record_turn(turn: AgentTurn) -> RecordedTurn:
    """A turn as the rows that hold it, everything in it protected.

    Raises:
        Refused: `protection_failed` when a text could not be scanned to its end;
            `protection_altered_thinking` when a signed thinking block holds what protection would
            change: it could neither be kept nor replayed, so the task must end.
    """
    for thought in read_thinking(turn.opaque):
        sealed = protect(thought, Channel.MODEL)
        if not sealed.is_usable or sealed.content != thought:
            raise Refused(
                "protection_altered_thinking",
                "the model's signed thinking holds something that may not be kept",
            )
    body = _seal({"text": turn.text, "reasoning": turn.reasoning})
    return RecordedTurn(
        event=NewEvent(kind=EventKind.assistant, body=body, opaque=turn.opaque),
        calls=tuple(_record_call(call, position) for position, call in enumerate(turn.calls)),
    )


class Transcript:
    """Makes the conversation from a task's rows; remembers rendered rows, which never change."""

    def __init__(self, settings: WrapSettings) -> None:
        self._settings = settings
        self._texts: dict[int, Protected] = {}
        self._results: dict[CallId, ToolMessage] = {}

    def conversation(
        self,
        events: Sequence[EventRow],
        calls: Iterable[CallRow],
        outputs: Iterable[OutputRow],
    ) -> Conversation:
        """What the model sees. Results follow their turn in the order of its calls, before any note.

        Raises: ValueError when a call of a turn that is not the last word has no result yet.
        """
        output_of = {output.call_id: output for output in outputs}
        result_of = {e.call_id: e for e in events if e.kind == EventKind.result}
        calls_of: dict[int, list[CallRow]] = {}
        for call in calls:
            calls_of.setdefault(call.turn_seq, []).append(call)
        messages: list[ChatMessage] = []
        for event in events:
            if event.kind == EventKind.result:
                continue
            turn_calls = sorted(calls_of.get(event.seq, ()), key=lambda call: call.position)
            messages.append(self._message(event, turn_calls))
            messages += [
                self._result(call, result_of.get(call.id), output_of.get(call.id))
                for call in turn_calls
            ]
        return tuple(messages)

    def _message(self, event: EventRow, calls: Sequence[CallRow]) -> ChatMessage:
        body = _read_body(event.body)
        text = self._text(event.seq, body, "text")
        if event.kind == EventKind.system:
            return SystemMessage(content=text)
        if event.kind != EventKind.assistant:
            return UserMessage(content=text)
        has_reasoning = isinstance(body.get("reasoning"), str)
        return AssistantMessage(
            text=text,
            calls=tuple(
                SentCall(wire_id=call.provider_call_id, name=call.tool, arguments=call.arguments)
                for call in calls
            ),
            reasoning=self._text(-event.seq - 1, body, "reasoning") if has_reasoning else None,
            opaque=event.opaque,
        )

    def _text(self, slot: int, body: Mapping[str, object], name: str) -> Protected:
        if slot not in self._texts:
            self._texts[slot] = protect(str(body.get(name, "")), Channel.MODEL)
        return self._texts[slot]

    def _result(
        self, call: CallRow, event: EventRow | None, output: OutputRow | None
    ) -> ToolMessage:
        if event is None:
            raise ValueError(f"call {call.id} has no result yet")
        known = self._results.get(call.id)
        if known is None:
            is_error = _read_body(event.body).get("is_error") is True
            facts = ResultFacts(
                call=call.id,
                source=output.source if output else call.tool,
                at_ms=output.created_at_ms if output else 0,
                is_error=is_error,
            )
            content = wrap_result(facts, output.content if output else None, self._settings)
            known = ToolMessage(wire_id=call.provider_call_id, content=content, is_error=is_error)
            self._results[call.id] = known
        return known


def find_open_calls(events: Sequence[EventRow], calls: Iterable[CallRow]) -> tuple[CallRow, ...]:
    """Calls without a result, in their order: what is left to do before the next turn."""
    done = {event.call_id for event in events if event.kind == EventKind.result}
    left = [call for call in calls if call.id not in done]
    return tuple(sorted(left, key=lambda call: (call.turn_seq, call.position)))


def _record_call(call: RequestedCall, position: int) -> RecordedCall:
    sealed = protect(call.arguments_json, Channel.TOOL_ARGUMENTS)
    fault = call.fault
    if not sealed.is_usable:
        fault = fault or CallFault.unscannable_arguments
        sealed = protect("{}", Channel.TOOL_ARGUMENTS)
    elif fault is not None:
        sealed = truncate(sealed, _FAULTY_CODE_POINTS)
    return RecordedCall(
        id=call.id,
        position=position,
        provider_call_id=call.wire_id,
        tool=call.tool,
        arguments=sealed,
        is_intact=fault is None and _is_same_json(sealed.content, call.arguments_json),
        fault=fault,
    )


def _is_same_json(sealed: str, given: str) -> bool:
    if sealed == given:
        return True
    try:
        return bool(json.loads(sealed) == json.loads(given))
    except (ValueError, RecursionError):
        return False


def _seal(body: Mapping[str, JsonValue]) -> Protected:
    sealed = protect(body, Channel.MODEL)
    if not sealed.is_usable:
        raise Refused("protection_failed", "a part of the session could not be scanned to its end")
    return sealed


def _open(text: Protected) -> str:
    if not text.is_usable:
        raise Refused("protection_failed", "a part of the session could not be scanned to its end")
    return text.content


def _read_body(body: Protected) -> dict[str, object]:
    value = json.loads(body.content)
    return value if isinstance(value, dict) else {}
