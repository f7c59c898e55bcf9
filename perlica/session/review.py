"""The description review: before a task completes, the model looks at the sandboxes it used.

One structured note after sandbox work (spec, SandboxBackend): update the purpose or keep it. It
does not count as a use of the sandbox, and the answer given before it stays the answer.
"""

import json
from collections.abc import Sequence

from perlica.domain.plan import JsonValue
from perlica.protection import Channel, Protected, protect
from perlica.stores.operations import Operation
from perlica.stores.sandboxes import SandboxRow
from perlica.stores.sessions import SessionEvent

_WORK = frozenset({"sandbox.exec", "sandbox.read", "sandbox.write"})
_TEXT = (
    "完成前的复核：这一轮用过下面的沙箱。用途描述过时的，用 sandbox_manage 的 describe 更新；"
    "不用改的，用 keep。你的回答已经收到，不要再写一遍。\n{lines}"
)


def used_sandboxes(
    operations: Sequence[Operation], living: Sequence[SandboxRow]
) -> tuple[SandboxRow, ...]:
    """The living sandboxes in which this task did something."""
    touched = {_instance_of(operation) for operation in operations if operation.action in _WORK}
    return tuple(row for row in living if row.instance in touched)


def new_review(rows: Sequence[SandboxRow]) -> Protected:
    """The body of the note: the sandboxes and what their purpose says now."""
    lines = "\n".join(f"- {row.name}：{row.purpose.content or '（没有描述）'}" for row in rows)
    body: dict[str, JsonValue] = {"text": _TEXT.format(lines=lines), "review": True}
    return protect(body, Channel.MODEL)


def was_reviewed(events: Sequence[SessionEvent]) -> bool:
    """Whether the review was asked for already."""
    return any(_is_review(event) for event in events)


def last_answer(events: Sequence[SessionEvent]) -> str:
    """The protected text of the model's answer: that before the review, where there was one."""
    answer = ""
    for event in events:
        if _is_review(event):
            return answer
        if event.kind == "assistant":
            text = _read(event).get("text")
            answer = text if isinstance(text, str) else ""
    return answer


def _is_review(event: SessionEvent) -> bool:
    return event.kind == "note" and _read(event).get("review") is True


def _read(event: SessionEvent) -> dict[str, object]:
    value = json.loads(event.body.content or "{}")
    return value if isinstance(value, dict) else {}


def _instance_of(operation: Operation) -> str:
    plan = json.loads(operation.plan.content or "{}")
    target = plan.get("target") if isinstance(plan, dict) else None
    instance = target.get("instance") if isinstance(target, dict) else None
    return instance if isinstance(instance, str) else ""
