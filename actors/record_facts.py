"""What `.tasks`, `.task` and `.audit` tell, read from the tables.

A part of the command desk; it reads and writes nothing.
"""

from perlica.commands.records import (
    MOST_AUDIT_EVENTS,
    MOST_TASKS,
    AuditLine,
    TaskLine,
    TaskRecord,
    TaskTicket,
)
from perlica.domain.clock import now_ms
from perlica.domain.ids import TaskId
from perlica.domain.texts import Language
from perlica.domain.texts.actions import label_action
from perlica.session.final import executed_lines
from perlica.stores.approvals import ApprovalStore
from perlica.stores.audit import AuditEvent, AuditStore
from perlica.stores.database import Database
from perlica.stores.messages import MessageStore
from perlica.stores.operations import OperationStore
from perlica.stores.tasks import Task, TaskStore


def read_tasks(database: Database) -> tuple[TaskLine, ...]:
    """The newest tasks."""
    return tuple(_line(database, task) for task in TaskStore(database).list_tasks(MOST_TASKS))


def read_task(database: Database, asked: TaskId, language: Language) -> TaskRecord | None:
    """One task, None where there is none of that id (any more)."""
    task = TaskStore(database).find_task(asked)
    if task is None:
        return None
    operations = OperationStore(database).list_for_task(task.id)
    tickets = ApprovalStore(database).list_for_task(task.id)
    return TaskRecord(
        line=_line(database, task),
        reason=task.end_reason,
        step=task.step,
        model_calls=task.model_calls,
        tool_calls=task.tool_calls,
        tokens=task.input_tokens + task.output_tokens,
        tickets=tuple(
            TaskTicket(ticket=t.id, action=label_action(t.action, language), state=t.state)
            for t in tickets
        ),
        executed=executed_lines(operations, language=language),
    )


def read_audit(database: Database, task: TaskId | None) -> tuple[AuditLine, ...]:
    """The newest audit events, of one task or of all."""
    events = AuditStore(database).list_events(limit=MOST_AUDIT_EVENTS, task_id=task)
    return tuple(
        AuditLine(at_ms=event.at_ms, kind=event.kind, actor=event.actor, about=_about(event))
        for event in events
    )


def name_requester(database: Database, task: Task) -> str:
    """The display name under which somebody asked for the task, or his number."""
    trigger = (
        MessageStore(database).find_message(task.trigger_row)
        if task.trigger_row is not None
        else None
    )
    return (trigger.display_name.content if trigger else "") or str(task.requester_id)


def _line(database: Database, task: Task) -> TaskLine:
    return TaskLine(
        task=task.id,
        state=task.state,
        requester=name_requester(database, task),
        age_ms=now_ms() - task.created_at_ms,
    )


def _about(event: AuditEvent) -> tuple[str, ...]:
    named = (event.task_id, event.ticket_id, event.operation_id)
    return tuple(str(name) for name in named if name is not None)
