"""The one way of a plan: judgement, seal, ticket, plan anew, execution.

Calls of a model and Owners' orders take it alike; they differ in who asks and who waits.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from perlica.domain.approval import TicketState
from perlica.domain.errors import (
    Blocked,
    PerlicaError,
    Refused,
    StaleState,
    StoreUnavailable,
)
from perlica.domain.ids import TicketId
from perlica.domain.plan import Level, hash_plan
from perlica.domain.policy import Policy
from perlica.domain.ports import Ringer
from perlica.gateway.core.caller import Caller
from perlica.gateway.core.execution import Execution, PlanRunner
from perlica.gateway.core.placeholders import refuse_placeholders
from perlica.gateway.core.tickets import TicketIssuer, seal_plan
from perlica.gateway.core.tool import Planned
from perlica.gateway.core.work import Executors, Queued, Read, find_executor, leaves_process
from perlica.stores.approvals import ApprovalStore, Ticket
from perlica.stores.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceremony:
    """Over one database connection and the executors that work over it."""

    database: Database
    policy: Policy
    issuer: TicketIssuer
    executors: Executors
    ring_outbox: Ringer

    @property
    def runner(self) -> PlanRunner:
        """What carries judged plans out."""
        return PlanRunner(database=self.database, executors=self.executors)

    def judge(self, planned: Planned) -> Level:
        """The policy's word on a plan that may be carried out as it stands.

        Raises: Blocked when the policy forbids it; Refused for a plan that has no hash, quotes a
        placeholder, whose work nobody carries out, or that would take a credential outside.
        """
        plan = planned.plan
        hash_plan(plan)
        if not isinstance(planned.work, Read):
            refuse_placeholders(plan)
        level = self.policy.judge(plan.action, plan.scope)
        if level is Level.block:
            raise Blocked("blocked", f"blocked by policy: {plan.action} in {plan.scope}")
        if isinstance(planned.work, Queued):
            find_executor(self.executors, planned.work.executor)
        if leaves_process(planned.work, plan.destination):
            seal_plan(plan)
        return level

    def ask(self, caller: Caller, planned: Planned, *, replaces: Ticket | None = None) -> TicketId:
        """Ask the Owners for a High plan. Raises: Refused when it cannot be shown whole."""
        ticket = self.issuer.ask(caller, planned.plan, replaces=replaces)
        self.ring_outbox()
        return ticket

    def redeem(
        self, ticket: Ticket, plan_again: Callable[[], tuple[Caller, Planned]]
    ) -> Execution | TicketId:
        """What an approved ticket pays for: only the very same plan, made from current facts.

        Where the facts have changed it is asked for anew, under the ticket that is returned.

        Raises: StoreUnavailable, StaleState; Refused and others after the ticket was made void.
        """
        try:
            self.issuer.require_owner(ticket)
            caller, planned = plan_again()
            level = self.judge(planned)
            if level is not Level.high:
                raise Refused("policy_changed", "the policy changed after the approval was asked")
            seal_plan(planned.plan)
            if hash_plan(planned.plan) != ticket.plan_hash:
                return self.ask(caller, planned, replaces=ticket)
        except (StoreUnavailable, StaleState):
            raise
        except PerlicaError as error:
            self.void(ticket, error.code)
            raise
        return Execution(planned=planned, caller=caller, level=level, ticket=ticket)

    def void(self, ticket: Ticket, reason: str) -> None:
        """End a ticket that cannot be used; one that was spent or died meanwhile stays as it is."""
        with suppress(StaleState):
            self.issuer.void(ticket, reason)
        self.ring_outbox()

    def void_unspent(self, ticket: Ticket) -> None:
        """An approval that came too late to be spent: its Owner is told that nothing was done."""
        current = ApprovalStore(self.database).find_ticket(ticket.id)
        if current is not None and current.state is TicketState.approved:
            self.void(current, "not_spent")
