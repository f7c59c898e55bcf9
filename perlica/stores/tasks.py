"""Tasks and their states; the coordinator moves them, intake makes them, the session counts usage.

One task is alive at most: the schema says so, whoever writes. Every move is a compare-and-set that
raises StaleState on a miss, so that the caller's whole transaction is rolled back.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from perlica.domain.clock import now_ms
from perlica.domain.errors import Refused, StaleState
from perlica.domain.ids import GroupId, RowId, TaskId, UserId, new_task_id
from perlica.domain.task import FINAL_STATES, TaskState, may_move
from perlica.stores.commit_log import tell_when_committed
from perlica.stores.database import Database, Row
from perlica.stores.sealed import reason_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A row of `tasks`. `active_ms` counts up to `active_since_ms`; see `active_ms_at`.

    `worked_ms` is what the budget of time counts: it knows no jump of the clock.
    """

    id: TaskId
    group_id: GroupId
    trigger_row: RowId | None
    requester_id: UserId
    state: TaskState
    step: int
    created_at_ms: int
    active_ms: int
    active_since_ms: int | None
    ended_at_ms: int | None
    end_reason: str | None
    model_calls: int
    tool_calls: int
    input_tokens: int
    output_tokens: int
    policy_version: str
    context_version: str
    window_facts: Mapping[str, object] = field(repr=False)
    crashes: int
    worked_ms: int

    def active_ms_at(self, at_ms: int) -> int:
        """Milliseconds outside `waiting_approval` up to a time, by the wall clock, to be shown."""
        since = at_ms if self.active_since_ms is None else self.active_since_ms
        return self.active_ms + max(0, at_ms - since)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEvent:
    """A row of `task_events`: one move of a task."""

    at_ms: int
    state_before: TaskState | None
    state_after: TaskState
    step: int
    reason: str


_INSERT: Final = """
INSERT INTO tasks (id, group_id, trigger_row, requester_id, state, created_at_ms, active_since_ms,
    policy_version, context_version)
VALUES (:id, :group_id, :trigger_row, :requester_id, 'received', :now_ms, :now_ms,
    :policy_version, :context_version)
RETURNING *
"""
_ACTIVE: Final = "SELECT * FROM tasks WHERE state NOT IN ('completed', 'failed', 'cancelled')"
_FIND: Final = "SELECT * FROM tasks WHERE id = :id"
_LIST: Final = "SELECT * FROM tasks ORDER BY created_at_ms DESC, rowid DESC LIMIT :limit"
_MOVE: Final = """
UPDATE tasks SET
    state = :after,
    active_ms = active_ms
        + iif(:runs, 0, max(0, :now_ms - coalesce(active_since_ms, :now_ms))),
    active_since_ms = iif(:runs, coalesce(active_since_ms, :now_ms), NULL),
    ended_at_ms = iif(:ends, :now_ms, NULL),
    end_reason = iif(:ends, :reason, NULL)
WHERE id = :id AND state = :before AND (:step IS NULL OR step = :step)
RETURNING *
"""
_NEXT_STEP: Final = """
UPDATE tasks SET step = step + 1 WHERE id = :id AND step = :step AND state = 'running'
RETURNING step
"""
_ADD_USAGE: Final = """
UPDATE tasks SET
    model_calls = model_calls + :model_calls,
    tool_calls = tool_calls + :tool_calls,
    input_tokens = input_tokens + :input_tokens,
    output_tokens = output_tokens + :output_tokens
WHERE id = :id
RETURNING *
"""
_SET_WINDOW_FACTS: Final = """
UPDATE tasks SET window_facts = :window_facts WHERE id = :id RETURNING id
"""
_SET_WORKED: Final = "UPDATE tasks SET worked_ms = :worked_ms WHERE id = :id RETURNING id"
_NOTE_CRASH: Final = "UPDATE tasks SET crashes = crashes + 1 WHERE id = :id RETURNING crashes"
_INSERT_EVENT: Final = """
INSERT INTO task_events (task_id, at_ms, state_before, state_after, step, reason)
VALUES (:task_id, :at_ms, :state_before, :state_after, :step, :reason)
"""
_EVENTS: Final = "SELECT * FROM task_events WHERE task_id = :task_id ORDER BY id"


class TaskStore:
    """Reads and writes `tasks` and `task_events`."""

    def __init__(self, db: Database) -> None:
        """Work on this connection."""
        self._db = db

    def create_task(
        self,
        *,
        trigger_row: RowId,
        requester_id: UserId,
        group_id: GroupId,
        policy_version: str,
        context_version: str,
    ) -> Task | None:
        """A new task in state `received`; None while another one is alive.

        Raises: Refused when the message has made a task before, Retryable when the drawn id is
        taken.
        """
        bindings = {
            "id": new_task_id(),
            "group_id": group_id,
            "trigger_row": trigger_row,
            "requester_id": requester_id,
            "now_ms": now_ms(),
            "policy_version": policy_version,
            "context_version": context_version,
        }
        try:
            task = _task(self._db.change(_INSERT, bindings)[0])
        except Refused as refusal:
            if refusal.code == "task_active":
                return None
            raise
        self._insert_event(task, before=None, reason="")
        tell_when_committed(self._db, "task began", task=task.id, message_row=trigger_row)
        return task

    def active_task(self) -> Task | None:
        """The task that is alive."""
        row = self._db.query_one(_ACTIVE)
        return None if row is None else _task(row)

    def find_task(self, task: TaskId) -> Task | None:
        """A task by its id."""
        row = self._db.query_one(_FIND, {"id": task})
        return None if row is None else _task(row)

    def list_tasks(self, limit: int) -> tuple[Task, ...]:
        """The newest tasks first."""
        return tuple(_task(row) for row in self._db.query(_LIST, {"limit": limit}))

    def move_task(
        self,
        task: TaskId,
        *,
        before: TaskState,
        after: TaskState,
        step: int | None = None,
        reason: str = "",
    ) -> Task:
        """Move a task on and write its event; `reason` is kept as the end's reason at the end.

        Raises: StaleState when it is not in `before` (at `step`) any more; ValueError for a move
        that `perlica.domain.task` does not list.
        """
        if not may_move(before, after):
            raise ValueError(f"no task moves from {before} to {after}")
        ends = after in FINAL_STATES
        row = self._db.change_one(
            _MOVE,
            {
                "id": task,
                "before": before.value,
                "after": after.value,
                "step": step,
                "now_ms": now_ms(),
                "runs": not ends and after is not TaskState.waiting_approval,
                "ends": ends,
                "reason": reason_text(reason),
            },
        )
        if row is None:
            raise StaleState("task_moved", f"task {task} is not in {before} at step {step}")
        moved = _task(row)
        self._insert_event(moved, before=before, reason=reason)
        if ends or TaskState.waiting_approval in {before, after}:
            tell_when_committed(
                self._db, f"task {after.value}", task=task, step=moved.step, reason=reason or None
            )
        return moved

    def next_step(self, task: TaskId, *, step: int) -> int:
        """Count the step up by one; the new step. Raises: StaleState when it is not at `step`."""
        row = self._db.change_one(_NEXT_STEP, {"id": task, "step": step})
        if row is None:
            raise StaleState("task_moved", f"task {task} is not running at step {step}")
        return int(row["step"])

    def add_usage(
        self,
        task: TaskId,
        *,
        model_calls: int = 0,
        tool_calls: int = 0,
        input_tokens: int = 0,
        output_tokens: int = 0,
    ) -> Task:
        """Count what a turn used; the task with its new totals. Raises: StaleState (no task)."""
        bindings = {
            "id": task,
            "model_calls": model_calls,
            "tool_calls": tool_calls,
            "input_tokens": input_tokens,
            "output_tokens": output_tokens,
        }
        return _task(self._touched(self._db.change_one(_ADD_USAGE, bindings), task))

    def set_window_facts(self, task: TaskId, facts: Mapping[str, object]) -> None:
        """Keep why and how the window was cut; numbers and reasons, never content."""
        bindings = {"id": task, "window_facts": json.dumps(facts, ensure_ascii=False)}
        self._touched(self._db.change_one(_SET_WINDOW_FACTS, bindings), task)

    def set_worked(self, task: TaskId, worked_ms: int) -> None:
        """Keep how long a task has worked by a clock that never jumps. Raises: StaleState."""
        bindings = {"id": task, "worked_ms": worked_ms}
        self._touched(self._db.change_one(_SET_WORKED, bindings), task)

    def note_crash(self, task: TaskId) -> int:
        """Count a crash of the process with this task alive; how many there were."""
        row = self._touched(self._db.change_one(_NOTE_CRASH, {"id": task}), task)
        return int(row["crashes"])

    def list_events(self, task: TaskId) -> tuple[TaskEvent, ...]:
        """The moves of a task in order."""
        return tuple(_event(row) for row in self._db.query(_EVENTS, {"task_id": task}))

    def _insert_event(self, task: Task, *, before: TaskState | None, reason: str) -> None:
        self._db.change(
            _INSERT_EVENT,
            {
                "task_id": task.id,
                "at_ms": now_ms(),
                "state_before": None if before is None else before.value,
                "state_after": task.state.value,
                "step": task.step,
                "reason": reason_text(reason),
            },
        )

    @staticmethod
    def _touched(row: Row | None, task: TaskId) -> Row:
        if row is None:
            raise StaleState("no_task", f"there is no task {task}")
        return row


def _task(row: Row) -> Task:
    return Task(
        **{
            **row,
            "state": TaskState(row["state"]),
            "window_facts": json.loads(row["window_facts"]),
        }
    )


def _event(row: Row) -> TaskEvent:
    before = row["state_before"]
    return TaskEvent(
        at_ms=row["at_ms"],
        state_before=None if before is None else TaskState(before),
        state_after=TaskState(row["state_after"]),
        step=row["step"],
        reason=row["reason"],
    )
