"""Progress of a long task: at most a few short lines, spaced, then silence.

A part of the coordinator, which looks at every tick; times count only what the task works, not what
it waits for an Owner (the question itself is the news then).
"""

from dataclasses import dataclass

from perlica.domain.clock import now_ms
from perlica.domain.outbox import OutboxKind
from perlica.domain.task import TaskState
from perlica.domain.texts import Language
from perlica.domain.texts.notices import say_progress
from perlica.domain.texts.sandboxes import say_output
from perlica.protection import Channel, protect
from perlica.stores.database import Database
from perlica.stores.outbox import OutboxStore
from perlica.stores.progress import ProgressStore
from perlica.stores.tasks import Task

_WORKING = frozenset({TaskState.running, TaskState.completing})


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressSettings:
    """When the first line comes, how far apart further ones are, and how many there are at most."""

    after_ms: int
    every_ms: int
    most_lines: int
    language: Language


def report_progress(
    database: Database, task: Task, settings: ProgressSettings, *, worked_ms: int
) -> bool:
    """Queue the line that is due now, if one is; whether it did. The key makes each line once."""
    number = _due_line(task, settings, worked_ms)
    if number is None:
        return False
    text = say_progress(
        task=task.id,
        state=task.state,
        step=task.step + 1,
        elapsed_ms=now_ms() - task.created_at_ms,
        language=settings.language,
    )
    running = ProgressStore(database).find_for_task(task.id)
    if running is not None:
        text += say_output(running.output_bytes, running.last_line.content, settings.language)
    with database.transaction():
        added = OutboxStore(database).enqueue(
            key=f"progress:{task.id}:{number}",
            kind=OutboxKind.progress,
            content=protect(text, Channel.OUTBOX),
            task_id=task.id,
        )
    return bool(added)


def _due_line(task: Task, settings: ProgressSettings, worked_ms: int) -> int | None:
    """The number of the line that belongs to this moment, None where there is none."""
    if task.state not in _WORKING or worked_ms < settings.after_ms:
        return None
    number = (worked_ms - settings.after_ms) // settings.every_ms
    return int(number) if number < settings.most_lines else None
