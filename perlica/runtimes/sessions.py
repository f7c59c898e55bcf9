"""The runtime's session of the task in hand: opened with its first turn, closed with its end.

Used by the agent loop in the session's thread. A runtime that breaks its contract costs the task,
never the service; one that does not close holds up nobody.
"""

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from perlica.conversation import Conversation, ToolSpec
from perlica.domain.cancel import CancelToken
from perlica.domain.errors import PerlicaError, Refused
from perlica.domain.ids import TaskId
from perlica.runtimes.contract import RUNTIME_FAULT, AgentRuntime, AgentTurn, RuntimeSession

_log = logging.getLogger(__name__)

CLOSE_WITHIN_S: Final = 3.0
"""How long a session that closes is waited for; then it goes on in its own thread."""


@dataclass(slots=True)
class RuntimeSessions:
    """At most one session: that of the task which was worked on last."""

    runtime: AgentRuntime
    close_within_s: float = CLOSE_WITHIN_S
    _task: TaskId | None = field(default=None, init=False)
    _session: RuntimeSession | None = field(default=None, init=False)

    def turn(
        self,
        task: TaskId,
        conversation: Conversation,
        tools: Sequence[ToolSpec],
        cancel: CancelToken,
    ) -> AgentTurn:
        """The task's next turn, in the session that is open for it.

        Raises: as `RuntimeSession.turn`; Refused (`runtime_fault`) for anything else that the
        runtime raised, whose session is closed then.
        """
        try:
            return self._session_of(task, cancel).turn(conversation, tools, cancel)
        except PerlicaError:
            raise
        except Exception as error:
            # The type alone: the text may hold what the runtime was given.
            _log.error("runtime failed", extra={"task": task, "code": type(error).__name__})
            self.close_all()
            raise Refused(RUNTIME_FAULT, "the runtime broke its contract") from error

    def close(self, task: TaskId) -> None:
        """The task has ended; nothing happens when no session is open for it."""
        if self._task == task:
            self.close_all()

    def close_all(self) -> None:
        """Close what is open, once; it is waited for, but not for long."""
        task, session = self._task, self._session
        self._task = self._session = None
        if session is None:
            return
        closer = threading.Thread(
            target=_close, args=(session, task), name="perlica-runtime-close", daemon=True
        )
        closer.start()
        closer.join(self.close_within_s)
        if closer.is_alive():
            _log.warning("runtime does not close its session", extra={"task": task})

    def _session_of(self, task: TaskId, cancel: CancelToken) -> RuntimeSession:
        if self._session is None or self._task != task:
            self.close_all()
            self._session = self.runtime.open(task, cancel)
            self._task = task
        return self._session


def _close(session: RuntimeSession, task: TaskId | None) -> None:
    try:
        session.close()
    except Exception as error:  # noqa: BLE001 - whatever it is, the task has ended already
        _log.warning(
            "runtime failed to close its session",
            extra={"task": task, "code": type(error).__name__},
        )
