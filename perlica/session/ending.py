"""The end of a task: state, notice to the group, tickets, summary and audit in one transaction.

Used by the agent loop for a task that cannot go on and by the coordinator for cancel, deadlines
and crashes; the ordinary end with an answer stands in `perlica.session.loop`.
"""

from dataclasses import dataclass

from perlica.domain.clock import now_ms
from perlica.domain.errors import StaleState
from perlica.domain.ids import MessageId, UserId
from perlica.domain.outbox import OutboxKind
from perlica.domain.task import FINAL_STATES, EndReason, TaskState
from perlica.domain.texts import Language
from perlica.domain.texts.notices import say_ended
from perlica.protection import Channel, protect
from perlica.session.final import executed_lines
from perlica.stores.approvals import ApprovalStore
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.messages import MessageStore
from perlica.stores.operations import OperationStore
from perlica.stores.outbox import OutboxStore
from perlica.stores.sessions import SessionStore
from perlica.stores.tasks import Task, TaskStore

_TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEnder:
    """Ends tasks over one database connection, in the group's language."""

    database: Database
    language: Language

    def end(self, task: Task, *, after: TaskState, reason: EndReason) -> bool:
        """Move the task to a final state wherever it is now; False when it had ended already."""
        for _ in range(_TRIES):
            current = TaskStore(self.database).find_task(task.id)
            if current is None or current.state in FINAL_STATES:
                return False
            try:
                self._end_from(current, after=after, reason=reason)
            except StaleState:
                continue
            return True
        raise StaleState("task_moves_on", f"task {task.id} kept moving")

    def _end_from(self, task: Task, *, after: TaskState, reason: EndReason) -> None:
        with self.database.transaction():
            TaskStore(self.database).move_task(
                task.id, before=task.state, after=after, reason=reason.value
            )
            ApprovalStore(self.database).void_for_task(task.id)
            self._tell_group(task, after, reason)
            record_end(self.database, task, reason)

    def _tell_group(self, task: Task, after: TaskState, reason: EndReason) -> None:
        text = say_ended(task=task.id, state=after, reason=reason.value, language=self.language)
        lines = executed_lines(
            OperationStore(self.database).list_for_task(task.id), language=self.language
        )
        whole = "\n".join([text, *lines])
        reply_to, at_user = addressee(self.database, task)
        OutboxStore(self.database).enqueue(
            key=f"final:{task.id}",
            kind=OutboxKind.final,
            content=protect(whole, Channel.OUTBOX),
            reply_to=reply_to,
            at_user=at_user,
            task_id=task.id,
        )


def addressee(database: Database, task: Task) -> tuple[MessageId | None, UserId]:
    """The message to quote and the member to mention in an answer to this task."""
    trigger = None
    if task.trigger_row is not None:
        trigger = MessageStore(database).find_message(task.trigger_row)
    return (trigger.message_id if trigger else None), task.requester_id


def record_end(database: Database, task: Task, reason: EndReason) -> None:
    """The session's summary and the audit row of a task's end, in the caller's transaction."""
    operations = OperationStore(database).list_for_task(task.id)
    facts = {
        "reason": reason.value,
        "elapsed_ms": now_ms() - task.created_at_ms,
        "model_calls": task.model_calls,
        "tool_calls": task.tool_calls,
        "input_tokens": task.input_tokens,
        "output_tokens": task.output_tokens,
        "operations": [
            {"id": operation.id, "action": operation.action, "state": operation.state.value}
            for operation in operations
        ],
    }
    SessionStore(database).insert_summary(task.id, protect(facts, Channel.AUDIT))
    AuditStore(database).add_event(
        "task.ended",
        actor="perlica",
        detail=protect({"reason": reason.value}, Channel.AUDIT),
        task_id=task.id,
    )
