"""TaskCoordinator: the active task's state, dot commands, deadlines.

It never blocks: the session does the work of a step in its own thread and tells when it is done;
cancel reaches it by a flag. What it reads is the tables, what it hears are bells.
"""

import logging
from dataclasses import dataclass
from pathlib import Path

from actors.base import Alarm, PerlicaActor, Wires, tell_safely
from actors.commanding import CommandDesk
from actors.messages import (
    ApprovalUndeliverable,
    CommandGiven,
    Drain,
    OutboxRung,
    StepDue,
    StepFinished,
    TaskRequested,
    Tick,
    TicketDecided,
    TriggerRecalled,
)
from actors.progress import ProgressSettings, report_progress
from perlica.domain.cancel import CancelToken
from perlica.domain.clock import now_ms
from perlica.domain.errors import StaleState
from perlica.domain.ids import RowId, TaskId
from perlica.domain.task import EndReason, TaskState
from perlica.session.ending import TaskEnder
from perlica.stores.approvals import ApprovalStore
from perlica.stores.commands import CommandStore
from perlica.stores.database import Database
from perlica.stores.tasks import Task, TaskStore

_log = logging.getLogger(__name__)

_MOST_CRASHES = 3
_MOST_REPEATS = 25
_STARTED = frozenset({TaskState.contextualizing, TaskState.running, TaskState.completing})


@dataclass(slots=True)
class _InHand:
    """The step that the session has been told and has not finished."""

    task: TaskId
    step: int
    cancel: CancelToken


class TaskCoordinator(PerlicaActor):
    """Owns the active task."""

    def __init__(
        self,
        *,
        database_path: Path,
        desk: CommandDesk,
        wall_time_ms: int,
        progress: ProgressSettings,
        wires: Wires,
        alarm: Alarm,
    ) -> None:
        """Keep the parts; the connection opens in the actor's own thread."""
        super().__init__(name="coordinator", alarm=alarm)
        self._path = database_path
        self._desk = desk
        self._wall_time_ms = wall_time_ms
        self._progress = progress
        self._wires = wires
        self._in_hand: _InHand | None = None
        self._last_given: tuple[TaskId, int, TaskState] | None = None
        self._repeats = 0
        self._is_draining = False

    def begin(self) -> None:
        """Open the connection and count the crash that left a task in the middle."""
        self._database = Database.open(self._path)
        self._ender = TaskEnder(database=self._database, language=self._desk.language)
        self._tasks = TaskStore(self._database)
        self._note_crash()

    def end(self) -> None:
        """Stop what is in hand and close the connection."""
        if self._in_hand is not None:
            self._in_hand.cancel.set()
        if hasattr(self, "_database"):
            self._database.close()

    def handle(self, message: object) -> object:
        """One bell."""
        match message:
            case TaskRequested():
                self._push()
            case StepFinished():
                self._finish_step(message)
            case TicketDecided():
                self._push()
            case CommandGiven(message_row=row):
                self._obey(row)
            case TriggerRecalled(message_row=row):
                self._recall(row)
            case ApprovalUndeliverable():
                self._give_up_asking(message)
            case Tick():
                self._tick()
            case Drain():
                self._is_draining = True
            case _:
                raise TypeError(type(message).__name__)
        return None

    # --- the task ---------------------------------------------------------------------------

    def _note_crash(self) -> None:
        task = self._tasks.active_task()
        if task is None or task.state not in _STARTED:
            return
        with self._database.transaction():
            crashes = self._tasks.note_crash(task.id)
        if crashes >= _MOST_CRASHES:
            self._ender.end(task, after=TaskState.failed, reason=EndReason.crashed_repeatedly)

    def _push(self) -> None:
        """Give the session the next step, if there is one and none is in hand for this task."""
        task = self._tasks.active_task()
        if task is None or self._is_draining:
            return
        if task.state is TaskState.waiting_approval:
            task = self._leave_waiting(task)
        if task is None or (self._in_hand is not None and self._in_hand.task == task.id):
            return
        if self._goes_round(task):
            self._end(task, after=TaskState.failed, reason=EndReason.internal_fault)
            return
        cancel = CancelToken()
        if tell_safely(self._wires.session, StepDue(task=task.id, step=task.step, cancel=cancel)):
            self._in_hand = _InHand(task=task.id, step=task.step, cancel=cancel)

    def _goes_round(self, task: Task) -> bool:
        """Whether the same step was given out far too often without any progress."""
        at = (task.id, task.step, task.state)
        self._repeats = self._repeats + 1 if at == self._last_given else 0
        self._last_given = at
        return self._repeats >= _MOST_REPEATS

    def _leave_waiting(self, task: Task) -> Task | None:
        """The running task, once none of its tickets is pending; None while it still waits."""
        if ApprovalStore(self._database).list_pending_for_task(task.id):
            return None
        try:
            with self._database.transaction():
                return self._tasks.move_task(
                    task.id,
                    before=TaskState.waiting_approval,
                    after=TaskState.running,
                    reason="ticket decided",
                )
        except StaleState:
            return None

    def _finish_step(self, message: StepFinished) -> None:
        in_hand = self._in_hand
        if in_hand is None or (in_hand.task, in_hand.step) != (message.task, message.step):
            return
        self._in_hand = None
        tell_safely(self._wires.outbox, OutboxRung())
        self._push()

    def _end(self, task: Task, *, after: TaskState, reason: EndReason) -> bool:
        """End the task in the tables first, then stop the work."""
        ended = self._ender.end(task, after=after, reason=reason)
        if self._in_hand is not None and self._in_hand.task == task.id:
            self._in_hand.cancel.set()
        tell_safely(self._wires.outbox, OutboxRung())
        return ended

    def _recall(self, row: RowId) -> None:
        """A recalled trigger takes back a task that has not started (A13)."""
        task = self._tasks.active_task()
        if task is None or task.trigger_row != row:
            return
        if task.state in {TaskState.received, TaskState.contextualizing}:
            self._end(task, after=TaskState.cancelled, reason=EndReason.recalled)

    def _give_up_asking(self, message: ApprovalUndeliverable) -> None:
        """A question that nobody can read must not hold the task (incident 7)."""
        task = self._tasks.active_task()
        if task is not None and task.id == message.task:
            self._end(task, after=TaskState.failed, reason=EndReason.approval_undeliverable)

    def _tick(self) -> None:
        task = self._tasks.active_task()
        if task is not None and self._has_run_out(task):
            self._end(task, after=TaskState.failed, reason=EndReason.wall_time)
        elif task is not None and report_progress(self._database, task, self._progress):
            tell_safely(self._wires.outbox, OutboxRung())
        for command in CommandStore(self._database).take_pending():
            self._obey(command.message_row)
        self._push()

    def _has_run_out(self, task: Task) -> bool:
        return task.active_ms_at(now_ms()) > self._wall_time_ms

    # --- commands ---------------------------------------------------------------------------

    def _obey(self, row: RowId) -> None:
        """Carry out a pending command once; its answer and its end are one transaction."""
        command = CommandStore(self._database).find(row)
        if command is None or command.state != "pending":
            return
        cancelling = self._in_hand is not None and self._in_hand.cancel.is_set
        to_end = self._desk.obey(
            self._database, command, ledger=self._wires.ledger, cancelling=cancelling
        )
        tell_safely(self._wires.outbox, OutboxRung())
        if to_end is not None:
            self._end(to_end, after=TaskState.cancelled, reason=EndReason.cancelled_by_member)
        self._push()
