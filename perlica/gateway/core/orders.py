"""What Owners order by dot commands: the same way as a model's calls, without a model.

The coordinator's commands are given here (only rows are written, nothing waits); the reconciler has
those carried out whose ticket was approved. An order belongs to the family that planned it.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from perlica.domain.cancel import CancelToken
from perlica.domain.errors import PerlicaError, Refused, StaleState, StoreUnavailable
from perlica.domain.ids import OperationId, RowId, TicketId
from perlica.domain.outbox import OutboxKind
from perlica.domain.plan import ActionPlan, Level
from perlica.domain.texts import Language
from perlica.gateway.core.caller import Caller, CommandCaller
from perlica.gateway.core.ceremony import Ceremony
from perlica.gateway.core.execution import Execution
from perlica.gateway.core.tool import CallContext, Planned
from perlica.gateway.core.work import Queued, Remote
from perlica.protection import Channel, protect
from perlica.stores.approvals import ApprovalStore, Ticket
from perlica.stores.commands import CommandStore
from perlica.stores.database import Database
from perlica.stores.outbox import OutboxStore


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderSpec:
    """An action that an Owner's command has approved, and that is carried out afterwards.

    `plan_again` makes the plan of the same order from current facts; it is given the target and
    the effect of the stored plan. `announce` is the line for the group, "" for none: what is queued
    tells its end by itself.
    """

    action: str
    plan_again: Callable[[CallContext, Mapping[str, Any], Mapping[str, Any]], Planned]
    announce: Callable[[ActionPlan, Language], str] = lambda _plan, _language: ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The order waits for an Owner's approval."""

    ticket: TicketId


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The order is carried out, or queued where an executor has to act."""

    operation: OperationId
    is_queued: bool = False


Given = Asked | Done


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """Over one database connection; `specs` are those of every family that is on."""

    database: Database
    ceremony: Ceremony
    specs: tuple[OrderSpec, ...]
    policy_version: str
    language: Language

    def give(self, caller: CommandCaller, plan: Callable[[CallContext], Planned]) -> Given:
        """Plan an order, then carry it out, queue it, or ask for it.

        Raises: Refused, Blocked and others when it cannot be done now; nothing happened then.
        """
        planned = plan(self._context(caller))
        _refuse_remote(planned)
        level = self.ceremony.judge(planned)
        if level is Level.high:
            return Asked(ticket=self.ceremony.ask(caller, planned))
        execution = Execution(planned=planned, caller=caller, level=level)
        is_queued = self._carry_out(execution)
        return Done(operation=execution.operation, is_queued=is_queued)

    def execute_approved(self) -> None:
        """Carry out every order whose ticket was approved, once, if the facts are the same."""
        specs = {spec.action: spec for spec in self.specs}
        for ticket in ApprovalStore(self.database).list_approved_commands():
            if ticket.action in specs:
                self._execute_approved(ticket, specs[ticket.action])

    def _execute_approved(self, ticket: Ticket, spec: OrderSpec) -> None:
        try:
            execution = self.ceremony.redeem(ticket, lambda: self._plan_again(ticket, spec))
        except (StoreUnavailable, StaleState):
            raise
        except PerlicaError:
            return
        if not isinstance(execution, Execution):
            return
        try:
            is_queued = self._carry_out(execution)
        except StoreUnavailable:
            raise
        except StaleState:
            return
        except PerlicaError as error:
            self.ceremony.void(ticket, error.code)
            return
        if not is_queued:
            self._announce(execution, spec)

    def _carry_out(self, execution: Execution) -> bool:
        """Whether it is only queued: whoever executes it finds it in the table.

        Raises: as `PlanRunner.perform`.
        """
        runner = self.ceremony.runner
        work = execution.planned.work
        if isinstance(work, Queued):
            runner.queue(execution, work)
            return True
        runner.perform(execution, CancelToken())
        return False

    def _plan_again(self, ticket: Ticket, spec: OrderSpec) -> tuple[Caller, Planned]:
        """The same order from current facts. Raises: Refused when there is no such plan now."""
        caller = self._caller_of(ticket)
        try:
            stored = json.loads(ticket.plan.content)
            planned = spec.plan_again(self._context(caller), stored["target"], stored["effect"])
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise Refused("order_unreadable", "the stored order cannot be read again") from error
        _refuse_remote(planned)
        return caller, planned

    def _caller_of(self, ticket: Ticket) -> CommandCaller:
        """Who gave the order. Raises: Refused when the command's row is gone."""
        row = RowId(int(ticket.origin.id))
        command = CommandStore(self.database).find(row)
        if command is None:
            raise Refused("command_gone", "the command that asked for it is gone")
        return CommandCaller(message_row=row, user=command.user_id, group_id=ticket.group_id)

    def _announce(self, execution: Execution, spec: OrderSpec) -> None:
        """What began or was decided, for the group."""
        text = spec.announce(execution.planned.plan, self.language)
        if not text:
            return
        with self.database.transaction():
            OutboxStore(self.database).enqueue(
                key=f"order:{execution.operation}",
                kind=OutboxKind.notice,
                content=protect(text, Channel.OUTBOX),
            )
        self.ceremony.ring_outbox()

    def _context(self, caller: CommandCaller) -> CallContext:
        return CallContext(
            caller=caller, database=self.database, policy_version=self.policy_version
        )


def _refuse_remote(planned: Planned) -> None:
    """Orders are carried out by the reconciler, which waits for nobody. Raises: Refused."""
    if isinstance(planned.work, Remote):
        raise Refused("order_would_wait", "an order cannot be a call outside; it has to be queued")
