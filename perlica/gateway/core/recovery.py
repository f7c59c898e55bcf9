"""Calls that were dispatched when the service died: what became of them, from rows and backend.

Nothing is ever run again here. An operation that nobody can tell about goes to the recovery queue.
"""

import json
from dataclasses import dataclass

from perlica.domain.cancel import CancelToken
from perlica.domain.errors import Cancelled, OutcomeUnknown, PerlicaError, StoreUnavailable
from perlica.domain.ids import CallId
from perlica.domain.operation import OperationState
from perlica.domain.ports import SandboxJob, SandboxRunner
from perlica.gateway.core.execution import unknown_end
from perlica.gateway.core.outcomes import Answered, CallEnd, answer, refusal
from perlica.gateway.families.sandbox.results import present
from perlica.sandboxes.recovery import job_to_look_up
from perlica.stores.database import Database
from perlica.stores.operations import Operation, OperationStore

_MARGIN_S = 120.0
_ASK_WITHIN_S = 5.0
_NEVER_STARTED = (
    "not executed: the service restarted before it began; nothing happened."
    " Call it again if it is still needed."
)
_DONE = "it was done; its result was lost when the service restarted, and it is not done again"
_FAILED = "it failed ({reason}); the service restarted afterwards"
_STOPPED = "it was stopped before its end; what it had done until then is there"
_CLOSED = "its outcome was unknown, and an Owner has closed it; it is not done again"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecovery:
    """Over the session's connection; `exec_within_s` bounds how long a command may still run."""

    database: Database
    runner: SandboxRunner
    exec_within_s: int

    def recover(self, call: CallId, cancel: CancelToken) -> CallEnd:
        """How the call ended, waiting for a command that is still running.

        Raises: Cancelled; StoreUnavailable; StaleState when a worker holds the job after all.
        """
        operation = OperationStore(self.database).find_for_call(call)
        if operation is None:
            return refusal(_NEVER_STARTED)
        job = job_to_look_up(self.database, operation.id)
        match operation.state:
            case OperationState.queued:
                self._abandon(operation, job)
                return self._say(operation, _NEVER_STARTED)
            case OperationState.abandoned:
                return self._say(operation, _NEVER_STARTED)
            case OperationState.started | OperationState.unknown:
                return self._settle(operation, job, cancel)
            case OperationState.succeeded:
                told = self._look_up(operation, job, cancel)
                return told or self._say(operation, _DONE, failed=False)
            case OperationState.failed:
                told = self._look_up(operation, job, cancel)
                return told or self._say(operation, _FAILED.format(reason=_reason_of(operation)))
            case OperationState.cancelled:
                return self._look_up(operation, job, cancel) or self._say(operation, _STOPPED)
            case OperationState.resolved:
                return self._say(operation, _CLOSED)

    def _abandon(self, operation: Operation, job: SandboxJob | None) -> None:
        if job is not None:
            self.runner.abandon(job)
            return
        with self.database.transaction():
            OperationStore(self.database).abandon(operation.id)

    def _settle(self, operation: Operation, job: SandboxJob | None, cancel: CancelToken) -> CallEnd:
        if job is None:
            with self.database.transaction():
                OperationStore(self.database).mark_unknown(operation.id, "no_sandbox")
            return unknown_end(operation.id, operation.level)
        try:
            outcome = self.runner.settle(job, cancel, within_s=self.exec_within_s + _MARGIN_S)
        except OutcomeUnknown:
            return unknown_end(operation.id, operation.level)
        except (Cancelled, StoreUnavailable):
            raise
        except PerlicaError as error:
            return self._say(operation, error.text)
        result = present(job.name, outcome)
        return answer(
            result.text, source=result.source, failed=result.failed, operation=operation.id
        )

    def _look_up(
        self, operation: Operation, job: SandboxJob | None, cancel: CancelToken
    ) -> Answered | None:
        """The output of an operation that has ended, while the backend still holds it."""
        if job is None:
            return None
        try:
            outcome = self.runner.settle(job, cancel, within_s=_ASK_WITHIN_S)
        except (Cancelled, StoreUnavailable):
            raise
        except PerlicaError:
            return None
        result = present(job.name, outcome)
        return answer(
            result.text, source=result.source, failed=result.failed, operation=operation.id
        )

    def _say(self, operation: Operation, text: str, *, failed: bool = True) -> Answered:
        source = f"operation:{operation.id}"
        return answer(text, source=source, failed=failed, operation=operation.id)


def _reason_of(operation: Operation) -> str:
    facts = json.loads(operation.outcome.content or "{}")
    if not isinstance(facts, dict):
        return "unknown reason"
    if "ended" in facts:
        return f"{facts['ended']}, exit code {facts.get('exit_code')}"
    reason = facts.get("reason")
    return reason if isinstance(reason, str) else "unknown reason"
