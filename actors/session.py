"""AgentSession: the blocking work of the active task, one step at a time.

The coordinator tells it a step; model turns and tool calls block here and nowhere else.
"""

import logging
from collections.abc import Callable
from pathlib import Path

from actors.base import Alarm, PerlicaActor, Wires, tell_safely
from actors.messages import StepDue, StepFinished, WorkOver
from perlica.domain.errors import StoreUnavailable
from perlica.session.loop import AgentLoop
from perlica.stores.database import Database

_log = logging.getLogger(__name__)


class AgentSession(PerlicaActor):
    """Owns the thread in which a task's step runs."""

    def __init__(
        self,
        *,
        database_path: Path,
        make_loop: Callable[[Database], AgentLoop],
        wires: Wires,
        alarm: Alarm,
    ) -> None:
        """Keep the parts; loop and connection are made in the actor's own thread."""
        super().__init__(name="session", alarm=alarm)
        self._path = database_path
        self._make_loop = make_loop
        self._wires = wires

    def begin(self) -> None:
        """Open the connection and make the loop over it."""
        self._database = Database.open(self._path)
        self._loop = self._make_loop(self._database)

    def end(self) -> None:
        """Close what was opened."""
        if hasattr(self, "_loop"):
            self._loop.close()
        if hasattr(self, "_database"):
            self._database.close()

    def handle(self, message: object) -> object:
        """Do the step, then tell; what it wrote is committed by then. Let go of an ended task."""
        match message:
            case StepDue():
                finished = StepFinished(
                    task=message.task, step=message.step, again_later=not self._do(message)
                )
                tell_safely(self._wires.coordinator, finished)
            case WorkOver(task=task):
                self._loop.let_go(task)
            case _:
                raise TypeError(type(message).__name__)
        return None

    def _do(self, due: StepDue) -> bool:
        """Whether the step could write; where it could not, it is taken up again from the rows."""
        try:
            self._loop.do_step(due.task, due.step, due.cancel)
        except StoreUnavailable as error:
            _log.warning("step put off", extra={"task": due.task, "code": error.code})
            return False
        return True
