"""Checks of a turn that every runtime shares: nobody acts on anything before it passed them.

Malformed calls were seen elsewhere to run with empty arguments, or to be posted to the chat as
JSON: here they are kept as calls that never run, and their result tells the model what was wrong.
"""

import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from perlica.conversation import AssistantMessage, Conversation, ToolSpec
from perlica.domain.ids import new_call_id
from perlica.domain.nesting import is_too_deep
from perlica.domain.task import EndReason
from perlica.protection import Channel, protect
from perlica.runtimes.calls_in_text import is_call_in_text
from perlica.runtimes.contract import UNKNOWN_TOOL, CallFault, RequestedCall

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


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenCall:
    """A call as the model wrote it: `arguments_json` is not checked and may be no JSON at all.

    `is_oversized` says that the arguments passed the runtime's limit and were dropped.
    """

    provider_id: str = field(repr=False)
    name: str = field(repr=False)
    arguments_json: str = field(repr=False)
    is_oversized: bool = False


def check_calls(
    calls: Sequence[WrittenCall], tools: Sequence[ToolSpec], used_wire_ids: Collection[str]
) -> tuple[RequestedCall, ...]:
    """The calls under ids of our own; what is wrong with one stands in its `fault`.

    `used_wire_ids` are those of earlier calls (`wire_ids`): none is given twice.
    """
    names = {tool.name for tool in tools}
    used = set(used_wire_ids)
    checked = []
    for call in calls:
        call_id = new_call_id()
        is_known = call.name in names
        keeps_id = is_known and call.provider_id not in used and _is_plain_id(call.provider_id)
        wire_id = call.provider_id if keeps_id else call_id
        used.add(wire_id)
        checked.append(
            RequestedCall(
                id=call_id,
                wire_id=wire_id,
                tool=call.name if is_known else UNKNOWN_TOOL,
                arguments_json=_read_arguments(call),
                fault=_find_fault(call, is_known=is_known),
            )
        )
    return tuple(checked)


def check_text(text: str, tools: Sequence[ToolSpec]) -> tuple[EndReason | None, str]:
    """What a turn without calls means: how the task ends, or the note that corrects the model."""
    if not text.strip():
        return EndReason.empty_answer, ""
    if is_call_in_text(text, [tool.name for tool in tools]):
        return None, _CORRECTION
    return EndReason.answered, ""


def explain_fault(fault: CallFault, tools: Iterable[ToolSpec]) -> str:
    """The result of a call that never runs, for the model."""
    return _FAULTS[fault].format(tools="、".join(tool.name for tool in tools))


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


def _is_plain_id(provider_id: str) -> bool:
    """Whether an id can be kept and sent back as it is: a word, and no credential."""
    if not _WIRE_ID.fullmatch(provider_id):
        return False
    return protect(provider_id, Channel.MODEL).content == provider_id


def _read_arguments(call: WrittenCall) -> str:
    """The arguments as written; nothing at all, which many servers send, is an empty object."""
    return call.arguments_json if call.arguments_json.strip() else "{}"


def _find_fault(call: WrittenCall, *, is_known: bool) -> CallFault | None:
    if call.is_oversized:
        return CallFault.oversized_arguments
    if not is_known:
        return CallFault.unknown_tool
    return None if is_json_object(_read_arguments(call)) else CallFault.malformed_arguments


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


def _refuse_twice(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Two values for one key would be read differently by different readers."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key stands twice")
    return members


def wire_ids(conversation: Conversation) -> set[str]:
    """The ids of all calls of a conversation."""
    turns = (message for message in conversation if isinstance(message, AssistantMessage))
    return {call.wire_id for turn in turns for call in turn.calls}
