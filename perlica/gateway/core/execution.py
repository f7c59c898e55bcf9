"""Carrying out a judged plan: operation row before the effect, outcome row after it.

Called by the gateway with a plan that is Low or Medium, or High with its approved ticket.
"""

from contextlib import suppress
from dataclasses import dataclass, field

from perlica.domain.cancel import CancelToken
from perlica.domain.clock import now_ms
from perlica.domain.errors import (
    Cancelled,
    OutcomeUnknown,
    PerlicaError,
    StaleState,
    StoreUnavailable,
)
from perlica.domain.ids import CallId, OperationId, new_operation_id
from perlica.domain.operation import OperationState
from perlica.domain.plan import Level, hash_plan
from perlica.domain.ports import SandboxJob, SandboxRunner
from perlica.domain.task import EndReason, TaskState
from perlica.gateway.core.caller import Caller, TaskCaller
from perlica.gateway.core.outcomes import Answered, CallEnd, Ended, answer, refusal
from perlica.gateway.core.tickets import audit_detail
from perlica.gateway.core.tool import InSandbox, Instant, Planned
from perlica.protection import Channel, Protected, protect
from perlica.stores.approvals import ApprovalStore, Ticket
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.operations import NewOperation, OperationStore
from perlica.stores.sessions import SessionStore
from perlica.stores.tasks import TaskStore

_UNKNOWN = (
    "the outcome is unknown: it may have happened. It is not repeated; an Owner has to look"
    " (.recovery)."
)
_TOO_LATE = "not executed: its approval is used up or expired, or it moved on"


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One plan on its way: judged, paid for by a ticket where it is High, with its operation id."""

    planned: Planned
    caller: Caller
    level: Level
    ticket: Ticket | None = None
    operation: OperationId = field(default_factory=new_operation_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Executor:
    """Executes plans, never words; one operation for each call or ticket, ever."""

    database: Database
    runner: SandboxRunner

    def execute(self, execution: Execution, cancel: CancelToken) -> CallEnd:
        """Do it and say how it ended.

        Raises: Cancelled when the task was cancelled meanwhile; StoreUnavailable when nothing
        could be written, so that the step has to be taken up again.
        """
        work = execution.planned.work
        try:
            if isinstance(work, Instant):
                return self._run_instant(execution, work)
            job = self.queue(execution, work)
        except StaleState:
            return refusal(_TOO_LATE)
        except StoreUnavailable:
            raise
        except PerlicaError as error:
            return refusal(error.text)
        return self._run_job(execution, work, job, cancel)

    def _run_instant(self, execution: Execution, work: Instant) -> CallEnd:
        operation = execution.operation
        with self.database.transaction():
            self._insert(execution)
            operations = OperationStore(self.database)
            operations.start(operation)
            result = work.run()
            state = OperationState.failed if result.failed else OperationState.succeeded
            operations.finish(operation, state, audit_detail({}))
        return answer(result.text, source=result.source, failed=result.failed, operation=operation)

    def queue(self, execution: Execution, work: InSandbox) -> SandboxJob:
        """Write it down as queued and spend its ticket; the job that somebody has to hand over.

        Raises: StaleState when its ticket is used up, and what the schema refuses.
        """
        with self.database.transaction():
            self._insert(execution)
            return work.prepare(execution.operation)

    def _run_job(
        self, execution: Execution, work: InSandbox, job: SandboxJob, cancel: CancelToken
    ) -> CallEnd:
        operation = execution.operation
        try:
            outcome = self.runner.run(job, cancel, within_s=work.within_s)
        except OutcomeUnknown:
            return unknown_end(operation, execution.level)
        except (Cancelled, StoreUnavailable):
            raise
        except PerlicaError as error:
            self._give_back(job)
            return answer(error.text, source="perlica gateway", failed=True, operation=operation)
        result = work.present(outcome)
        return answer(result.text, source=result.source, failed=result.failed, operation=operation)

    def _give_back(self, job: SandboxJob) -> None:
        """A job that no worker ever took leaves nothing queued behind."""
        with suppress(StaleState):
            self.runner.abandon(job)

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
    told: Answered = answer(_UNKNOWN, source="perlica gateway", failed=True, operation=operation)
    return told
