"""The transcript: session rows to what the model sees, and a turn to the rows that hold it.

The agent loop writes rows with `record_turn` and the `new_…` functions, and always asks a
`Transcript` for the conversation: also while the task runs it is made from rows alone, so a restart
changes nothing in it.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from perlica.conversation import (
    AssistantMessage,
    ChatMessage,
    Conversation,
    SentCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from perlica.domain.errors import Refused
from perlica.domain.ids import CallId
from perlica.protection import Channel, JsonValue, Protected, protect, truncate
from perlica.runtimes.contract import AgentTurn, CallFault, RequestedCall
from perlica.runtimes.opaque import read_opaque
from perlica.session.wrapper import ResultFacts, WrapSettings, leave_out, wrap_result
from perlica.stores.sessions import SessionEvent, ToolCall, ToolOutput

_FAULTY_CODE_POINTS: Final = 2_000


class EventKind(StrEnum):
    """`session_events.kind` holds these words."""

    system = "system"
    window = "window"
    assistant = "assistant"
    result = "result"
    note = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """A row to append to `session_events`."""

    kind: EventKind
    body: Protected
    call_id: CallId | None = None
    opaque: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """A row to insert into `tool_calls`, and why the call never runs, if it must not.

    A call with a `fault` is not handed to the gateway: its result is `checks.explain_fault`. One
    that is not `is_intact` (protection changed its arguments) runs only now, from the turn's own
    arguments, never after a restart.
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
            `protection_altered_thinking` when a signed thinking block, or a field that the provider
            wants back, holds what protection would change or cannot read: it could neither be kept
            nor replayed, so the task must end.
    """
    if not _may_be_kept(turn.opaque):
        raise Refused(
            "protection_altered_thinking",
            "the model's signed thinking holds something that may not be kept",
        )
    body = _seal(
        {
            "text": turn.text,
            "reasoning": turn.reasoning,
            "usage_is_estimate": turn.usage_is_estimate,
        }
    )
    return RecordedTurn(
        event=NewEvent(kind=EventKind.assistant, body=body, opaque=turn.opaque),
        calls=tuple(_record_call(call, position) for position, call in enumerate(turn.calls)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    """A rendered result."""

    facts: ResultFacts
    whole: ToolMessage

    def left_out(self, settings: WrapSettings) -> ToolMessage:
        return replace(self.whole, content=leave_out(self.facts, settings))


class Transcript:
    """Makes the conversation from a task's rows; remembers what it rendered: rows never change."""

    def __init__(self, settings: WrapSettings) -> None:
        self._settings = settings
        self._messages: dict[int, ChatMessage] = {}
        self._results: dict[CallId, _Result] = {}

    def conversation(
        self,
        events: Sequence[SessionEvent],
        calls: Iterable[ToolCall],
        outputs: Iterable[ToolOutput],
    ) -> Conversation:
        """What the model sees. A turn's results follow it in the order of its calls, then notes.

        Raises: ValueError when a call has no result yet: see `find_open_calls`.
        """
        output_of = {output.call_id: output for output in outputs}
        result_of = {event.call_id: event for event in events if event.kind == EventKind.result}
        calls_of: dict[int, list[ToolCall]] = {}
        for call in sorted(calls, key=lambda call: (call.turn_seq, call.position)):
            calls_of.setdefault(call.turn_seq, []).append(call)
        results = [
            self._result(call, result_of.get(call.id), output_of.get(call.id))
            for turn_calls in calls_of.values()
            for call in turn_calls
        ]
        shown = dict(self._bound(results))
        messages: list[ChatMessage] = []
        for event in events:
            if event.kind != EventKind.result:
                turn_calls = calls_of.get(event.seq, [])
                messages.append(self._message(event, turn_calls))
                messages += [shown[call.id] for call in turn_calls]
        return tuple(messages)

    def _bound(self, results: Sequence[_Result]) -> Iterator[tuple[CallId, ToolMessage]]:
        """Each result's message: the newest whole, those beyond the total without content."""
        room = self._settings.total_code_points
        for result in reversed(results):
            room -= len(result.whole.content.content)
            yield result.facts.call, result.whole if room >= 0 else result.left_out(self._settings)

    def _message(self, event: SessionEvent, calls: Sequence[ToolCall]) -> ChatMessage:
        if event.seq not in self._messages:
            self._messages[event.seq] = _render(event, calls)
        return self._messages[event.seq]

    def _result(
        self, call: ToolCall, event: SessionEvent | None, output: ToolOutput | None
    ) -> _Result:
        if event is None:
            raise ValueError(f"call {call.id} has no result yet")
        if call.id not in self._results:
            facts = ResultFacts(
                call=call.id,
                source=output.source if output else call.tool,
                at_ms=(output or event).created_at_ms,
                is_error=_read_body(event.body).get("is_error") is True,
            )
            content = wrap_result(facts, output.content if output else None, self._settings)
            self._results[call.id] = _Result(
                facts=facts,
                whole=ToolMessage(
                    wire_id=call.provider_call_id, content=content, is_error=facts.is_error
                ),
            )
        return self._results[call.id]


def find_open_calls(
    events: Sequence[SessionEvent], calls: Iterable[ToolCall]
) -> tuple[ToolCall, ...]:
    """Calls without a result, in their order: what is left to do before the next turn."""
    done = {event.call_id for event in events if event.kind == EventKind.result}
    left = [call for call in calls if call.id not in done]
    return tuple(sorted(left, key=lambda call: (call.turn_seq, call.position)))


def _may_be_kept(opaque: bytes | None) -> bool:
    """Whether protection would leave all of it as it is."""
    try:
        parts = read_opaque(opaque)
    except ValueError:
        return False
    for part in parts:
        sealed = protect(part, Channel.MODEL)
        given = part if isinstance(part, str) else json.dumps(part)
        if not sealed.is_usable or not _is_same_json(sealed.content, given):
            return False
    return True


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


def _render(event: SessionEvent, calls: Sequence[ToolCall]) -> ChatMessage:
    body = _read_body(event.body)
    text = _read_part(body, "text")
    if event.kind == EventKind.system:
        return SystemMessage(content=text)
    if event.kind != EventKind.assistant:
        return UserMessage(content=text)
    return AssistantMessage(
        text=text,
        calls=tuple(
            SentCall(wire_id=call.provider_call_id, name=call.tool, arguments=call.arguments)
            for call in calls
        ),
        reasoning=None if body.get("reasoning") is None else _read_part(body, "reasoning"),
        opaque=event.opaque,
    )


def _read_part(body: Mapping[str, object], name: str) -> Protected:
    """A text of a body that was protected whole: protected again, for alone it is a new text."""
    return protect(str(body.get(name, "")), Channel.MODEL)


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
