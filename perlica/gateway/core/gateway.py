"""The one door for tool calls: schema, normalise, plan, judge, then execute, ask or refuse.

The agent loop calls it for each call of a turn; models reach nothing but this.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from pydantic import ValidationError

from perlica.conversation import ToolSpec
from perlica.domain.approval import TicketState
from perlica.domain.cancel import CancelToken
from perlica.domain.errors import Blocked, PerlicaError, Refused, StaleState, StoreUnavailable
from perlica.domain.ids import CallId, OperationId
from perlica.domain.plan import Level, hash_plan
from perlica.domain.policy import Policy
from perlica.domain.ports import Ringer, SandboxRunner
from perlica.gateway.core.caller import TaskCaller
from perlica.gateway.core.execution import Execution, Executor
from perlica.gateway.core.outcomes import Answered, CallEnd, Suspended, refusal
from perlica.gateway.core.placeholders import refuse_placeholders
from perlica.gateway.core.recovery import CallRecovery
from perlica.gateway.core.tickets import TicketIssuer, audit_detail, seal_plan
from perlica.gateway.core.tool import CallContext, Planned, Registry, ToolSettings, schema_of
from perlica.stores.approvals import MAX_ATTEMPTS, ApprovalStore, Ticket
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.tasks import Task

_MOST_FAULTS = 8


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
    desk: TicketIssuer
    runner: SandboxRunner
    ring_outbox: Ringer

    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as they are declared to the model."""
        return tuple(
            ToolSpec(name=tool.name, description=tool.description, parameters=schema_of(tool))
            for tool in self.registry.all()
        )

    def dispatch(
        self,
        task: Task,
        call: GivenCall,
        cancel: CancelToken,
        *,
        before_asking: Callable[[], None] = lambda: None,
    ) -> CallEnd:
        """Take a call that was never dispatched to its end or to a ticket.

        `before_asking` is called when a question is about to go to the group.

        Raises: Cancelled when the task was cancelled meanwhile; StoreUnavailable; StaleState when
        the task has moved on.
        """
        caller = TaskCaller(task=task, call=call.id)
        try:
            planned, level = self._plan_and_judge(call, caller)
            if level is Level.high:
                before_asking()
                return self._ask(caller, planned)
        except (StoreUnavailable, StaleState):
            raise
        except PerlicaError as error:
            return self._refuse(caller, error)
        execution = Execution(planned=planned, caller=caller, level=level)
        return self._executor().execute(execution, cancel)

    def resume(self, task: Task, call: GivenCall, cancel: CancelToken) -> CallEnd:
        """Go on with a call that waited: execute it once if its ticket says so.

        Raises: as `dispatch`.
        """
        ticket = ApprovalStore(self.database).find_for_call(call.id)
        if ticket is None:
            return refusal("not executed: there is no ticket for it")
        match ticket.state:
            case TicketState.pending:
                return Suspended(ticket=ticket.id)
            case TicketState.approved:
                return self._execute_approved(
                    TaskCaller(task=task, call=call.id), call, ticket, cancel
                )
            case TicketState.denied:
                return refusal("an Owner denied it; do not ask for the same again")
            case TicketState.expired:
                return refusal("nobody approved it in time; it was not executed")
            case _ if ticket.attempts >= MAX_ATTEMPTS:
                return refusal("too many wrong codes ended its approval; it was not executed")
            case _:
                return refusal("its ticket is no longer valid; it was not executed")

    def recover(self, call: GivenCall, cancel: CancelToken) -> CallEnd:
        """Find out what became of a call that was dispatched when the service died.

        Raises: Cancelled when the task was cancelled meanwhile; StoreUnavailable.
        """
        settings = self.settings
        recovery = CallRecovery(
            database=self.database, runner=self.runner, exec_within_s=settings.exec_within_s
        )
        return recovery.recover(call.id, cancel)

    def acknowledge(self, operation: OperationId) -> None:
        """The result is committed; the backend may forget its copy of the output."""
        self.runner.acknowledge(operation)

    # --- steps ------------------------------------------------------------------------------

    def _executor(self) -> Executor:
        return Executor(database=self.database, runner=self.runner)

    def _plan_and_judge(self, call: GivenCall, caller: TaskCaller) -> tuple[Planned, Level]:
        """What would be done, and the policy's word on it. Raises: Refused, Blocked and others."""
        planned = self._plan(call, caller)
        plan = planned.plan
        hash_plan(plan)
        if not planned.only_reads_here:
            refuse_placeholders(plan)
        level = self.policy.judge(plan.action, plan.scope)
        if level is Level.block:
            raise Blocked("blocked", f"blocked by policy: {plan.action} in {plan.scope}")
        if planned.goes_outside:
            seal_plan(plan)
        return planned, level

    def _plan(self, call: GivenCall, caller: TaskCaller) -> Planned:
        tool = self.registry.find(call.tool)
        if tool is None:
            names = ", ".join(known.name for known in self.registry.all())
            raise Refused("unknown_tool", f"there is no such tool; the tools are: {names}")
        try:
            arguments = tool.arguments.model_validate_json(call.arguments_json)
        except ValidationError as error:
            raise Refused("bad_arguments", _explain(error)) from None
        context = CallContext(caller=caller, database=self.database, settings=self.settings)
        return tool.plan(arguments, context)

    def _ask(
        self, caller: TaskCaller, planned: Planned, *, replaces: Ticket | None = None
    ) -> Suspended:
        ticket = self.desk.ask(caller, planned.plan, replaces=replaces)
        self.ring_outbox()
        return Suspended(ticket=ticket)

    def _execute_approved(
        self, caller: TaskCaller, call: GivenCall, ticket: Ticket, cancel: CancelToken
    ) -> CallEnd:
        """Rebuild the plan from current facts; only the very same plan is what was approved."""
        try:
            self.desk.require_owner(ticket)
            planned, level = self._plan_and_judge(call, caller)
            if level is not Level.high:
                raise Refused("policy_changed", "the policy changed after the approval was asked")
            seal_plan(planned.plan)
            if hash_plan(planned.plan) != ticket.plan_hash:
                return self._ask(caller, planned, replaces=ticket)
        except (StoreUnavailable, StaleState):
            raise
        except PerlicaError as error:
            self.desk.void(ticket, error.code)
            self.ring_outbox()
            return self._refuse(caller, error)
        execution = Execution(planned=planned, caller=caller, level=Level.high, ticket=ticket)
        end = self._executor().execute(execution, cancel)
        self._void_unspent(ticket)
        return end

    def _void_unspent(self, ticket: Ticket) -> None:
        """An approval that came too late to be spent: its Owner is told that nothing was done."""
        current = ApprovalStore(self.database).find_ticket(ticket.id)
        if current is None or current.state is not TicketState.approved:
            return
        with suppress(StaleState):
            self.desk.void(current, "not_spent")
        self.ring_outbox()

    def _refuse(self, caller: TaskCaller, error: PerlicaError) -> Answered:
        with self.database.transaction():
            AuditStore(self.database).add_event(
                "call.refused",
                actor=caller.actor,
                detail=audit_detail({"code": error.code, "call": caller.call}),
                task_id=caller.task_id,
            )
        return refusal(f"not executed: {error.text}")


def _explain(error: ValidationError) -> str:
    """Which arguments are wrong and why, without their values."""
    found = [
        f"{'.'.join(str(part) for part in item['loc']) or 'arguments'}: {item['msg']}"
        for item in error.errors(include_url=False, include_input=False, include_context=False)
    ]
    return "the arguments do not fit the tool's schema: " + "; ".join(found[:_MOST_FAULTS])


__all__ = ["Answered", "Gateway", "GivenCall"]
