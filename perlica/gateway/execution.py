"""Carrying out a judged plan: operation row before the effect, outcome row after it.

Called by the gateway with a plan that is Low or Medium, or High with its approved ticket.
"""

from dataclasses import dataclass, field

from perlica.domain.cancel import CancelToken
from perlica.domain.clock import now_ms
from perlica.domain.errors import Cancelled, OutcomeUnknown, PerlicaError, StaleState
from perlica.domain.ids import CallId, OperationId, new_operation_id
from perlica.domain.operation import OperationState
from perlica.domain.plan import Level, hash_plan
from perlica.domain.ports import SandboxRunner
from perlica.domain.task import EndReason
from perlica.gateway.ends import Answered, CallEnd, Ended, answer, refusal
from perlica.gateway.tickets import audit_detail
from perlica.gateway.tool import CallContext, InSandbox, Instant, Planned, ToolResult
from perlica.protection import Channel, Protected, protect
from perlica.stores.approvals import ApprovalStore, Ticket
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.operations import NewOperation, OperationStore
from perlica.stores.sessions import SessionStore

_UNKNOWN = (
    "the outcome is unknown: it may have happened. It is not repeated; an Owner has to look"
    " (.recovery)."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One plan on its way: judged, paid for by a ticket where it is High, with its operation id."""

    planned: Planned
    context: CallContext
    level: Level
    ticket: Ticket | None = None
    operation: OperationId = field(default_factory=new_operation_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Executor:
    """Executes plans, never words; one operation for each call, ever."""

    database: Database
    runner: SandboxRunner

    def execute(self, execution: Execution, cancel: CancelToken) -> CallEnd:
        """Do it and say how it ended.

        Raises: Cancelled when the task was cancelled meanwhile.
        """
        operation = execution.operation
        try:
            result = self._run(execution, cancel)
        except StaleState:
            return refusal("not executed: its approval is used up or expired, or it moved on")
        except OutcomeUnknown:
            return unknown_end(operation, execution.level)
        except Cancelled:
            raise
        except PerlicaError as error:
            return answer(error.text, source="perlica gateway", failed=True, operation=operation)
        return answer(result.text, source=result.source, failed=result.failed, operation=operation)

    def _run(self, execution: Execution, cancel: CancelToken) -> ToolResult:
        match execution.planned.work:
            case Instant() as work:
                return self._run_instant(execution, work)
            case InSandbox() as work:
                return self._run_in_sandbox(execution, work, cancel)

    def _run_instant(self, execution: Execution, work: Instant) -> ToolResult:
        with self.database.transaction():
            self._insert(execution)
            operations = OperationStore(self.database)
            operations.start(execution.operation)
            result = work.run()
            operations.finish(execution.operation, OperationState.succeeded, audit_detail({}))
        return result

    def _run_in_sandbox(
        self, execution: Execution, work: InSandbox, cancel: CancelToken
    ) -> ToolResult:
        with self.database.transaction():
            self._insert(execution)
            job = work.prepare(execution.operation)
        outcome = self.runner.run(job, cancel, within_s=work.within_s)
        return work.present(outcome)

    def _insert(self, execution: Execution) -> None:
        """The operation's row, the ticket's consumption and the call's move, all or nothing."""
        plan, context, ticket = execution.planned.plan, execution.context, execution.ticket
        plan_hash = hash_plan(plan)
        if ticket is not None:
            ApprovalStore(self.database).consume(ticket.id, plan_hash=plan_hash, now_ms=now_ms())
        OperationStore(self.database).insert_operation(
            NewOperation(
                id=execution.operation,
                origin=plan.origin,
                task_id=context.task.id,
                call_id=context.call,
                action=plan.action,
                level=execution.level,
                identity=plan.identity,
                plan_hash=plan_hash,
                plan=_stored_plan(execution.planned),
                ticket_id=ticket.id if ticket else None,
            )
        )
        _dispatch(self.database, context.call)
        AuditStore(self.database).add_event(
            "operation.planned",
            actor=f"task:{context.task.id}",
            detail=audit_detail(
                {"action": plan.action, "scope": plan.scope, "plan_hash": plan_hash}
            ),
            task_id=context.task.id,
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
