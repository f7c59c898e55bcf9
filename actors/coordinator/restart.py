"""What the coordinator keeps over a restart: whether the last stop was ordered or a crash.

Only a crash counts against the task that was alive; three of them end it. An operator who restarts
the service as often as he likes costs a task nothing.
"""

from typing import Final

from perlica.domain.task import TaskState
from perlica.stores.database import Database
from perlica.stores.service import ServiceStore
from perlica.stores.tasks import Task, TaskStore

_KEY: Final = "ordered_stop"
_YES, _NO = "1", "0"
_STARTED: Final = frozenset({TaskState.contextualizing, TaskState.running, TaskState.completing})


def note_ordered_stop(database: Database) -> None:
    """The process is about to end because somebody asked for it."""
    with database.transaction():
        ServiceStore(database).set(_KEY, _YES)


def count_crash(database: Database) -> tuple[Task | None, int]:
    """At the start: the task that a crash interrupted, and how many crashes it has seen.

    The task is None when none was at work or the last stop was ordered.
    """
    tasks, service = TaskStore(database), ServiceStore(database)
    task = tasks.active_task()
    was_ordered = service.find(_KEY) == _YES
    interrupted = task if task is not None and task.state in _STARTED else None
    if not was_ordered and interrupted is None:
        return None, 0
    with database.transaction():
        service.set(_KEY, _NO)
        if was_ordered or interrupted is None:
            return None, 0
        return interrupted, tasks.note_crash(interrupted.id)
