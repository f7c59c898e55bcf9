"""The one door for tool calls: schema, normalise, plan, judge, then execute, ask or refuse.

The agent loop calls it for each call of a turn; models reach nothing but this.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pydantic import ValidationError

from perlica.conversation import ToolSpec
from perlica.domain.approval import TicketState
from perlica.domain.cancel import CancelToken
from perlica.domain.errors import PerlicaError, Refused, StaleState, StoreUnavailable
from perlica.domain.ids import CallId, OperationId
from perlica.domain.plan import Level
from perlica.gateway.core.caller import TaskCaller
from perlica.gateway.core.ceremony import Ceremony
from perlica.gateway.core.execution import Execution
from perlica.gateway.core.outcomes import Answered, CallEnd, Suspended, refusal
from perlica.gateway.core.recovery import CallRecovery
from perlica.gateway.core.registry import Registry
from perlica.gateway.core.tickets import audit_detail
from perlica.gateway.core.tool import CallContext, Planned, schema_of
from perlica.stores.approvals import MAX_ATTEMPTS, ApprovalStore, Ticket
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.operations import OperationStore
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
    ceremony: Ceremony

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
            planned = self._plan(call, caller)
            level = self.ceremony.judge(planned)
            if level is Level.high:
                before_asking()
                return Suspended(ticket=self.ceremony.ask(caller, planned))
        except (StoreUnavailable, StaleState):
            raise
        except PerlicaError as error:
            return self._refuse(caller, error)
        execution = Execution(planned=planned, caller=caller, level=level)
        return self.ceremony.runner.execute(execution, cancel)

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
        recovery = CallRecovery(database=self.database, executors=self.ceremony.executors)
        return recovery.recover(call.id, cancel)

    def acknowledge(self, operation: OperationId) -> None:
        """The result is committed; the executor may forget its copy of the output."""
        found = OperationStore(self.database).find(operation)
        executor = None if found is None else self.ceremony.executors.get(found.executor)
        if executor is not None:
            executor.acknowledge(operation)

    def ring_outbox(self) -> None:
        """Something was written for the group."""
        self.ceremony.ring_outbox()

    # --- steps ------------------------------------------------------------------------------

    def _plan(self, call: GivenCall, caller: TaskCaller) -> Planned:
        tool = self.registry.find(call.tool)
        if tool is None:
            names = ", ".join(known.name for known in self.registry.all())
            raise Refused("unknown_tool", f"there is no such tool; the tools are: {names}")
        try:
            arguments = tool.arguments.model_validate_json(call.arguments_json)
        except ValidationError as error:
            raise Refused("bad_arguments", _explain(error)) from None
        context = CallContext(
            caller=caller,
            database=self.database,
            policy_version=self.ceremony.policy.version,
        )
        return tool.plan(arguments, context)

    def _execute_approved(
        self, caller: TaskCaller, call: GivenCall, ticket: Ticket, cancel: CancelToken
    ) -> CallEnd:
        """Rebuild the plan from current facts; only the very same plan is what was approved."""
        try:
            execution = self.ceremony.redeem(ticket, lambda: (caller, self._plan(call, caller)))
        except (StoreUnavailable, StaleState):
            raise
        except PerlicaError as error:
            return self._refuse(caller, error)
        if not isinstance(execution, Execution):
            return Suspended(ticket=execution)
        end = self.ceremony.runner.execute(execution, cancel)
        self.ceremony.void_unspent(ticket)
        return end

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
