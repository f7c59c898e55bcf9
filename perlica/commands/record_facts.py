"""What `.tasks`, `.task` and `.audit` tell, read from the tables.

A part of the command handler; it reads and writes nothing.
"""

import json

from perlica.commands.records import (
    MOST_AUDIT_EVENTS,
    MOST_TASKS,
    AuditLine,
    TaskLine,
    TaskRecord,
    TaskTicket,
)
from perlica.domain.actions import ActionCatalog
from perlica.domain.clock import now_ms
from perlica.domain.ids import RowId, TaskId, UserId
from perlica.domain.task import FINAL_STATES
from perlica.domain.texts import Language
from perlica.protection import Protected
from perlica.stores.approvals import ApprovalStore, Ticket
from perlica.stores.audit import AuditEvent, AuditStore
from perlica.stores.database import Database
from perlica.stores.messages import MessageStore
from perlica.stores.operations import Operation, OperationStore
from perlica.stores.tasks import Task, TaskStore
from perlica.tasks.final import executed_lines


def read_tasks(database: Database) -> tuple[TaskLine, ...]:
    """The newest tasks."""
    return tuple(_line(database, task) for task in TaskStore(database).list_tasks(MOST_TASKS))


def read_task(
    database: Database, asked: TaskId, language: Language, actions: ActionCatalog
) -> TaskRecord | None:
    """One task, None where there is none of that id (any more)."""
    task = TaskStore(database).find_task(asked)
    if task is None:
        return None
    operations = OperationStore(database).list_for_task(task.id)
    tickets = ApprovalStore(database).list_for_task(task.id)
    return TaskRecord(
        line=_line(database, task),
        step=task.step,
        model_calls=task.model_calls,
        tool_calls=task.tool_calls,
        tokens=task.input_tokens + task.output_tokens,
        tickets=tuple(
            TaskTicket(ticket=t.id, action=actions.label(t.action, language), state=t.state)
            for t in tickets
        ),
        executed=executed_lines(
            operations, language=language, actions=actions, is_over=task.state in FINAL_STATES
        ),
    )


def read_audit(database: Database, task: TaskId | None) -> tuple[AuditLine, ...]:
    """The newest audit events, of one task or of all."""
    events = AuditStore(database).list_events(limit=MOST_AUDIT_EVENTS, task_id=task)
    return tuple(
        AuditLine(
            at_ms=event.at_ms,
            kind=event.kind,
            actor=event.actor,
            about=_about(event),
            facts={**_subject(database, event), **_read_map(event.detail)},
        )
        for event in events
    )


def name_requester(database: Database, task: Task) -> str:
    """The display name under which somebody asked for the task, or his number."""
    return name_sender(database, task.trigger_row, task.requester_id)


def name_sender(database: Database, row: RowId | None, user: UserId) -> str:
    """The protected display name under which a stored message was sent, or its sender's number."""
    message = MessageStore(database).find_message(row) if row is not None else None
    return (message.display_name.content if message else "") or str(user)


def _line(database: Database, task: Task) -> TaskLine:
    return TaskLine(
        task=task.id,
        state=task.state,
        requester=name_requester(database, task),
        age_ms=now_ms() - task.created_at_ms,
        reason=task.end_reason,
    )


def _subject(database: Database, event: AuditEvent) -> dict[str, object]:
    """Action and target of the operation or the ticket that an event is about."""
    about: Operation | Ticket | None = None
    if event.operation_id is not None:
        about = OperationStore(database).find(event.operation_id)
    elif event.ticket_id is not None:
        about = ApprovalStore(database).find_ticket(event.ticket_id)
    if about is None:
        return {}
    target = _read_map(about.plan).get("target")
    return {**(target if isinstance(target, dict) else {}), "action": about.action}


def _read_map(protected: Protected) -> dict[str, object]:
    try:
        found = json.loads(protected.content or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _about(event: AuditEvent) -> tuple[str, ...]:
    named = (event.task_id, event.ticket_id, event.operation_id)
    return tuple(str(name) for name in named if name is not None)
