"""TaskCoordinator: the active task's state, dot commands, deadlines.

It never blocks: the session does the work of a step in its own thread and tells when it is done;
cancel reaches it by a flag. What it reads is the tables, what it hears are bells. A stop leaves
what is in hand to the next process (docs/adr/0007).
"""

import logging
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from actors.base import Alarm, PerlicaActor, Wires, tell_safely
from actors.coordinator.progress import ProgressSettings, report_progress
from actors.coordinator.restart import count_crash, note_ordered_stop
from actors.coordinator.work_meter import WorkMeter
from actors.messages import (
    ApprovalUndeliverable,
    CommandGiven,
    Decide,
    Drain,
    OutboxRung,
    SandboxOrdered,
    StepDue,
    StepFinished,
    TaskRequested,
    Tick,
    TicketDecided,
    TriggerRecalled,
    WorkOver,
)
from perlica.commands.handlers import CommandHandler
from perlica.commands.names import CommandName
from perlica.commands.sandbox_handler import SANDBOX_COMMANDS
from perlica.domain.approval import LIVING_STATES, TicketState
from perlica.domain.cancel import CancelToken
from perlica.domain.clock import monotonic_s, now_ms
from perlica.domain.errors import StaleState, StoreUnavailable
from perlica.domain.ids import RowId, TaskId
from perlica.domain.task import EndReason, TaskState
from perlica.gateway.core.tickets import void_ticket
from perlica.stores.approvals import ApprovalStore, Ticket
from perlica.stores.commands import CommandStore
from perlica.stores.database import Database
from perlica.stores.outbox import OutboxStore
from perlica.stores.tasks import Task, TaskStore
from perlica.tasks.after_restore import tell_ended
from perlica.tasks.ending import TaskEnder

_log = logging.getLogger(__name__)

_MOST_CRASHES = 3
_MOST_REPEATS = 25
_QUICK_REPEATS = 3
_STUCK_AFTER_S = 60.0
_DECISIONS = frozenset({CommandName.approve, CommandName.deny})
_BELLS_WITHOUT_A_TABLE = (TriggerRecalled, ApprovalUndeliverable)
"""What they announce is not looked for at a tick, so they are kept while the database is busy."""


class SessionStuck(Exception):
    """The session does not end a step that it was asked to stop: only a new process helps."""


@dataclass(slots=True)
class _InHand:
    """The step that the session has been told and has not finished."""

    task: TaskId
    step: int
    cancel: CancelToken
    stopped_at_s: float | None = None

    def stop(self) -> None:
        """Ask the session to stop it."""
        self.cancel.set()
        self.stopped_at_s = self.stopped_at_s or monotonic_s()


class TaskCoordinator(PerlicaActor):
    """Owns the active task."""

    def __init__(
        self,
        *,
        database_path: Path,
        handler: CommandHandler,
        wall_time_ms: int,
        shows_usage: bool,
        progress: ProgressSettings,
        wires: Wires,
        alarm: Alarm,
    ) -> None:
        """Keep the parts; the connection opens in the actor's own thread."""
        super().__init__(name="coordinator", alarm=alarm)
        self._path = database_path
        self._handler = handler
        self._wall_time_ms = wall_time_ms
        self._shows_usage = shows_usage
        self._progress = progress
        self._wires = wires
        self._in_hand: _InHand | None = None
        self._meter = WorkMeter()
        self._last_given: tuple[TaskId, int, TaskState, int] | None = None
        self._repeats = 0
        self._is_draining = False
        self._put_off: list[object] = []

    def begin(self) -> None:
        """Open the connection, count the crash that left a task in the middle."""
        self._database = Database.open(self._path)
        self._ender = TaskEnder(
            database=self._database,
            language=self._handler.language,
            actions=self._handler.actions,
            shows_usage=self._shows_usage,
        )
        self._tasks = TaskStore(self._database)
        interrupted, crashes = count_crash(self._database)
        if interrupted is not None and crashes >= _MOST_CRASHES:
            self._ender.end(
                interrupted, after=TaskState.failed, reason=EndReason.crashed_repeatedly
            )
        self._give_up_unasked()
        if tell_ended(self._database, self._handler.language):
            tell_safely(self._wires.outbox, OutboxRung())

    def end(self) -> None:
        """Leave what is in hand to the next process and close the connection."""
        if self._in_hand is not None:
            self._in_hand.cancel.leave()
        if not hasattr(self, "_database"):
            return
        if self._is_draining and not self._alarm.rung.is_set():
            with suppress(StoreUnavailable):
                note_ordered_stop(self._database)
        self._database.close()

    def handle(self, message: object) -> object:
        """One bell; what a busy database refused now is looked at again at the next tick."""
        try:
            self._hear(message)
        except (StoreUnavailable, StaleState) as error:
            _log.warning("bell put off", extra={"actor": "coordinator", "code": error.code})
            if isinstance(message, _BELLS_WITHOUT_A_TABLE):
                self._put_off.append(message)
        return None

    def _hear(self, message: object) -> None:
        match message:
            case TaskRequested() | TicketDecided():
                self._push()
            case StepFinished():
                self._finish_step(message)
            case CommandGiven(message_row=row):
                self._obey(row)
            case TriggerRecalled(message_row=row):
                self._recall(row)
            case ApprovalUndeliverable():
                self._give_up_asking(message)
            case Tick():
                self._tick()
            case Drain():
                self._drain()
            case _:
                raise TypeError(type(message).__name__)

    # --- the task ---------------------------------------------------------------------------

    def _push(self) -> None:
        """Give the session the next step, if there is one and nothing is in hand."""
        task = self._tasks.active_task()
        if task is None or self._is_draining:
            return
        if task.state is TaskState.waiting_approval:
            task = self._leave_waiting(task)
        if task is None or self._in_hand is not None:
            return
        if self._goes_round(task):
            self._end(task, after=TaskState.failed, reason=EndReason.internal_fault)
            return
        cancel = CancelToken()
        if tell_safely(self._wires.session, StepDue(task=task.id, step=task.step, cancel=cancel)):
            self._in_hand = _InHand(task=task.id, step=task.step, cancel=cancel)

    def _goes_round(self, task: Task) -> bool:
        """Whether the same step was given out far too often; a new question is progress too."""
        questions = len(ApprovalStore(self._database).list_for_task(task.id))
        at = (task.id, task.step, task.state, questions)
        self._repeats = self._repeats + 1 if at == self._last_given else 0
        self._last_given = at
        return self._repeats >= _MOST_REPEATS

    def _leave_waiting(self, task: Task) -> Task | None:
        """The running task, once none of its tickets is pending; None while it still waits."""
        if ApprovalStore(self._database).list_pending_for_task(task.id):
            return None
        with self._database.transaction():
            return self._tasks.move_task(
                task.id,
                before=TaskState.waiting_approval,
                after=TaskState.running,
                reason="ticket_decided",
            )

    def _finish_step(self, message: StepFinished) -> None:
        tell_safely(self._wires.outbox, OutboxRung())
        in_hand = self._in_hand
        if in_hand is None or (in_hand.task, in_hand.step) != (message.task, message.step):
            return
        self._in_hand = None
        if not message.again_later and self._repeats < _QUICK_REPEATS:
            self._push()

    def _end(self, task: Task, *, after: TaskState, reason: EndReason) -> None:
        """End the task in the tables first, then stop the work."""
        self._ender.end(task, after=after, reason=reason)
        self._stop_work(task.id)

    def _stop_work(self, task: TaskId) -> None:
        """Stop the step in hand, and have the session let go of the task, which may be waiting."""
        if self._in_hand is not None and self._in_hand.task == task:
            self._in_hand.stop()
        tell_safely(self._wires.session, WorkOver(task=task))
        tell_safely(self._wires.outbox, OutboxRung())

    def _recall(self, row: RowId) -> None:
        """A recalled request ends its task however far it is, a recalled order its question."""
        task = self._tasks.active_task()
        if task is not None and task.trigger_row == row:
            self._end(task, after=TaskState.cancelled, reason=EndReason.recalled)
            return
        ticket = ApprovalStore(self._database).find_for_command(row)
        if ticket is not None and ticket.state in LIVING_STATES:
            self._void(ticket, EndReason.recalled)

    # --- questions that nobody can read -----------------------------------------------------

    def _give_up_asking(self, message: ApprovalUndeliverable) -> None:
        """A question that nobody can read must not hold the task."""
        ticket = ApprovalStore(self._database).find_ticket(message.ticket)
        if ticket is None or ticket.state is not TicketState.pending:
            return
        task = self._tasks.active_task()
        if task is not None and task.id == ticket.task_id:
            self._end(task, after=TaskState.failed, reason=EndReason.approval_undeliverable)
            return
        self._void(ticket, EndReason.approval_undeliverable)

    def _void(self, ticket: Ticket, reason: EndReason) -> None:
        """End a ticket that no task waits for, and tell the group."""
        language = self._handler.language
        action = self._handler.actions.label(ticket.action, language)
        void_ticket(self._database, ticket, reason=reason.value, language=language, action=action)
        tell_safely(self._wires.outbox, OutboxRung())

    def _give_up_unasked(self) -> None:
        """At the start: questions whose sending was given up just before the process died."""
        for ticket in ApprovalStore(self._database).list_pending(now_ms()):
            if OutboxStore(self._database).is_given_up(ticket.id):
                self._give_up_asking(ApprovalUndeliverable(ticket=ticket.id, task=ticket.task_id))

    # --- time -------------------------------------------------------------------------------

    def _tick(self) -> None:
        put_off, self._put_off = self._put_off, []
        for bell in put_off:
            self.handle(bell)
        self._watch_session()
        task = self._tasks.active_task()
        if task is not None and self._has_run_out(task):
            self._end(task, after=TaskState.failed, reason=EndReason.wall_time)
        elif task is not None and report_progress(
            self._database, task, self._progress, worked_ms=self._meter.count(self._database, task)
        ):
            tell_safely(self._wires.outbox, OutboxRung())
        for command in CommandStore(self._database).take_pending():
            self._obey(command.message_row)
        self._push()

    def _has_run_out(self, task: Task) -> bool:
        return self._meter.count(self._database, task) > self._wall_time_ms

    def _watch_session(self) -> None:
        """A step that does not end when asked holds all further tasks: the process must end."""
        stopped_at_s = self._in_hand.stopped_at_s if self._in_hand is not None else None
        if stopped_at_s is not None and monotonic_s() - stopped_at_s > _STUCK_AFTER_S:
            self._alarm.ring("session", SessionStuck())

    def _drain(self) -> None:
        """Give out nothing more; what is in hand is left for the next process to take up."""
        self._is_draining = True
        if self._in_hand is not None:
            self._in_hand.cancel.leave()
        task = self._tasks.active_task()
        if task is not None:
            _log.info("task left for the next start", extra={"task": task.id, "step": task.step})

    # --- commands ---------------------------------------------------------------------------

    def _obey(self, row: RowId) -> None:
        """Carry out a pending command once."""
        command = CommandStore(self._database).find(row)
        if command is None or command.state != "pending":
            return
        if command.name in _DECISIONS:
            tell_safely(self._wires.ledger, Decide(message_row=row))
            return
        if command.name in SANDBOX_COMMANDS:
            tell_safely(self._wires.reconciler, SandboxOrdered(message_row=row))
            return
        cancelling = self._in_hand is not None and self._in_hand.stopped_at_s is not None
        ended = self._handler.obey(
            self._database, command, ender=self._ender, cancelling=cancelling
        )
        if ended is not None:
            self._stop_work(ended)
        tell_safely(self._wires.outbox, OutboxRung())
        self._push()
