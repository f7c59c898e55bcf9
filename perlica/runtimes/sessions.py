"""The runtime's sessions as the agent loop uses them: opened once for a task, closed once.

The loop asks for turns and says when a task has ended. What a runtime may not do ends here: its
turns are checked, its faults become a reason for the task's end, and its `close` holds up nobody.
"""

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from perlica.conversation import Conversation, ToolSpec
from perlica.domain.cancel import CancelToken
from perlica.domain.errors import Cancelled, Misconfigured, Refused, Retryable
from perlica.domain.ids import TaskId
from perlica.runtimes.checks import check_turn, find_wire_ids
from perlica.runtimes.contract import (
    RUNTIME_FAULT,
    AgentRuntime,
    AgentTurn,
    OpenTask,
    RuntimeSession,
)

CLOSE_WITHIN_S: Final = 5.0

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class RuntimeSessions:
    """Belongs to the thread of the agent loop; one task works at a time.

    `close_within_s` bounds how long that thread waits for a session to close.
    """

    runtime: AgentRuntime
    close_within_s: float = CLOSE_WITHIN_S
    _current: tuple[TaskId, RuntimeSession] | None = None

    def turn(
        self,
        task: TaskId,
        conversation: Conversation,
        tools: Sequence[ToolSpec],
        cancel: CancelToken,
    ) -> AgentTurn:
        """The task's next turn, checked; its session is opened if there is none yet.

        Raises:
            Cancelled: the token was set.
            Retryable: session or model could not be reached in time; nothing happened.
            Refused: the model, its provider or the runtime will not go on with this conversation;
                `runtime_fault` when the runtime broke its contract.
            Misconfigured: an operator must change something first.
        """
        try:
            session = self._session_of(task, cancel)
            turn = session.turn(conversation, tools, cancel)
            return check_turn(turn, tools, find_wire_ids(conversation))
        except Cancelled as error:
            if cancel.is_set:
                raise
            raise self._fault(task, error) from None
        except (Retryable, Refused, Misconfigured):
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a runtime's fault ends its task, never the service
            raise self._fault(task, error) from None

    def end(self, task: TaskId) -> None:
        """Close the task's session, if there is one."""
        if self._current is not None and self._current[0] == task:
            self.close()

    def close(self) -> None:
        """Close the session that is open, whichever task's it is; waits for it in bounded time."""
        if self._current is None:
            return
        task, session = self._current
        self._current = None
        closing = threading.Thread(
            target=_close, args=(task, session), name="perlica-runtime-close", daemon=True
        )
        closing.start()
        closing.join(self.close_within_s)
        if closing.is_alive():
            _log.error("runtime does not close its session", extra={"task": task})

    def _session_of(self, task: TaskId, cancel: CancelToken) -> RuntimeSession:
        """The open session of the task; one of another task has missed its end and is closed."""
        if self._current is not None and self._current[0] == task:
            return self._current[1]
        self.close()
        session = self.runtime.open(OpenTask(id=task), cancel)
        self._current = task, session
        return session

    def _fault(self, task: TaskId, error: BaseException) -> Refused:
        """Only the type is logged: the text of a foreign error may hold what was said."""
        _log.error("runtime failed", extra={"task": task, "fault": type(error).__name__})
        self.end(task)
        return Refused(RUNTIME_FAULT, f"the runtime failed in task {task}")


def _close(task: TaskId, session: RuntimeSession) -> None:
    try:
        session.close()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - nobody can do anything about it any more
        fault = type(error).__name__
        _log.error("runtime session not closed", extra={"task": task, "fault": fault})
