"""Carrying out a judged plan: operation row before the effect, outcome row after it.

Called by the gateway with a plan that is Low or Medium, or High with its approved ticket.
"""

from dataclasses import dataclass

from perlica.domain.cancel import CancelToken
from perlica.domain.clock import now_ms
from perlica.domain.errors import Cancelled, OutcomeUnknown, PerlicaError, StaleState
from perlica.domain.ids import CallId, OperationId, new_operation_id
from perlica.domain.operation import OperationState
from perlica.domain.plan import Level, hash_plan
from perlica.domain.ports import SandboxJob, SandboxRunner
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
class Executor:
    """Executes plans, never words; one operation for each call, ever."""

    database: Database
    runner: SandboxRunner

    def execute(
        self,
        planned: Planned,
        context: CallContext,
        cancel: CancelToken,
        *,
        level: Level,
        ticket: Ticket | None = None,
    ) -> CallEnd:
        """Do it and say how it ended.

        Raises: Cancelled when the task was cancelled meanwhile.
        """
        operation = new_operation_id()
        try:
            match planned.work:
                case Instant() as work:
                    result = self._run_instant(planned, work, context, operation, level)
                case InSandbox() as work:
                    result = self._run_in_sandbox(
                        planned, work, context, cancel, operation=operation, level=level, ticket=ticket
                    )
        except StaleState:
            return refusal("not executed: its approval is used up or expired, or it moved on")
        except OutcomeUnknown:
            return unknown_end(operation, level)
        except Cancelled:
            raise
        except PerlicaError as error:
            return answer(error.text, source="perlica gateway", failed=True, operation=operation)
        return answer(
            result.text, source=result.source, failed=result.failed, operation=operation
        )

    def _run_instant(
        self,
        planned: Planned,
        work: Instant,
        context: CallContext,
        operation: OperationId,
        level: Level,
    ) -> ToolResult:
        with self.database.transaction():
            self._insert(planned, context, operation, level=level, ticket=None)
            operations = OperationStore(self.database)
            operations.start(operation)
            result = work.run()
            operations.finish(operation, OperationState.succeeded, audit_detail({}))
        return result

    def _run_in_sandbox(
        self,
        planned: Planned,
        work: InSandbox,
        context: CallContext,
        cancel: CancelToken,
        *,
        operation: OperationId,
        level: Level,
        ticket: Ticket | None,
    ) -> ToolResult:
        with self.database.transaction():
            self._insert(planned, context, operation, level=level, ticket=ticket)
            job: SandboxJob = work.prepare(operation)
        outcome = self.runner.run(job, cancel, within_s=work.within_s)
        return work.present(outcome)

    def _insert(
        self,
        planned: Planned,
        context: CallContext,
        operation: OperationId,
        *,
        level: Level,
        ticket: Ticket | None,
    ) -> None:
        """The operation's row, the ticket's consumption and the call's move, all or nothing."""
        plan = planned.plan
        if ticket is not None:
            ApprovalStore(self.database).consume(
                ticket.id, plan_hash=hash_plan(plan), now_ms=now_ms()
            )
        OperationStore(self.database).insert_operation(
            NewOperation(
                id=operation,
                origin=plan.origin,
                task_id=context.task.id,
                call_id=context.call,
                action=plan.action,
                level=level,
                identity=plan.identity,
                plan_hash=hash_plan(plan),
                plan=_stored_plan(planned),
                ticket_id=ticket.id if ticket else None,
            )
        )
        _dispatch(self.database, context.call)
        AuditStore(self.database).add_event(
            "operation.planned",
            actor=f"task:{context.task.id}",
            detail=audit_detail(
                {"action": plan.action, "scope": plan.scope, "plan_hash": hash_plan(plan)}
            ),
            task_id=context.task.id,
            ticket_id=ticket.id if ticket else None,
            operation_id=operation,
            level=level.value,
        )


def _stored_plan(planned: Planned) -> Protected:
    """The plan as its row keeps it: protected, and never missing."""
    sealed = protect(planned.plan.effect_fields(), Channel.tool_arguments)
    if sealed.content:
        return sealed
    return protect({"action": planned.plan.action, "withheld": True}, Channel.tool_arguments)


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
