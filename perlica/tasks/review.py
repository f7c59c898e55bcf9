"""The description review: after each run of sandbox work the model looks at what it used.

One structured note (spec, 每轮连续沙箱操作结束后、任务完成前): update the purpose or keep it. It
comes behind the turn with which a run ends: one that turns to other tools, or the answer. Work
after a review is a new run, with a review of its own. A review is no use of the sandbox, and the
answer given before it stays the answer; where the model went on working instead, what it says of
that follows it.
"""

import json
from collections.abc import Collection, Iterable, Sequence

from perlica.domain.plan import JsonValue
from perlica.protection import Channel, Protected, protect
from perlica.stores.operations import Operation
from perlica.stores.sandboxes import SandboxRow
from perlica.stores.sessions import SessionEvent, ToolCall

_WORK = frozenset({"sandbox.exec", "sandbox.read", "sandbox.write", "dependency.install"})
_REVIEWING = frozenset({"describe", "keep"})
_HOW = "用途描述过时的，用 sandbox_manage 的 describe 更新；不用改的，用 keep。"
_BEFORE_THE_END = (
    "完成前的复核：这一轮用过下面的沙箱。" + _HOW + "你的回答已经收到，不要再写一遍。\n{lines}"
)
_AMID = "描述复核：刚才这一轮用过下面的沙箱。" + _HOW + "然后继续做任务。\n{lines}"


def unreviewed_sandboxes(
    operations: Sequence[Operation],
    calls: Iterable[ToolCall],
    events: Iterable[SessionEvent],
    living: Sequence[SandboxRow],
) -> tuple[SandboxRow, ...]:
    """The living sandboxes in which this task did something since it was last asked to review."""
    reviewed_to = max((event.seq for event in events if _is_review(event)), default=0)
    since = {call.id for call in calls if call.turn_seq > reviewed_to}
    touched = {
        _instance_of(operation)
        for operation in operations
        if operation.action in _WORK and operation.call_id in since
    }
    return tuple(row for row in living if row.instance in touched)


def new_review(rows: Sequence[SandboxRow], *, is_answered: bool) -> Protected:
    """The body of the note: the sandboxes and what their purpose says now."""
    lines = "\n".join(f"- {row.name}：{row.purpose.content or '（没有描述）'}" for row in rows)
    text = (_BEFORE_THE_END if is_answered else _AMID).format(lines=lines)
    body: dict[str, JsonValue] = {"text": text, "review": True}
    if not is_answered:
        body["amid"] = True
    return protect(body, Channel.MODEL)


def has_answered(events: Iterable[SessionEvent]) -> bool:
    """Whether an answer was given already, which a review followed."""
    return any(_is_review(event, after_answer=True) for event in events)


def last_answer(events: Sequence[SessionEvent], calls: Collection[ToolCall] = ()) -> str:
    """The protected text of the model's answer: that before the review, where there was one.

    An answer after further work is put behind it. What is said while calling or reviewing is none.
    """
    calling = {call.turn_seq for call in calls}
    working = {call.turn_seq for call in calls if not _is_reviewing(call)}
    answer, given = "", list[str]()
    is_reviewing = is_calling = False
    for event in events:
        if _is_review(event, after_answer=True):
            given += [] if is_reviewing else [answer]
            is_reviewing = True
        elif event.kind == "assistant":
            text = _read(event).get("text")
            answer = text if isinstance(text, str) else ""
            is_calling = event.seq in calling
            is_reviewing = is_reviewing and event.seq not in working
    is_none = is_reviewing or (is_calling and bool(given))
    return "\n\n".join(dict.fromkeys(given if is_none else [*given, answer]))


def _is_review(event: SessionEvent, *, after_answer: bool = False) -> bool:
    if event.kind != "note":
        return False
    body = _read(event)
    return body.get("review") is True and not (after_answer and body.get("amid") is True)


def _is_reviewing(call: ToolCall) -> bool:
    """Whether a call only says what a sandbox is for."""
    if call.tool != "sandbox_manage":
        return False
    try:
        arguments = json.loads(call.arguments.content or "{}")
    except (ValueError, RecursionError):
        return False
    return isinstance(arguments, dict) and arguments.get("action") in _REVIEWING


def _read(event: SessionEvent) -> dict[str, object]:
    value = json.loads(event.body.content or "{}")
    return value if isinstance(value, dict) else {}


def _instance_of(operation: Operation) -> str:
    plan = json.loads(operation.plan.content or "{}")
    target = plan.get("target") if isinstance(plan, dict) else None
    instance = target.get("instance") if isinstance(target, dict) else None
    return instance if isinstance(instance, str) else ""
