"""The checks that every runtime's turn passes before anybody acts on it.

Asked by `perlica.runtimes.sessions`, so that no runtime can leave them out. Malformed calls were
seen elsewhere to run with empty arguments, or to be posted to the chat as JSON: here they are kept
as calls that never run, and their result tells the model what was wrong.
"""

import json
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from perlica.conversation import MAX_OPAQUE_BYTES, AssistantMessage, Conversation, ToolSpec
from perlica.domain.errors import Refused
from perlica.domain.ids import new_call_id
from perlica.domain.nesting import is_too_deep
from perlica.domain.task import EndReason
from perlica.protection import Channel, protect
from perlica.runtimes.calls_in_text import is_call_in_text
from perlica.runtimes.contract import (
    RUNTIME_FAULT,
    UNKNOWN_TOOL,
    AgentTurn,
    CallFault,
    Finish,
    RawCall,
    RawTurn,
    RequestedCall,
)

MAX_TEXT_BYTES: Final = 1024 * 1024
"""UTF-8 bytes of a turn's text, and as many of its reasoning."""
MAX_ARGUMENT_BYTES: Final = 256 * 1024
"""UTF-8 bytes of one call's arguments."""
MAX_CALLS: Final = 32
"""Calls of one turn."""

_WIRE_ID: Final = re.compile(r"[A-Za-z0-9_.:-]{1,64}", re.ASCII)
_CORRECTION: Final = (
    "你把工具调用写成了文字：没有执行任何操作，也没有发给群里。"
    "要用工具就通过工具接口调用；不需要工具就直接用普通文字回答。"
)
_FAULTS: Final = {
    CallFault.unknown_tool: "没有执行：没有这个工具。可用的工具：{tools}。",
    CallFault.malformed_arguments: "没有执行：参数不是一个完整的 JSON 对象。请重新调用。",
    CallFault.oversized_arguments: "没有执行：参数太长。请分成几次较小的调用。",
    CallFault.unscannable_arguments: "没有执行：参数没能完成内容安全检查。请缩短或换个写法。",
}


def check_turn(
    turn: RawTurn, tools: Sequence[ToolSpec], used_wire_ids: Collection[str] = ()
) -> AgentTurn:
    """What a runtime's turn means; `used_wire_ids` are those of the conversation before it.

    A turn that was cut off, filtered or is too large ends the task whatever it holds: half a call
    is not a call. What is too large is left out, so that it is never kept.

    Raises: Refused `runtime_fault` for a turn that counts less than nothing.
    """
    if turn.input_tokens < 0 or turn.output_tokens < 0:
        raise Refused(RUNTIME_FAULT, "the runtime counted less than no tokens")
    if _is_too_large(turn):
        return _ended(turn, EndReason.too_large, text="", reasoning=None, opaque=None)
    end = _find_end(turn)
    if end is not None:
        return _ended(turn, end, text=turn.text, reasoning=turn.reasoning, opaque=turn.opaque)
    is_text_only = not turn.calls
    is_call = is_text_only and is_call_in_text(turn.text, [tool.name for tool in tools])
    return AgentTurn(
        text=turn.text,
        calls=_check_calls(turn.calls, tools, used_wire_ids),
        end=EndReason.answered if is_text_only and not is_call else None,
        correction=_CORRECTION if is_call else "",
        input_tokens=turn.input_tokens,
        output_tokens=turn.output_tokens,
        usage_is_estimate=turn.usage_is_estimate,
        reasoning=turn.reasoning,
        opaque=turn.opaque,
    )


def explain_fault(fault: CallFault, tools: Iterable[ToolSpec]) -> str:
    """The result of a call that never runs, for the model."""
    return _FAULTS[fault].format(tools="、".join(tool.name for tool in tools))


def find_wire_ids(conversation: Conversation) -> frozenset[str]:
    """The ids of the calls that `conversation` holds."""
    turns = (message for message in conversation if isinstance(message, AssistantMessage))
    return frozenset(call.wire_id for turn in turns for call in turn.calls)


def is_json_object(text: str) -> bool:
    """Whether `text` is exactly one JSON object that UTF-8 can hold: finite, no key twice, not
    nested beyond reason.
    """
    try:
        value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_refuse_twice)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and not is_too_deep(value)


def _ended(
    turn: RawTurn, end: EndReason, *, text: str, reasoning: str | None, opaque: bytes | None
) -> AgentTurn:
    return AgentTurn(
        text=text,
        end=end,
        input_tokens=turn.input_tokens,
        output_tokens=turn.output_tokens,
        usage_is_estimate=turn.usage_is_estimate,
        reasoning=reasoning,
        opaque=opaque,
    )


def _is_too_large(turn: RawTurn) -> bool:
    return (
        len(turn.calls) > MAX_CALLS
        or _count_bytes(turn.text) > MAX_TEXT_BYTES
        or _count_bytes(turn.reasoning or "") > MAX_TEXT_BYTES
        or len(turn.opaque or b"") > MAX_OPAQUE_BYTES
    )


def _find_end(turn: RawTurn) -> EndReason | None:
    """Why there is no answer and no call in the turn; None where there may be one."""
    match turn.finish:
        case Finish.cut_off:
            return EndReason.incomplete_answer
        case Finish.filtered:
            return EndReason.model_filtered
        case Finish.complete:
            is_empty = not turn.calls and not turn.text.strip()
            return EndReason.empty_answer if is_empty else None


def _check_calls(
    calls: Sequence[RawCall], tools: Sequence[ToolSpec], used_wire_ids: Collection[str]
) -> tuple[RequestedCall, ...]:
    names = {tool.name for tool in tools}
    used = set(used_wire_ids)
    checked = []
    for call in calls:
        call_id = new_call_id()
        is_known = call.tool in names
        keeps_id = is_known and call.wire_id not in used and _is_plain_id(call.wire_id)
        wire_id = call.wire_id if keeps_id else call_id
        used.add(wire_id)
        fault = _find_fault(call, is_known=is_known)
        is_dropped = fault is CallFault.oversized_arguments
        checked.append(
            RequestedCall(
                id=call_id,
                wire_id=wire_id,
                tool=call.tool if is_known else UNKNOWN_TOOL,
                arguments_json="{}" if is_dropped else _read_arguments(call),
                fault=fault,
            )
        )
    return tuple(checked)


def _is_plain_id(wire_id: str) -> bool:
    """Whether an id can be kept and sent back as it is: a word, and no credential."""
    if not _WIRE_ID.fullmatch(wire_id):
        return False
    return protect(wire_id, Channel.MODEL).content == wire_id


def _read_arguments(call: RawCall) -> str:
    """The arguments as written; nothing at all, which many servers send, is an empty object."""
    return call.arguments_json if call.arguments_json.strip() else "{}"


def _find_fault(call: RawCall, *, is_known: bool) -> CallFault | None:
    if call.is_oversized or _count_bytes(call.arguments_json) > MAX_ARGUMENT_BYTES:
        return CallFault.oversized_arguments
    if not is_known:
        return CallFault.unknown_tool
    return None if is_json_object(_read_arguments(call)) else CallFault.malformed_arguments


def _count_bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


def _refuse_twice(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Two values for one key would be read differently by different readers."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key stands twice")
    return members
