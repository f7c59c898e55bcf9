"""The end of a task: state, message to the group, tickets, summary and audit in one transaction.

Used by the agent loop for the answer and for a task that cannot go on, and by the coordinator for
cancel, deadlines and crashes.
"""

import json
from dataclasses import dataclass

from perlica.domain.actions import ActionCatalog
from perlica.domain.clock import now_ms
from perlica.domain.errors import StaleState
from perlica.domain.ids import MessageId, UserId
from perlica.domain.outbox import OutboxKind
from perlica.domain.plan import JsonValue
from perlica.domain.task import FINAL_STATES, EndReason, TaskState
from perlica.domain.texts import Language
from perlica.domain.texts.notices import say_credentials, say_ended
from perlica.gateway.core.placeholders import CODE as PLACEHOLDER_CODE
from perlica.protection import Channel, Protected, protect
from perlica.protection.placeholder import ANY as PLACEHOLDER
from perlica.stores.approvals import ApprovalStore
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.messages import MessageStore
from perlica.stores.operations import Operation, OperationStore
from perlica.stores.outbox import OutboxStore
from perlica.stores.sessions import SessionStore
from perlica.stores.tasks import Task, TaskStore
from perlica.tasks.final import Usage, executed_lines, final_message, usage_line
from perlica.tasks.unmet import end_reason, unmet_lines

_TRIES = 5
_MOST_NAMED = 5
_MOST_REFUSED = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEnder:
    """Ends tasks over one database connection, in the group's language.

    `console_url` is where members reach the web console: an answer that is too long for the group
    names its task's page there.
    """

    database: Database
    language: Language
    actions: ActionCatalog
    shows_usage: bool = False
    console_url: str = ""

    def end(self, task: Task, *, after: TaskState, reason: EndReason) -> bool:
        """Move the task to a final state wherever it is now; False when it had ended already.

        Raises: StaleState when it moves faster than we look, which five times in a row is a fault.
        """
        for tries_left in reversed(range(_TRIES)):
            try:
                with self.database.transaction():
                    return self.end_within(task, after=after, reason=reason)
            except StaleState:
                if not tries_left:
                    raise
        return False

    def end_within(
        self, task: Task, *, after: TaskState, reason: EndReason, cancelled_by: str = ""
    ) -> bool:
        """As `end`, in the caller's transaction; `cancelled_by` is a protected display name."""
        current = TaskStore(self.database).find_task(task.id)
        if current is None or current.state in FINAL_STATES:
            return False
        operations = self._operations(current)
        said = say_ended(
            task=current.id,
            state=after,
            reason=reason.value,
            language=self.language,
            cancelled_by=cancelled_by,
        )
        lines = [
            said,
            *executed_lines(operations, language=self.language, actions=self.actions, is_over=True),
        ]
        lines += self._credentials(current)
        if self.shows_usage:
            lines.append(usage_line(self._usage(current), self.language))
        self._move(current, after, reason, protect("\n".join(lines), Channel.OUTBOX))
        return True

    def complete(self, task: Task, answer: str) -> bool:
        """End the completing task with the model's answer; False when that text cannot go out.

        Raises: StaleState when the task is not completing any more.
        """
        tickets = ApprovalStore(self.database).list_for_task(task.id)
        content = protect(
            final_message(
                task=task.id,
                answer=answer,
                operations=self._operations(task),
                language=self.language,
                actions=self.actions,
                usage=self._usage(task) if self.shows_usage else None,
                credentials=self._credentials(task),
                page_url=f"{self.console_url}/tasks/{task.id}" if self.console_url else "",
                unmet=unmet_lines(tickets, self.language, self.actions),
            ),
            Channel.OUTBOX,
        )
        if not content.is_usable:
            return False
        with self.database.transaction():
            self._move(task, TaskState.completed, end_reason(tickets), content)
        return True

    def _move(self, task: Task, after: TaskState, reason: EndReason, content: Protected) -> None:
        TaskStore(self.database).move_task(
            task.id, before=task.state, after=after, reason=reason.value
        )
        ApprovalStore(self.database).void_for_task(task.id)
        reply_to, at_user = addressee(self.database, task)
        OutboxStore(self.database).enqueue(
            key=f"final:{task.id}",
            kind=OutboxKind.final,
            content=content,
            reply_to=reply_to,
            at_user=at_user,
            task_id=task.id,
            language=self.language,
        )
        self._record(task, reason)

    def _record(self, task: Task, reason: EndReason) -> None:
        """The session's summary and the audit row."""
        usage = self._usage(task)
        facts: dict[str, JsonValue] = {
            "reason": reason.value,
            "elapsed_ms": usage.elapsed_ms,
            "model_calls": task.model_calls,
            "tool_calls": task.tool_calls,
            "input_tokens": task.input_tokens,
            "output_tokens": task.output_tokens,
            "usage_is_estimate": usage.is_estimate,
            "operations": [
                {"id": operation.id, "action": operation.action, "state": operation.state.value}
                for operation in self._operations(task)
            ],
        }
        SessionStore(self.database).insert_summary(task.id, protect(facts, Channel.AUDIT))
        AuditStore(self.database).add_event(
            "task.ended",
            actor="perlica",
            detail=protect({"reason": reason.value}, Channel.AUDIT),
            task_id=task.id,
        )

    def _credentials(self, task: Task) -> tuple[str, ...]:
        """What became of the credentials that this task met, in the group's language."""
        replaced: list[str] = []
        if task.trigger_row is not None:
            trigger = MessageStore(self.database).find_message(task.trigger_row)
            if trigger is not None and trigger.content.finding_count:
                replaced = PLACEHOLDER.findall(trigger.content.content)
        refused = AuditStore(self.database).list_events(
            limit=_MOST_REFUSED, task_id=task.id, kind="call.refused"
        )
        codes = [json.loads(event.detail.content or "{}").get("code") for event in refused]
        return say_credentials(
            replaced=list(dict.fromkeys(replaced))[:_MOST_NAMED],
            refused_calls=codes.count(PLACEHOLDER_CODE),
            language=self.language,
        )

    def _operations(self, task: Task) -> tuple[Operation, ...]:
        return OperationStore(self.database).list_for_task(task.id)

    def _usage(self, task: Task) -> Usage:
        events = SessionStore(self.database).list_events(task.id)
        bodies = (json.loads(event.body.content or "{}") for event in events)
        return Usage(
            model_calls=task.model_calls,
            tool_calls=task.tool_calls,
            tokens=task.input_tokens + task.output_tokens,
            elapsed_ms=now_ms() - task.created_at_ms,
            is_estimate=any(body.get("usage_is_estimate") is True for body in bodies),
        )


def addressee(database: Database, task: Task) -> tuple[MessageId | None, UserId]:
    """The message to quote and the member to mention in an answer to this task."""
    trigger = None
    if task.trigger_row is not None:
        trigger = MessageStore(database).find_message(task.trigger_row)
    return (trigger.message_id if trigger else None), task.requester_id
