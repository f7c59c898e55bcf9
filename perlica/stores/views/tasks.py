"""Tasks as lists and pages show them: with what was asked, and by whom."""

import re
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from perlica.stores.database import Database, Row
from perlica.stores.views.columns import (
    LINE_CODE_POINTS,
    PASSAGE_CODE_POINTS,
    Excerpt,
    excerpt,
    read_all,
    read_one,
    texts,
    with_excerpts,
)


class TaskFilter(StrEnum):
    """Which tasks a list shows."""

    everything = "everything"
    completed = "completed"
    failed = "failed"
    cancelled = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """A task; `place` orders it among tasks of the same millisecond.

    In `asked`, mentions of our own account read `@Perlica` instead of its number.
    """

    id: str
    place: int
    state: str
    step: int
    requester_id: int
    requester_name: str = field(repr=False)
    asked: Excerpt
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
    window_facts: str
    crashes: int

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return self.ended_at_ms is None

    def worked_ms(self, at_ms: int) -> int:
        """Milliseconds outside `waiting_approval`, up to `at_ms` or its end."""
        since = at_ms if self.active_since_ms is None else self.active_since_ms
        return self.active_ms + max(0, at_ms - since)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskMove:
    """A move from state to state; `before` is None at the beginning."""

    id: int
    at_ms: int
    state_before: str | None
    state_after: str
    step: int
    reason: str


_TEXTS: Final = texts(
    "tasks.id",
    "tasks.state",
    "tasks.end_reason",
    "tasks.policy_version",
    "tasks.context_version",
)

_FACTS: Final = texts("tasks.window_facts", code_points=4_096)


def _select(asked_code_points: int) -> str:
    asked = excerpt("trigger_message.content", asked_code_points, called="asked")
    return f"""
SELECT tasks.rowid AS place, {_TEXTS}, {asked}, tasks.step, tasks.requester_id,
    tasks.created_at_ms, tasks.active_ms, tasks.active_since_ms, tasks.ended_at_ms,
    tasks.model_calls, tasks.tool_calls, tasks.input_tokens, tasks.output_tokens, tasks.crashes,
    {_FACTS}, (SELECT self_id FROM target_group) AS self_id,
    CAST(substr(coalesce(trigger_message.display_name, ''), 1, 64) AS BLOB) AS requester_name
FROM tasks LEFT JOIN group_messages AS trigger_message ON trigger_message.id = tasks.trigger_row
"""  # noqa: S608 - joined from constants only


_OLDER: Final = "(tasks.created_at_ms, tasks.rowid) < (:before_ms, :before_place)"
_NEWEST: Final = "ORDER BY tasks.created_at_ms DESC, tasks.rowid DESC LIMIT :limit"
_CONDITIONS: Final = {
    TaskFilter.everything: "",
    TaskFilter.completed: "AND tasks.state = 'completed'",
    TaskFilter.failed: "AND tasks.state = 'failed'",
    TaskFilter.cancelled: "AND tasks.state = 'cancelled'",
}
_LISTS: Final = {
    which: f"{_select(LINE_CODE_POINTS)} WHERE {_OLDER} {condition} {_NEWEST}"
    for which, condition in _CONDITIONS.items()
}
_FIND: Final = f"{_select(PASSAGE_CODE_POINTS)} WHERE tasks.id = :id"
_ACTIVE: Final = f"""
{_select(PASSAGE_CODE_POINTS)} WHERE tasks.state NOT IN ('completed', 'failed', 'cancelled')
"""
_SEARCH: Final = f"""
{_select(LINE_CODE_POINTS)}
WHERE instr(lower(trigger_message.content), lower(:words)) > 0
    OR instr(lower(trigger_message.display_name), lower(:words)) > 0
    OR CAST(tasks.requester_id AS TEXT) = :words
{_NEWEST}
"""
_MOVES: Final = f"""
SELECT id, at_ms, {texts("state_before", "state_after", "reason")}, step
FROM task_events WHERE task_id = :id ORDER BY id LIMIT :limit
"""  # noqa: S608

_END_OF_TIME: Final = (2**62, 2**62)
MAX_MOVES: Final = 500


def list_tasks(
    db: Database, which: TaskFilter, *, limit: int, before: tuple[int, int] | None = None
) -> tuple[TaskView, ...]:
    """The newest tasks first; `before` is (created_at_ms, place) of the last one of a page."""
    before_ms, before_place = before or _END_OF_TIME
    bindings = {"before_ms": before_ms, "before_place": before_place, "limit": limit}
    return tuple(_task(row) for row in read_all(db, _LISTS[which], bindings))


def find_task(db: Database, task: str) -> TaskView | None:
    """A task by its id."""
    row = read_one(db, _FIND, {"id": task})
    return None if row is None else _task(row)


def search_tasks(db: Database, words: str, *, limit: int) -> tuple[TaskView, ...]:
    """The newest tasks whose request or requester (name or number) holds the words."""
    return tuple(_task(row) for row in read_all(db, _SEARCH, {"words": words, "limit": limit}))


def find_active_task(db: Database) -> TaskView | None:
    """The task that is alive."""
    row = read_one(db, _ACTIVE)
    return None if row is None else _task(row)


def list_moves(db: Database, task: str) -> tuple[TaskMove, ...]:
    """The moves of a task in order, the first `MAX_MOVES` of them."""
    rows = read_all(db, _MOVES, {"id": task, "limit": MAX_MOVES})
    return tuple(TaskMove(**row) for row in rows)


def _task(row: Row) -> TaskView:
    self_id = row.pop("self_id")
    fields = with_excerpts(row, "asked")
    asked: Excerpt = fields["asked"]
    named = re.sub(rf"@{self_id}(?!\d)", "@Perlica", asked.text)
    return TaskView(**{**fields, "asked": replace(asked, text=named)})
