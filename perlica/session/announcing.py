"""Announcing Medium actions: they ran by themselves, and the group is told (spec, 执行策略与审批).

Called by the agent loop at the end of a step and where a task begins to wait. Everything that is
new is said in one message; the final message lists what is newer still.
"""

from perlica.domain.outbox import OutboxKind
from perlica.domain.plan import Level
from perlica.domain.texts import Language
from perlica.domain.texts.notices import say_announced
from perlica.protection import Channel, protect
from perlica.session.final import executed_lines
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.operations import Operation, OperationStore
from perlica.stores.outbox import OutboxStore
from perlica.stores.tasks import Task

_KIND = "operation.announced"
_MOST_EVENTS = 1_000


def announce_medium(database: Database, task: Task, language: Language) -> bool:
    """Queue one message about Medium actions that ran and were not announced, in the caller's
    transaction; whether there was any.
    """
    new = _unannounced(database, task)
    lines = executed_lines(new, language=language)
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


def _unannounced(database: Database, task: Task) -> list[Operation]:
    medium = [
        operation
        for operation in OperationStore(database).list_for_task(task.id)
        if operation.level is Level.medium and operation.started_at_ms is not None
    ]
    if not medium:
        return []
    events = AuditStore(database).list_events(limit=_MOST_EVENTS, task_id=task.id, kind=_KIND)
    said = {event.operation_id for event in events}
    return [operation for operation in medium if operation.id not in said]
