"""The one door for tool calls: schema, normalise, plan, judge, then execute, ask or refuse.

The agent loop calls it for each call of a turn; models reach nothing but this.
"""

import logging
from dataclasses import dataclass

from pydantic import ValidationError

from perlica.clients.model.contract import ToolSpec
from perlica.domain.approval import TicketState
from perlica.domain.cancel import CancelToken
from perlica.domain.errors import OutcomeUnknown, PerlicaError, Refused
from perlica.domain.ids import CallId, OperationId
from perlica.domain.operation import OperationState
from perlica.domain.plan import Level, hash_plan
from perlica.domain.policy import Policy
from perlica.domain.ports import Ringer, SandboxRunner
from perlica.gateway.ends import Answered, CallEnd, Suspended, answer, refusal
from perlica.gateway.execution import Execution, Executor, unknown_end
from perlica.gateway.sandbox_actions import present
from perlica.gateway.tickets import TicketDesk, audit_detail, seal_plan
from perlica.gateway.tool import CallContext, Planned, Registry, ToolSettings, schema_of
from perlica.sandboxes.recovery import job_to_look_up
from perlica.stores.approvals import ApprovalStore, Ticket
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.operations import Operation, OperationStore
from perlica.stores.tasks import Task

_log = logging.getLogger(__name__)

_SETTLE_WITHIN_S = 120.0
_NEVER_STARTED = (
    "not executed: the service restarted before it began; nothing happened."
    " Call it again if it is still needed."
)
_RESULT_LOST = "it was done, but its result was lost when the service restarted."


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenCall:
    """One call as the loop hands it over: `arguments_json` is the raw text, never logged."""

    id: CallId
    tool: str
    arguments_json: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """Walks every call through the same path; holds the session's database connection."""

    database: Database
    registry: Registry
    policy: Policy
    settings: ToolSettings
    desk: TicketDesk
    runner: SandboxRunner
    ring_outbox: Ringer

    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as they are declared to the model."""
        return tuple(
            ToolSpec(name=tool.name, description=tool.description, parameters=schema_of(tool))
            for tool in self.registry.all()
        )

    def dispatch(self, task: Task, call: GivenCall, cancel: CancelToken) -> CallEnd:
        """Take a call that was never dispatched to its end or to a ticket.

        Raises: Cancelled when the task was cancelled meanwhile.
        """
        context = self._context(task, call.id)
        try:
            planned = self._plan(call, context)
            level = self.policy.judge(planned.plan.action, planned.plan.scope)
            if level is Level.high:
                return self._ask(context, planned)
        except Refused as error:
            self._audit_refusal(context, error.code)
            return refusal(error.text)
        if level is Level.block:
            self._audit_refusal(context, "blocked_by_policy")
            return refusal(f"blocked by policy: {planned.plan.action} in {planned.plan.scope}")
        execution = Execution(planned=planned, context=context, level=level)
        return self._executor().execute(execution, cancel)

    def resume(self, task: Task, call: GivenCall, cancel: CancelToken) -> CallEnd:
        """Go on with a call that waited: execute it once if its ticket says so.

        Raises: Cancelled when the task was cancelled meanwhile.
        """
        ticket = ApprovalStore(self.database).find_for_call(call.id)
        if ticket is None:
            return refusal("not executed: there is no ticket for it")
        match ticket.state:
            case TicketState.pending:
                return Suspended(ticket=ticket.id)
            case TicketState.approved:
                return self._execute_approved(self._context(task, call.id), call, ticket, cancel)
            case TicketState.denied:
                return refusal("an Owner denied it; do not ask for the same again")
            case TicketState.expired:
                return refusal("nobody approved it within ten minutes; it was not executed")
            case _:
                return refusal("its ticket is no longer valid; it was not executed")

    def recover(self, call: GivenCall) -> CallEnd:
        """Find out what became of a call that was dispatched when the service died."""
        operation = OperationStore(self.database).find_for_call(call.id)
        if operation is None:
            return refusal(_NEVER_STARTED)
        if operation.state is OperationState.queued:
            self._abandon(operation)
            return answer(
                _NEVER_STARTED, source="perlica gateway", failed=True, operation=operation.id
            )
        if operation.state is OperationState.unknown:
            return unknown_end(operation.id, operation.level)
        return self._settle(operation)

    def acknowledge(self, operation: OperationId) -> None:
        """The result is committed; the backend may forget its copy of the output."""
        self.runner.acknowledge(operation)

    # --- steps ------------------------------------------------------------------------------

    def _context(self, task: Task, call: CallId) -> CallContext:
        return CallContext(task=task, call=call, database=self.database, settings=self.settings)

    def _executor(self) -> Executor:
        return Executor(database=self.database, runner=self.runner)

    def _plan(self, call: GivenCall, context: CallContext) -> Planned:
        tool = self.registry.find(call.tool)
        if tool is None:
            names = ", ".join(known.name for known in self.registry.all())
            raise Refused("unknown_tool", f"there is no such tool; the tools are: {names}")
        try:
            arguments = tool.arguments.model_validate_json(call.arguments_json)
        except ValidationError as error:
            raise Refused("bad_arguments", _explain(error)) from None
        return tool.plan(arguments, context)

    def _ask(self, context: CallContext, planned: Planned) -> Suspended:
        ticket = self.desk.ask(context.task, context.call, planned.plan)
        self.ring_outbox()
        return Suspended(ticket=ticket)

    def _execute_approved(
        self, context: CallContext, call: GivenCall, ticket: Ticket, cancel: CancelToken
    ) -> CallEnd:
        """Rebuild the plan from current facts; only the very same plan is what was approved."""
        try:
            planned = self._plan(call, context)
            seal_plan(planned.plan)
            self._check_still_high(planned)
            if hash_plan(planned.plan) != ticket.plan_hash:
                self.desk.void(ticket, "the facts changed after approval")
                return self._ask(context, planned)
        except Refused as error:
            self.desk.void(ticket, error.code)
            self._audit_refusal(context, error.code)
            return refusal(f"not executed: {error.text}")
        execution = Execution(planned=planned, context=context, level=Level.high, ticket=ticket)
        return self._executor().execute(execution, cancel)

    def _check_still_high(self, planned: Planned) -> None:
        """Raises: Refused when the policy no longer says High of the approved action."""
        if self.policy.judge(planned.plan.action, planned.plan.scope) is not Level.high:
            raise Refused("policy_changed", "the policy changed after the approval was asked for")

    def _abandon(self, operation: Operation) -> None:
        job = job_to_look_up(self.database, operation.id)
        if job is None:
            with self.database.transaction():
                OperationStore(self.database).abandon(operation.id)
        else:
            self.runner.abandon(job)

    def _settle(self, operation: Operation) -> CallEnd:
        job = job_to_look_up(self.database, operation.id)
        source = f"operation:{operation.id}"
        if job is None:
            return answer(_RESULT_LOST, source=source, operation=operation.id)
        try:
            outcome = self.runner.settle(job, within_s=_SETTLE_WITHIN_S)
        except OutcomeUnknown:
            return unknown_end(operation.id, operation.level)
        except PerlicaError as error:
            return answer(error.text, source=source, failed=True, operation=operation.id)
        result = present(job.name, outcome)
        return answer(
            result.text, source=result.source, failed=result.failed, operation=operation.id
        )

    def _audit_refusal(self, context: CallContext, code: str) -> None:
        with self.database.transaction():
            AuditStore(self.database).add_event(
                "call.refused",
                actor=f"task:{context.task.id}",
                detail=audit_detail({"code": code, "call": context.call}),
                task_id=context.task.id,
            )


def _explain(error: ValidationError) -> str:
    """Which arguments are wrong and why, without their values."""
    found = [
        f"{'.'.join(str(part) for part in item['loc']) or 'arguments'}: {item['msg']}"
        for item in error.errors(include_url=False, include_input=False, include_context=False)
    ]
    return "the arguments do not fit the tool's schema: " + "; ".join(found[:8])


__all__ = ["Answered", "Gateway", "GivenCall"]
