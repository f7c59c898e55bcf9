"""The native runtime: one HTTP request, one turn, checked before anybody acts on it.

Used by the agent loop through `perlica.runtimes.contract`. Malformed calls were seen elsewhere to
run with empty arguments, or to be posted to the chat as JSON (facts/peers.md, incident 20): here
they are kept as calls that never run, and their result tells the model what was wrong.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from perlica.clients.model.contract import Finish, ModelCall, ModelClient, ModelTurn
from perlica.conversation import AssistantMessage, Conversation, ToolSpec
from perlica.domain.cancel import CancelToken
from perlica.domain.ids import new_call_id
from perlica.domain.nesting import is_too_deep
from perlica.domain.task import EndReason
from perlica.protection import Channel, protect
from perlica.runtimes.calls_in_text import is_call_in_text
from perlica.runtimes.contract import UNKNOWN_TOOL, AgentTurn, CallFault, RequestedCall

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


@dataclass(frozen=True, slots=True)
class NativeRuntime:
    """An `AgentRuntime` over a `ModelClient`."""

    client: ModelClient

    def turn(
        self, conversation: Conversation, tools: Sequence[ToolSpec], cancel: CancelToken
    ) -> AgentTurn:
        """Fetch one turn and check it: the contract's `turn`."""
        turn = self.client.complete(conversation, tools, cancel)
        return check_turn(turn, tools, _wire_ids(conversation))


def check_turn(turn: ModelTurn, tools: Sequence[ToolSpec], used_wire_ids: set[str]) -> AgentTurn:
    """What a model's turn means.

    A turn that was cut off or filtered ends the task whatever it holds: half a call is not a call.
    """
    end, correction = None, ""
    calls: tuple[RequestedCall, ...] = ()
    if turn.finish is Finish.length:
        end = EndReason.incomplete_answer
    elif turn.finish is Finish.filtered:
        end = EndReason.model_filtered
    elif turn.calls:
        calls = _check_calls(turn.calls, tools, used_wire_ids)
    elif not turn.text.strip():
        end = EndReason.empty_answer
    elif is_call_in_text(turn.text, [tool.name for tool in tools]):
        correction = _CORRECTION
    else:
        end = EndReason.answered
    return AgentTurn(
        text=turn.text,
        calls=calls,
        end=end,
        correction=correction,
        input_tokens=turn.input_tokens,
        output_tokens=turn.output_tokens,
        usage_is_estimate=turn.usage_is_estimate,
        reasoning=turn.reasoning,
        opaque=turn.opaque,
    )


def explain_fault(fault: CallFault, tools: Iterable[ToolSpec]) -> str:
    """The result of a call that never runs, for the model."""
    return _FAULTS[fault].format(tools="、".join(tool.name for tool in tools))


def _check_calls(
    calls: Sequence[ModelCall], tools: Sequence[ToolSpec], used_wire_ids: set[str]
) -> tuple[RequestedCall, ...]:
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


def _is_plain_id(provider_id: str) -> bool:
    """Whether an id can be kept and sent back as it is: a word, and no credential."""
    if not _WIRE_ID.fullmatch(provider_id):
        return False
    return protect(provider_id, Channel.MODEL).content == provider_id


def _read_arguments(call: ModelCall) -> str:
    """The arguments as written; nothing at all, which many servers send, is an empty object."""
    return call.arguments_json if call.arguments_json.strip() else "{}"


def _find_fault(call: ModelCall, *, is_known: bool) -> CallFault | None:
    if call.is_oversized:
        return CallFault.oversized_arguments
    if not is_known:
        return CallFault.unknown_tool
    return None if is_json_object(_read_arguments(call)) else CallFault.malformed_arguments


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


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


def _refuse_twice(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Two values for one key would be read differently by different readers."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key stands twice")
    return members


def _wire_ids(conversation: Conversation) -> set[str]:
    turns = (message for message in conversation if isinstance(message, AssistantMessage))
    return {call.wire_id for turn in turns for call in turn.calls}
