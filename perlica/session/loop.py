"""The agent loop: one step of a task, from what the rows say to what the rows say next.

The session actor calls `do_step`; the coordinator decides when. Everything that lasts is in the
tables before anything acts on it, so a step that dies is taken up again by the next process.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from perlica.domain.cancel import CancelToken
from perlica.domain.errors import Cancelled, Misconfigured, Refused, Retryable, StaleState
from perlica.domain.ids import CallId, TaskId
from perlica.domain.task import FINAL_STATES, EndReason, TaskState
from perlica.domain.texts import Language
from perlica.gateway.core.gateway import Gateway, GivenCall
from perlica.gateway.core.outcomes import Answered, CallEnd, Ended, Suspended, refusal
from perlica.runtimes.checks import explain_fault
from perlica.runtimes.contract import AgentTurn, find_end_reason
from perlica.runtimes.sessions import RuntimeSessions
from perlica.session.budgets import Budgets, find_overdrawn, find_spent
from perlica.session.opening import Opening
from perlica.session.transcript import (
    RecordedCall,
    RecordedTurn,
    Transcript,
    new_note,
    new_result,
    record_turn,
)
from perlica.stores.database import Database
from perlica.stores.sessions import NewCall, SessionStore, ToolCall
from perlica.stores.tasks import Task, TaskStore
from perlica.tasks.announcing import announce_medium
from perlica.tasks.ending import TaskEnder
from perlica.tasks.review import due_question, has_answered, last_answer, new_review

_log = logging.getLogger(__name__)

_NOT_INTACT = (
    "not executed: its parameters held a credential and were not kept over a restart of the"
    " service. Call it again if it is still needed."
)


@dataclass(slots=True, kw_only=True)
class AgentLoop:
    """One task at a time, one step at a call; holds the session's database connection."""

    database: Database
    gateway: Gateway
    runtime_sessions: RuntimeSessions
    opening: Opening
    budgets: Budgets
    ender: TaskEnder
    language: Language
    new_transcript: Callable[[], Transcript]
    _transcripts: dict[TaskId, Transcript] = field(default_factory=dict)

    def close(self) -> None:
        """Forget what was rendered and close what a runtime keeps."""
        self._transcripts.clear()
        self.runtime_sessions.close()

    def let_go(self, task_id: TaskId) -> None:
        """Forget the task and close its runtime's session, if the rows say that it has ended."""
        task = TaskStore(self.database).find_task(task_id)
        if task is None or task.state in FINAL_STATES:
            self._transcripts.pop(task_id, None)
            self.runtime_sessions.end(task_id)

    def do_step(self, task_id: TaskId, step: int, cancel: CancelToken) -> None:
        """Do the step if the task is still at it; whatever happens is in the tables afterwards.

        Raises: StoreUnavailable when the database takes no write: the step is taken up again later.
        """
        try:
            self._do_step(task_id, step, cancel)
        except Cancelled:
            _log.info("step cancelled", extra={"task": task_id, "step": step})
        except StaleState as error:
            _log.info("step outdated", extra={"task": task_id, "step": step, "code": error.code})
        self.let_go(task_id)

    def _do_step(self, task_id: TaskId, step: int, cancel: CancelToken) -> None:
        task = TaskStore(self.database).find_task(task_id)
        if task is None or task.step != step:
            return
        if task.state in {TaskState.received, TaskState.contextualizing}:
            task = self.opening.open(task, self.ender)
        if task is not None and task.state is TaskState.running:
            cancel.check()
            task = self._run(task, cancel)
        if task is not None and task.state is TaskState.completing:
            self._complete(task)

    def _run(self, task: Task, cancel: CancelToken) -> Task | None:
        """Left-over calls, then one turn and its calls; the task where it stands then."""
        overdrawn = find_overdrawn(self.budgets, task)
        if overdrawn is not None:
            return self._cannot_go_on(task, overdrawn)
        if not self._work_off(task, {}, cancel):
            return None
        spent = find_spent(self.budgets, self._now(task), SessionStore(self.database))
        if spent is not None:
            return self._cannot_go_on(task, spent)
        turn = self._think(task, cancel)
        if isinstance(turn, EndReason):
            return self._cannot_go_on(task, turn)
        return self._take(task, turn, cancel)

    def _cannot_go_on(self, task: Task, reason: EndReason) -> Task | None:
        """End the task, unless its answer was there before the review began: then that counts."""
        if has_answered(SessionStore(self.database).list_events(task.id)):
            with self.database.transaction():
                return TaskStore(self.database).move_task(
                    task.id, before=TaskState.running, after=TaskState.completing, step=task.step
                )
        self.ender.end(task, after=TaskState.failed, reason=reason)
        return None

    # --- the model --------------------------------------------------------------------------

    def _think(self, task: Task, cancel: CancelToken) -> AgentTurn | EndReason:
        """The next turn, or why there is none."""
        sessions = SessionStore(self.database)
        transcript = self._transcript_of(task.id)
        calls = sessions.list_calls(task.id)
        outputs = [found for call in calls if (found := sessions.find_output(call.id)) is not None]
        conversation = transcript.conversation(sessions.list_events(task.id), calls, outputs)
        try:
            return self.runtime_sessions.turn(task.id, conversation, self.gateway.specs(), cancel)
        except (Refused, Retryable, Misconfigured) as error:
            cancel.check()
            _log.warning("no model turn", extra={"task": task.id, "code": error.code})
            return find_end_reason(error)

    def _take(self, task: Task, turn: AgentTurn, cancel: CancelToken) -> Task | None:
        """Write the turn down, then do what it says."""
        cancel.check()
        try:
            recorded = record_turn(turn)
        except Refused as error:
            _log.warning("turn not kept", extra={"task": task.id, "code": error.code})
            return self._cannot_go_on(task, find_end_reason(error))
        review = self._due_review(task, turn)
        answered = turn.end is EndReason.answered and not review
        task = self._write_turn(task, turn, recorded, answered=answered, review=review)
        if answered:
            return task
        reason = turn.end if not review else None
        reason = reason or find_overdrawn(self.budgets, task)
        if reason is not None:
            return self._cannot_go_on(task, reason)
        raw = {call.id: call.arguments_json for call in turn.calls}
        if not self._work_off(task, raw, cancel):
            return None
        self._announce(task, ends_step=True)
        return None

    def _due_review(self, task: Task, turn: AgentTurn) -> str:
        """What families ask about the run of work that ends now; "" for nothing."""
        is_answered = turn.end is EndReason.answered
        if not turn.calls and not is_answered:
            return ""
        return due_question(
            self.database,
            task.id,
            self.gateway.registry.reviews(),
            tools={call.tool for call in turn.calls},
            is_answered=is_answered,
        )

    def _write_turn(
        self,
        task: Task,
        turn: AgentTurn,
        recorded: RecordedTurn,
        *,
        answered: bool,
        review: str,
    ) -> Task:
        """One transaction: the turn's rows, results of calls that never run, usage, the move."""
        with self.database.transaction():
            sessions, tasks = SessionStore(self.database), TaskStore(self.database)
            event = recorded.event
            seq = sessions.append_event(
                task.id, kind=event.kind.value, body=event.body, opaque=event.opaque
            )
            sessions.insert_calls(task.id, seq, [_new_call(call) for call in recorded.calls])
            for call in recorded.calls:
                if call.fault is not None:
                    told = refusal(explain_fault(call.fault, self.gateway.specs()))
                    self._write_result(task, call.id, told)
            if turn.correction:
                note = new_note(turn.correction)
                sessions.append_event(task.id, kind=note.kind.value, body=note.body)
            if review:
                body = new_review(review, is_answered=turn.end is EndReason.answered)
                sessions.append_event(task.id, kind="note", body=body)
            tasks.add_usage(
                task.id,
                model_calls=1,
                tool_calls=len(recorded.calls),
                input_tokens=turn.input_tokens,
                output_tokens=turn.output_tokens,
            )
            if not answered:
                return self._still_running(task)
            return tasks.move_task(
                task.id, before=TaskState.running, after=TaskState.completing, step=task.step
            )

    def _still_running(self, task: Task) -> Task:
        """Raises: StaleState when the task moved on, which rolls the caller's transaction back."""
        found = TaskStore(self.database).find_task(task.id)
        if found is None or found.state is not TaskState.running or found.step != task.step:
            raise StaleState("task_moved", f"task {task.id} is not at step {task.step} any more")
        return found

    # --- calls ------------------------------------------------------------------------------

    def _work_off(self, task: Task, raw: Mapping[CallId, str], cancel: CancelToken) -> bool:
        """Take open calls to their end in order; False when the task waits or has ended."""
        open_calls = SessionStore(self.database).list_calls(
            task.id, states={"undispatched", "dispatched", "waiting"}
        )
        for call in open_calls:
            cancel.check()
            match self._take_to_end(task, call, raw.get(call.id), cancel):
                case Answered() as answered:
                    try:
                        with self.database.transaction():
                            self._still_running(task)
                            self._write_result(task, call.id, answered)
                    except StaleState:
                        self._acknowledge(answered)  # The task has ended: nobody will read it.
                        raise
                    self._acknowledge(answered)
                case Suspended():
                    return False
                case Ended(reason=reason):
                    self.ender.end(task, after=TaskState.failed, reason=reason)
                    return False
        return True

    def _acknowledge(self, answered: Answered) -> None:
        if answered.operation is not None:
            self.gateway.acknowledge(answered.operation)

    def _take_to_end(
        self, task: Task, call: ToolCall, raw: str | None, cancel: CancelToken
    ) -> CallEnd:
        arguments = raw if raw is not None else call.arguments.content
        given = GivenCall(id=call.id, tool=call.tool, arguments_json=arguments)
        match call.state:
            case "waiting":
                return self.gateway.resume(task, given, cancel)
            case "dispatched":
                return self.gateway.recover(given, cancel)
            case _ if raw is None and not call.arguments_intact:
                return refusal(_NOT_INTACT)
            case _:
                return self.gateway.dispatch(
                    task, given, cancel, before_asking=lambda: self._announce(task)
                )

    def _write_result(self, task: Task, call: CallId, answered: Answered) -> None:
        """The result of a call, in the caller's transaction."""
        sessions = SessionStore(self.database)
        found = sessions.find_call(call)
        if found is None:
            raise StaleState("no_such_call", f"call {call} is gone")
        sessions.move_call(call, before=found.state, after="done")
        sessions.insert_output(call, task.id, answered.source, answered.content)
        result = new_result(call, is_error=answered.failed)
        sessions.append_event(
            task.id, kind=result.kind.value, body=result.body, call_id=result.call_id
        )

    # --- the end ----------------------------------------------------------------------------

    def _complete(self, task: Task) -> None:
        """The final message and the end of the task in one transaction."""
        sessions = SessionStore(self.database)
        answer = last_answer(
            sessions.list_events(task.id),
            sessions.list_calls(task.id),
            self.gateway.registry.reviews(),
        )
        if not self.ender.complete(task, answer):
            self.ender.end(task, after=TaskState.failed, reason=EndReason.protection_failed)

    def _announce(self, task: Task, *, ends_step: bool = False) -> None:
        """Tell the group of Medium actions that are news, with the step's end where it ends."""
        with self.database.transaction():
            if ends_step:
                TaskStore(self.database).next_step(task.id, step=task.step)
            is_news = announce_medium(
                self.database, task, self.language, self.ender.actions, may_wait=ends_step
            )
        if is_news:
            self.gateway.ring_outbox()

    def _transcript_of(self, task: TaskId) -> Transcript:
        """What was rendered for this task; that of an earlier one is forgotten."""
        if task not in self._transcripts:
            self._transcripts.clear()
            self._transcripts[task] = self.new_transcript()
        return self._transcripts[task]

    def _now(self, task: Task) -> Task:
        return TaskStore(self.database).find_task(task.id) or task


def _new_call(call: RecordedCall) -> NewCall:
    """The row of a call of this turn."""
    return NewCall(
        id=call.id,
        position=call.position,
        provider_call_id=call.provider_call_id,
        tool=call.tool,
        arguments=call.arguments,
        arguments_intact=call.is_intact,
    )
