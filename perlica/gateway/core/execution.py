"""Carrying out a judged plan: operation row before the effect, outcome row after it.

Called by the gateway and for Owners' orders, with a plan that is Low or Medium, or High with its
approved ticket.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

from perlica.domain.cancel import CancelToken
from perlica.domain.clock import now_ms
from perlica.domain.errors import (
    Cancelled,
    OutcomeUnknown,
    PerlicaError,
    Refused,
    StaleState,
    StoreUnavailable,
)
from perlica.domain.ids import CallId, OperationId, new_operation_id
from perlica.domain.operation import OperationState
from perlica.domain.plan import JsonValue, Level, hash_plan
from perlica.domain.task import EndReason, TaskState
from perlica.gateway.core.caller import Caller, TaskCaller
from perlica.gateway.core.outcomes import Answered, CallEnd, Ended, answer, refusal
from perlica.gateway.core.remote import call_remote
from perlica.gateway.core.tickets import audit_detail
from perlica.gateway.core.tool import Planned
from perlica.gateway.core.work import (
    Change,
    Executors,
    Mandate,
    Queued,
    Read,
    Remote,
    ToolResult,
    executor_name,
    find_executor,
)
from perlica.protection import Channel, Protected, protect
from perlica.stores.approvals import ApprovalStore, Ticket
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.operations import Ending, NewOperation, OperationStore
from perlica.stores.sessions import SessionStore
from perlica.stores.tasks import TaskStore

_SOURCE: Final = "perlica gateway"
_UNKNOWN: Final = (
    "the outcome is unknown: it may have happened. It is not repeated; an Owner has to look"
    " (.recovery)."
)
_TOO_LATE: Final = "not executed: its approval is used up or expired, or it moved on"


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One plan on its way: judged, paid for by a ticket where it is High, with its operation id."""

    planned: Planned
    caller: Caller
    level: Level
    ticket: Ticket | None = None
    operation: OperationId = field(default_factory=new_operation_id)


class NotBegun(PerlicaError):
    """Nothing was done and no row is left: the call has no operation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRunner:
    """Executes plans, never words; one operation for each call or ticket, ever."""

    database: Database
    executors: Executors

    def execute(self, execution: Execution, cancel: CancelToken) -> CallEnd:
        """Do it and say how it ended.

        Raises: Cancelled when the task was cancelled meanwhile; StoreUnavailable when nothing
        could be written, so that the step has to be taken up again.
        """
        operation = execution.operation
        try:
            result = self.perform(execution, cancel)
        except StaleState:
            return refusal(_TOO_LATE)
        except OutcomeUnknown:
            return unknown_end(operation, execution.level)
        except (Cancelled, StoreUnavailable):
            raise
        except NotBegun as error:
            return refusal(error.text)
        except PerlicaError as error:
            return answer(error.text, source=_SOURCE, failed=True, operation=operation)
        return answer(result.text, source=result.source, failed=result.failed, operation=operation)

    def perform(self, execution: Execution, cancel: CancelToken) -> ToolResult:
        """Do it; its operation's row says how it ended.

        Raises:
            NotBegun: something forbids it; there is no operation.
            StaleState: its ticket is used up, or its task has moved on; there is no operation.
            StoreUnavailable: nothing could be written.
            Cancelled, Refused, Retryable, Misconfigured, OutcomeUnknown: how the operation ended.
        """
        work = execution.planned.work
        match work:
            case Read():
                return self._read(execution, work)
            case Change():
                return self._change(execution, work)
            case Remote():
                return self._call(execution, work, cancel)
            case Queued():
                job = self.queue(execution, work)
                return self._run_job(work, job, cancel)

    def queue(self, execution: Execution, work: Queued) -> Any:  # noqa: ANN401
        """Write it down as queued and spend its ticket; the job that somebody has to hand over.

        Raises: StaleState when its ticket is used up, NotBegun for what the schema refuses.
        """
        with _nothing_begun():
            find_executor(self.executors, work.executor)
            with self.database.transaction():
                self._insert(execution)
                return work.prepare(execution.operation)

    # --- kinds of work ----------------------------------------------------------------------

    def _read(self, execution: Execution, work: Read) -> ToolResult:
        """Look first, without the lock; the row says afterwards what was looked at."""
        with _nothing_begun():
            result = work.run()
            with self.database.transaction():
                self._insert(execution)
                self._finish(execution, result)
        return result

    def _change(self, execution: Execution, work: Change) -> ToolResult:
        ticket = execution.ticket
        mandate = Mandate(operation=execution.operation, ticket=ticket.id if ticket else None)
        with _nothing_begun(), self.database.transaction():
            self._insert(execution)
            OperationStore(self.database).start(execution.operation)
            result = work.run(mandate)
            if result.failed:
                raise Refused("not_executed", "it could not be done; nothing was changed")
            self._end(execution, OperationState.succeeded, {})
        return result

    def _call(self, execution: Execution, work: Remote, cancel: CancelToken) -> ToolResult:
        """Row `started` is committed; the call without any lock; its outcome is committed."""
        with _nothing_begun(), self.database.transaction():
            self._insert(execution)
            OperationStore(self.database).start(execution.operation)
        try:
            result = call_remote(work, execution.operation, cancel)
        except OutcomeUnknown as error:
            with self.database.transaction():
                OperationStore(self.database).mark_unknown(execution.operation, error.code)
            raise
        except Cancelled:
            if not cancel.is_leaving:
                self._commit_end(execution, OperationState.cancelled, {})
            raise
        except PerlicaError as error:
            self._commit_end(execution, OperationState.failed, {"reason": error.code})
            raise
        self._commit_end(
            execution, OperationState.failed if result.failed else OperationState.succeeded, {}
        )
        return result

    def _run_job(self, work: Queued, job: Any, cancel: CancelToken) -> ToolResult:  # noqa: ANN401
        executor = find_executor(self.executors, work.executor)
        try:
            outcome = executor.run(job, cancel, within_s=work.within_s)
        except (OutcomeUnknown, Cancelled, StoreUnavailable):
            raise
        except PerlicaError:
            # A job that no worker ever took leaves nothing queued behind.
            with suppress(StaleState):
                executor.give_back(job)
            raise
        return work.present(outcome)

    # --- rows -------------------------------------------------------------------------------

    def _finish(self, execution: Execution, result: ToolResult) -> None:
        OperationStore(self.database).start(execution.operation)
        self._end(
            execution, OperationState.failed if result.failed else OperationState.succeeded, {}
        )

    def _commit_end(self, execution: Execution, state: Ending, facts: dict[str, JsonValue]) -> None:
        with self.database.transaction():
            self._end(execution, state, facts)

    def _end(self, execution: Execution, state: Ending, facts: dict[str, JsonValue]) -> None:
        OperationStore(self.database).finish(execution.operation, state, audit_detail(facts))

    def _insert(self, execution: Execution) -> None:
        """The operation's row, the ticket's consumption and the call's move, all or nothing."""
        plan, caller, ticket = execution.planned.plan, execution.caller, execution.ticket
        _require_running(self.database, caller)
        plan_hash = hash_plan(plan)
        if ticket is not None:
            ApprovalStore(self.database).consume(ticket.id, plan_hash=plan_hash, now_ms=now_ms())
        OperationStore(self.database).insert_operation(
            NewOperation(
                id=execution.operation,
                origin=plan.origin,
                task_id=caller.task_id,
                call_id=caller.call_id,
                action=plan.action,
                level=execution.level,
                identity=plan.identity,
                executor=executor_name(execution.planned.work),
                plan_hash=plan_hash,
                plan=_stored_plan(execution.planned),
                ticket_id=ticket.id if ticket else None,
            )
        )
        if caller.call_id is not None:
            _dispatch(self.database, caller.call_id)
        AuditStore(self.database).add_event(
            "operation.planned",
            actor=caller.actor,
            detail=audit_detail(
                {"action": plan.action, "scope": plan.scope, "plan_hash": plan_hash}
            ),
            task_id=caller.task_id,
            ticket_id=ticket.id if ticket else None,
            operation_id=execution.operation,
            level=execution.level,
        )


@contextmanager
def _nothing_begun() -> Iterator[None]:
    """What is refused inside leaves no row: it is told apart from a failure of the work itself.

    Raises: NotBegun with the code and text of any other of our errors.
    """
    try:
        yield
    except (StaleState, StoreUnavailable):
        raise
    except PerlicaError as error:
        raise NotBegun(error.code, error.text, remedy=error.remedy) from error


def _stored_plan(planned: Planned) -> Protected:
    """The plan as its row keeps it: protected, and never missing."""
    sealed = protect(planned.plan.effect_fields(), Channel.TOOL_ARGUMENTS)
    if sealed.content:
        return sealed
    return protect({"action": planned.plan.action, "withheld": True}, Channel.TOOL_ARGUMENTS)


def _require_running(database: Database, caller: Caller) -> None:
    """A loop that goes on after its task has ended, or moved on, begins nothing more.

    Raises: StaleState, which rolls the caller's transaction back.
    """
    if not isinstance(caller, TaskCaller):
        return
    task = TaskStore(database).find_task(caller.task.id)
    if task is None or task.state is not TaskState.running or task.step != caller.task.step:
        raise StaleState("task_moved", f"task {caller.task.id} is not at this step any more")


def _dispatch(database: Database, call: CallId) -> None:
    sessions = SessionStore(database)
    found = sessions.find_call(call)
    if found is None:
        raise StaleState("no_such_call", f"call {call} is gone")
    sessions.move_call(call, before=found.state, after="dispatched")


def unknown_end(operation: OperationId, level: Level) -> CallEnd:
    """An unknown High ends the task; anything else is told to the model and not repeated."""
    if level is Level.high:
        return Ended(reason=EndReason.outcome_unknown, operation=operation)
    told: Answered = answer(_UNKNOWN, source=_SOURCE, failed=True, operation=operation)
    return told
