"""The description review: after each run of sandbox work the model looks at what it used.

One question for all sandboxes of the run: update the purpose or keep it. A review is no use of the
sandbox; work after it is a new run, with a review of its own.
"""

import json
from collections.abc import Collection
from typing import Final

from perlica.domain.ids import TaskId
from perlica.stores.database import Database
from perlica.stores.operations import Operation, OperationStore
from perlica.stores.sandboxes import SandboxStore
from perlica.stores.sessions import SessionStore, ToolCall

_WORK: Final = frozenset({"sandbox.exec", "sandbox.read", "sandbox.write", "dependency.install"})
_TOOLS: Final = "sandbox_"
_MANAGE: Final = "sandbox_manage"
_REVIEWING: Final = frozenset({"describe", "keep"})
_HOW: Final = "用途描述过时的，用 sandbox_manage 的 describe 更新；不用改的，用 keep。"
_BEFORE_THE_END: Final = (
    "完成前的复核：这一轮用过下面的沙箱。" + _HOW + "你的回答已经收到，不要再写一遍。\n{lines}"
)
_AMID: Final = "描述复核：刚才这一轮用过下面的沙箱。" + _HOW + "然后继续做任务。\n{lines}"


class DescriptionReview:
    """A `Review`; see there."""

    def ends_run(self, tools: Collection[str]) -> bool:
        """A run ends with the answer, or with a turn that uses other tools only."""
        return not any(tool.startswith(_TOOLS) for tool in tools)

    def question(
        self, database: Database, task: TaskId, *, since_seq: int, is_answered: bool
    ) -> str:
        """About the living sandboxes in which this task did something since then."""
        calls = SessionStore(database).list_calls(task)
        since = {call.id for call in calls if call.turn_seq > since_seq}
        touched = {
            _instance_of(operation)
            for operation in OperationStore(database).list_for_task(task)
            if operation.action in _WORK and operation.call_id in since
        }
        rows = [row for row in SandboxStore(database).list_living() if row.instance in touched]
        if not rows:
            return ""
        lines = "\n".join(f"- {row.name}：{row.purpose.content or '（没有描述）'}" for row in rows)
        return (_BEFORE_THE_END if is_answered else _AMID).format(lines=lines)

    def is_reviewing(self, call: ToolCall) -> bool:
        """A call that only says what a sandbox is for."""
        if call.tool != _MANAGE:
            return False
        try:
            arguments = json.loads(call.arguments.content or "{}")
        except (ValueError, RecursionError):
            return False
        return isinstance(arguments, dict) and arguments.get("action") in _REVIEWING


def _instance_of(operation: Operation) -> str:
    plan = json.loads(operation.plan.content or "{}")
    target = plan.get("target") if isinstance(plan, dict) else None
    instance = target.get("instance") if isinstance(target, dict) else None
    return instance if isinstance(instance, str) else ""
