"""Operations that were open when the service died: what became of them, by row and executor.

Nothing is ever run again here. An operation that nobody can tell about goes to the recovery queue.
"""

import json
from dataclasses import dataclass
from typing import Final

from perlica.domain.cancel import CancelToken
from perlica.domain.errors import Cancelled, OutcomeUnknown, PerlicaError, StoreUnavailable
from perlica.domain.ids import CallId
from perlica.domain.operation import BUILT_IN, REPEATABLE, OperationState
from perlica.gateway.core.execution import unknown_end
from perlica.gateway.core.outcomes import Answered, CallEnd, answer, refusal
from perlica.gateway.core.tickets import audit_detail
from perlica.gateway.core.work import Executor, Executors, ToolResult
from perlica.stores.database import Database
from perlica.stores.operations import Operation, OperationStore

INTERRUPTED: Final = "interrupted"
_MARGIN_S: Final = 120.0
_ASK_WITHIN_S: Final = 5.0
_NEVER_STARTED: Final = (
    "not executed: the service restarted before it began; nothing happened."
    " Call it again if it is still needed."
)
_INTERRUPTED: Final = (
    "it failed: the service restarted while it looked; nothing was changed."
    " Call it again if it is still needed."
)
_DONE: Final = (
    "it was done; its result was lost when the service restarted, and it is not done again"
)
_FAILED: Final = "it failed ({reason}); the service restarted afterwards"
_STOPPED: Final = "it was stopped before its end; what it had done until then is there"
_CLOSED: Final = "its outcome was unknown, and an Owner has closed it; it is not done again"


def close_interrupted(database: Database, operation: Operation) -> Operation:
    """Close an open operation that no executor knows, in the caller's transaction.

    Queued, it never began; a look outside has failed; anything else is unknown.

    Raises: StaleState when it has moved on.
    """
    operations = OperationStore(database)
    if operation.state is OperationState.queued:
        return operations.abandon(operation.id)
    if operation.executor in REPEATABLE:
        facts = audit_detail({"reason": INTERRUPTED})
        return operations.finish(operation.id, OperationState.failed, facts)
    why = "crashed" if operation.executor in BUILT_IN else "no_executor"
    return operations.mark_unknown(operation.id, why)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecovery:
    """Over the session's connection and the executors that work over it."""

    database: Database
    executors: Executors

    def recover(self, call: CallId, cancel: CancelToken) -> CallEnd:
        """How the call ended, waiting for work that is still running.

        Raises: Cancelled; StoreUnavailable; StaleState when a worker holds the job after all.
        """
        operation = OperationStore(self.database).find_for_call(call)
        if operation is None:
            return refusal(_NEVER_STARTED)
        executor = self.executors.get(operation.executor)
        match operation.state:
            case OperationState.queued:
                if executor is None or not executor.take_back(operation.id):
                    self._close(operation)
                return self._say(operation, _NEVER_STARTED)
            case OperationState.abandoned:
                return self._say(operation, _NEVER_STARTED)
            case OperationState.started | OperationState.unknown:
                return self._settle(operation, executor, cancel)
            case OperationState.succeeded:
                told = self._look_up(operation, executor, cancel)
                return told or self._say(operation, _DONE, failed=False)
            case OperationState.failed:
                told = self._look_up(operation, executor, cancel)
                return told or self._say(operation, _failed(operation))
            case OperationState.cancelled:
                return self._look_up(operation, executor, cancel) or self._say(operation, _STOPPED)
            case OperationState.resolved:
                return self._say(operation, _CLOSED)

    def _close(self, operation: Operation) -> Operation:
        with self.database.transaction():
            return close_interrupted(self.database, operation)

    def _settle(
        self, operation: Operation, executor: Executor | None, cancel: CancelToken
    ) -> CallEnd:
        if executor is None:
            closed = self._close(operation)
            if closed.state is OperationState.failed:
                return self._say(operation, _INTERRUPTED)
            return unknown_end(operation.id, operation.level)
        within_s = executor.longest_work_s + _MARGIN_S
        try:
            result = executor.look_up(operation.id, cancel, within_s=within_s)
        except OutcomeUnknown:
            return unknown_end(operation.id, operation.level)
        except (Cancelled, StoreUnavailable):
            raise
        except PerlicaError as error:
            return self._say(operation, error.text)
        if result is None:
            with self.database.transaction():
                OperationStore(self.database).mark_unknown(operation.id, "no_record")
            return unknown_end(operation.id, operation.level)
        return _answer(operation, result)

    def _look_up(
        self, operation: Operation, executor: Executor | None, cancel: CancelToken
    ) -> Answered | None:
        """The output of an operation that has ended, while its executor still holds it."""
        if executor is None:
            return None
        try:
            result = executor.look_up(operation.id, cancel, within_s=_ASK_WITHIN_S)
        except (Cancelled, StoreUnavailable):
            raise
        except PerlicaError:
            return None
        return None if result is None else _answer(operation, result)

    def _say(self, operation: Operation, text: str, *, failed: bool = True) -> Answered:
        source = f"operation:{operation.id}"
        return answer(text, source=source, failed=failed, operation=operation.id)


def _answer(operation: Operation, result: ToolResult) -> Answered:
    return answer(result.text, source=result.source, failed=result.failed, operation=operation.id)


def _failed(operation: Operation) -> str:
    facts = json.loads(operation.outcome.content or "{}")
    if not isinstance(facts, dict):
        return _FAILED.format(reason="unknown reason")
    if "ended" in facts:
        return _FAILED.format(reason=f"{facts['ended']}, exit code {facts.get('exit_code')}")
    reason = facts.get("reason")
    if reason == INTERRUPTED and operation.executor in REPEATABLE:
        return _INTERRUPTED
    return _FAILED.format(reason=reason if isinstance(reason, str) else "unknown reason")
