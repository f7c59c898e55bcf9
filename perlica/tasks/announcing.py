"""Announcing Medium actions: they ran by themselves, and the group is told.

Called by the agent loop at the end of a step and where a task begins to wait. Everything that is
new is said in one message, and what follows soon after one waits for the next, so that ten installs
are not ten messages; the final message lists what is newer still.
"""

from collections.abc import Collection
from typing import Final

from perlica.domain.actions import ActionCatalog
from perlica.domain.clock import now_ms
from perlica.domain.ids import OperationId
from perlica.domain.outbox import OutboxKind
from perlica.domain.plan import Level
from perlica.domain.texts import Language
from perlica.domain.texts.notices import say_announced
from perlica.protection import Channel, protect
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.operations import Operation, OperationStore
from perlica.stores.outbox import OutboxStore
from perlica.stores.tasks import Task
from perlica.tasks.final import executed_lines

_KIND = "operation.announced"
_MOST_EVENTS = 1_000
APART_MS: Final = 60_000
"""What ran within this time after an announcement waits for the next one, or for the answer."""


def announce_medium(
    database: Database,
    task: Task,
    language: Language,
    actions: ActionCatalog,
    *,
    may_wait: bool = False,
) -> bool:
    """Queue one message about Medium actions that ran and were not announced, in the caller's
    transaction; whether there was any.

    With `may_wait` nothing is said so soon after the last announcement of this task.
    """
    told = AuditStore(database).list_events(limit=_MOST_EVENTS, task_id=task.id, kind=_KIND)
    if may_wait and any(event.at_ms > now_ms() - APART_MS for event in told):
        return False
    new = _unannounced(database, task, {event.operation_id for event in told})
    lines = executed_lines(new, language=language, actions=actions)
    if not lines:
        return False
    summary = "；".join(lines) if language is Language.zh else "; ".join(lines)
    queued = OutboxStore(database).enqueue(
        key=f"announced:{new[0].id}",
        kind=OutboxKind.notice,
        content=protect(say_announced(summary, language), Channel.OUTBOX),
        task_id=task.id,
    )
    for operation in new:
        AuditStore(database).add_event(
            _KIND,
            actor="perlica",
            detail=protect({"action": operation.action}, Channel.AUDIT),
            task_id=task.id,
            operation_id=operation.id,
            level=Level.medium,
        )
    return bool(queued)


def _unannounced(
    database: Database, task: Task, told: Collection[OperationId | None]
) -> list[Operation]:
    return [
        operation
        for operation in OperationStore(database).list_for_task(task.id)
        if operation.level is Level.medium
        and operation.started_at_ms is not None
        and operation.id not in told
    ]
