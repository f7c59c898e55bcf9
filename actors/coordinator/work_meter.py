"""How long the living task has worked, by a clock that never jumps.

A part of the coordinator, which asks at every tick. The wall clock can be set forward or back by
hours, and no budget may end or grow by that. What was counted is kept every few seconds, so that a
restart costs a budget next to nothing, and the time without a process is not counted.
"""

from typing import Final

from perlica.domain.clock import monotonic_s
from perlica.domain.ids import TaskId
from perlica.stores.database import Database
from perlica.stores.tasks import Task, TaskStore

_KEEP_EVERY_MS: Final = 5_000


class WorkMeter:
    """Belongs to the coordinator's thread."""

    def __init__(self) -> None:
        """Nothing is counted yet."""
        self._task: TaskId | None = None
        self._worked_ms = 0.0
        self._kept_ms = 0.0
        self._looked_s = 0.0
        self._was_working = False

    def count(self, database: Database, task: Task) -> int:
        """Milliseconds that the task has worked, without its waiting for Owners."""
        at_s = monotonic_s()
        if task.id != self._task:
            self._task = task.id
            self._worked_ms = self._kept_ms = task.worked_ms
        elif self._was_working:
            self._worked_ms += (at_s - self._looked_s) * 1_000
        self._looked_s = at_s
        self._was_working = task.active_since_ms is not None
        if self._worked_ms - self._kept_ms >= _KEEP_EVERY_MS:
            self._keep(database, task)
        return int(self._worked_ms)

    def _keep(self, database: Database, task: Task) -> None:
        with database.transaction():
            TaskStore(database).set_worked(task.id, int(self._worked_ms))
        self._kept_ms = self._worked_ms
