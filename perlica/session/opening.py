"""The opening of a task: its window picked, rendered and stored as the first rows of the session.

`received → contextualizing → running`; a task that died in between is opened anew from the rows.
"""

from dataclasses import dataclass
from datetime import tzinfo

from perlica.domain.errors import Refused, StaleState
from perlica.domain.task import EndReason, TaskState
from perlica.protection import Protected
from perlica.session.prompt import render_window
from perlica.session.transcript import new_system, new_window
from perlica.session.window import Window, WindowLimits, pick_window
from perlica.stores.answers import AnswerStore
from perlica.stores.database import Database
from perlica.stores.messages import MessageStore, StoredMessage
from perlica.stores.sessions import SessionStore
from perlica.stores.tasks import Task, TaskStore
from perlica.tasks.ending import TaskEnder


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """Opens tasks over the session's connection; the system text is made once at the start."""

    database: Database
    system: Protected
    context_version: str
    limits: WindowLimits
    zone: tzinfo

    def open(self, task: Task, ender: TaskEnder) -> Task | None:
        """The running task; None when it cannot be opened and has ended with the reason."""
        if task.state is TaskState.received:
            with self.database.transaction():
                task = TaskStore(self.database).move_task(
                    task.id, before=TaskState.received, after=TaskState.contextualizing
                )
        trigger = self._trigger(task)
        if trigger is None:
            ender.end(task, after=TaskState.cancelled, reason=EndReason.recalled)
            return None
        try:
            window = self._pick(trigger)
            text = render_window(window, zone=self.zone)
        except Refused as error:
            too_large = error.code == "trigger_too_large"
            reason = EndReason.too_large if too_large else EndReason.protection_failed
            ender.end(task, after=TaskState.failed, reason=reason)
            return None
        return self._store(task, window, text)

    def _trigger(self, task: Task) -> StoredMessage | None:
        if task.trigger_row is None:
            return None
        trigger = MessageStore(self.database).find_message(task.trigger_row)
        if trigger is None or trigger.recalled_at_ms is not None:
            return None
        return trigger

    def _pick(self, trigger: StoredMessage) -> Window:
        messages, answers = MessageStore(self.database), AnswerStore(self.database)
        earlier = messages.list_recent(
            before_ms=trigger.sent_at_ms,
            after_ms=trigger.sent_at_ms - 2 * self.limits.age_ms,
            limit=2 * self.limits.messages,
            before=trigger,
        )
        quoted = None
        if trigger.quoted_message_id is not None:
            quoted = messages.find_quoted(
                trigger.quoted_message_id, trigger.sent_at_ms
            ) or answers.find_quoted(trigger.quoted_message_id)
        return pick_window(trigger, earlier, quoted, self.limits)

    def _store(self, task: Task, window: Window, text: Protected) -> Task:
        with self.database.transaction():
            sessions, tasks = SessionStore(self.database), TaskStore(self.database)
            if sessions.list_events(task.id):
                raise StaleState("opened_already", f"task {task.id} was opened already")
            for event in (new_system(self.system, version=self.context_version), new_window(text)):
                sessions.append_event(task.id, kind=event.kind.value, body=event.body)
            tasks.set_window_facts(task.id, window.facts.as_json())
            return tasks.move_task(
                task.id, before=TaskState.contextualizing, after=TaskState.running
            )
