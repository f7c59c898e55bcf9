"""What Owners order about sandboxes by dot commands: planned, judged, asked for, carried out.

The same plans, policy and tickets as for a model's calls; the origin is the command's message. The
coordinator gives orders (only rows are written, nothing waits); the reconciler carries out those
whose ticket was approved, and hands queued jobs over.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from perlica.domain.cancel import CancelToken
from perlica.domain.errors import PerlicaError, Refused, StaleState, StoreUnavailable
from perlica.domain.ids import OperationId, RowId, TicketId, new_operation_id
from perlica.domain.outbox import OutboxKind
from perlica.domain.plan import Level, hash_plan
from perlica.domain.policy import Policy
from perlica.domain.ports import SandboxRunner
from perlica.domain.texts import Language
from perlica.domain.texts.sandboxes import (
    say_node_written_off,
    say_orphan_released,
    say_switch_begun,
)
from perlica.gateway.core.caller import CommandCaller
from perlica.gateway.core.execution import Execution, Executor
from perlica.gateway.core.outcomes import Answered
from perlica.gateway.core.tickets import TicketIssuer, seal_plan
from perlica.gateway.core.tool import CallContext, InSandbox, Planned, ToolSettings
from perlica.gateway.families.sandbox.image import (
    SWITCH,
    Payment,
    plan_introduction,
    plan_retry,
    plan_switch,
)
from perlica.gateway.families.sandbox.manage import ManageArguments, SandboxManage
from perlica.gateway.families.sandbox.nodes import (
    DELETE_ORPHAN,
    WRITE_OFF,
    plan_orphan_deletion,
    plan_write_off,
)
from perlica.protection import Channel, protect
from perlica.stores.approvals import ApprovalStore, Ticket
from perlica.stores.commands import CommandStore
from perlica.stores.database import Database
from perlica.stores.outbox import OutboxStore
from perlica.stores.sandboxes import SandboxStore

DELETE: Final = "sandbox.delete"
_OURS: Final = frozenset({DELETE, SWITCH, WRITE_OFF, DELETE_ORPHAN})


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The order waits for an Owner's approval."""

    ticket: TicketId


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The order is carried out, or queued where a sandbox has to act."""

    operation: OperationId
    is_queued: bool = False


Given = Asked | Done


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxOrders:
    """Over one database connection; the coordinator and the reconciler have one each."""

    database: Database
    policy: Policy
    settings: ToolSettings
    desk: TicketIssuer
    runner: SandboxRunner
    language: Language
    ring_outbox: Callable[[], None]

    # --- orders -----------------------------------------------------------------------------

    def stop(self, caller: CommandCaller, name: str) -> Given:
        """End what runs in a sandbox; files stay. Raises: Refused, also as all below."""
        return self._give(caller, self._manage(caller, action="stop", name=name))

    def describe(self, caller: CommandCaller, name: str, purpose: str) -> Given:
        """Say anew what a sandbox is for; no use of it."""
        return self._give(
            caller, self._manage(caller, action="describe", name=name, purpose=purpose)
        )

    def delete(self, caller: CommandCaller, name: str) -> Given:
        """Destroy a sandbox: High."""
        return self._give(caller, self._manage(caller, action="delete", name=name))

    def introduce(self, caller: CommandCaller, introduction: str) -> Given:
        """Another introduction of the same image."""
        return self._give(caller, plan_introduction(self._context(caller), introduction))

    def switch(self, caller: CommandCaller, digest: str, introduction: str) -> Given:
        """Another image: High."""
        context = self._context(caller)
        current = SandboxStore(self.database).image()
        text = introduction or (current.introduction if current else "")
        return self._give(caller, plan_switch(context, digest, text))

    def retry(self, caller: CommandCaller) -> Given:
        """Let a blocked switch go on."""
        return self._give(caller, plan_retry(self._context(caller)))

    def write_off(self, caller: CommandCaller, node: str) -> Given:
        """Give a node up: High."""
        return self._give(caller, plan_write_off(self._context(caller), node, self.language))

    def delete_orphan(self, caller: CommandCaller, number: int) -> Given:
        """Delete what was never ours: High."""
        return self._give(caller, plan_orphan_deletion(self._context(caller), number))

    # --- the reconciler's part --------------------------------------------------------------

    def execute_approved(self) -> None:
        """Carry out every order whose ticket was approved, once, if the facts are the same."""
        for ticket in ApprovalStore(self.database).list_approved_commands():
            if ticket.action in _OURS:
                self._execute_approved(ticket)

    def _execute_approved(self, ticket: Ticket) -> None:
        operation = new_operation_id()
        try:
            self.desk.require_owner(ticket)
            caller = self._caller_of(ticket)
            planned = self._plan_again(caller, ticket, operation)
            level = self.policy.judge(planned.plan.action, planned.plan.scope)
            if level is not Level.high:
                raise Refused("policy_changed", "the policy changed after the approval was asked")
            seal_plan(planned.plan)
            if hash_plan(planned.plan) != ticket.plan_hash:
                self.desk.ask(caller, planned.plan, replaces=ticket)
                self.ring_outbox()
                return
        except (StoreUnavailable, StaleState):
            raise
        except PerlicaError as error:
            self._void(ticket, error)
            return
        execution = Execution(
            planned=planned, caller=caller, level=level, ticket=ticket, operation=operation
        )
        self._carry_out(execution, ticket)

    def _carry_out(self, execution: Execution, ticket: Ticket) -> None:
        executor = Executor(database=self.database, runner=self.runner)
        work = execution.planned.work
        try:
            if isinstance(work, InSandbox):
                executor.queue(execution, work)
                return
            ended = executor.execute(execution, CancelToken())
        except StaleState:
            return
        if isinstance(ended, Answered) and ended.operation is not None:
            self._announce(execution)
        else:
            self._void(ticket, Refused("not_executed", "the facts changed meanwhile"))

    def _void(self, ticket: Ticket, error: PerlicaError) -> None:
        """A ticket that cannot be used; one that was spent or died meanwhile stays as it is."""
        try:
            self.desk.void(ticket, error.code)
        except StaleState:
            return
        self.ring_outbox()

    def _plan_again(self, caller: CommandCaller, ticket: Ticket, operation: OperationId) -> Planned:
        """The plan of the same order from current facts. Raises: Refused when it has none."""
        plan = json.loads(ticket.plan.content)
        target, effect = plan["target"], plan["effect"]
        context = self._context(caller)
        match ticket.action:
            case "image.switch":
                payment = Payment(ticket=ticket.id, operation=operation)
                digest, introduction = target["image_digest"], effect["introduction"]
                return plan_switch(context, digest, introduction, payment)
            case "node.write_off":
                return plan_write_off(context, target["node"], self.language)
            case "orphan.delete":
                return plan_orphan_deletion(context, target["orphan"])
            case _:
                return self._manage(caller, action="delete", name=target["sandbox"])

    def _caller_of(self, ticket: Ticket) -> CommandCaller:
        """Who gave the order. Raises: Refused when the command's row is gone."""
        row = RowId(int(ticket.origin.id))
        command = CommandStore(self.database).find(row)
        if command is None:
            raise Refused("command_gone", "the command that asked for it is gone")
        return CommandCaller(message_row=row, user=command.user_id, group_id=ticket.group_id)

    def _announce(self, execution: Execution) -> None:
        """What began or was decided, for the group."""
        plan = execution.planned.plan
        match plan.action:
            case "image.switch":
                doomed = plan.effect["destroys"]
                count = len(doomed) if isinstance(doomed, list) else 0
                digest = str(plan.target["image_digest"])
                text = say_switch_begun(digest, count, self.language)
            case "node.write_off":
                text = say_node_written_off(str(plan.target["node"]), self.language)
            case _:
                text = say_orphan_released(str(plan.target["sandbox"]), self.language)
        with self.database.transaction():
            OutboxStore(self.database).enqueue(
                key=f"order:{execution.operation}",
                kind=OutboxKind.notice,
                content=protect(text, Channel.OUTBOX),
            )
        self.ring_outbox()

    # --- shared -----------------------------------------------------------------------------

    def _context(self, caller: CommandCaller) -> CallContext:
        return CallContext(caller=caller, database=self.database, settings=self.settings)

    def _manage(self, caller: CommandCaller, **arguments: str) -> Planned:
        """The plan that the model's own tool would make of the same wish."""
        given = ManageArguments.model_validate(arguments)
        return SandboxManage().plan(given, self._context(caller))

    def _give(self, caller: CommandCaller, planned: Planned) -> Given:
        level = self.policy.judge(planned.plan.action, planned.plan.scope)
        if level is Level.block:
            raise Refused("blocked_by_policy", "the policy blocks it")
        if level is Level.high:
            return Asked(ticket=self.desk.ask(caller, planned.plan))
        execution = Execution(planned=planned, caller=caller, level=level)
        executor = Executor(database=self.database, runner=self.runner)
        if isinstance(planned.work, InSandbox):
            executor.queue(execution, planned.work)
            return Done(operation=execution.operation, is_queued=True)
        ended = executor.execute(execution, CancelToken())
        if not isinstance(ended, Answered) or ended.operation is None:
            raise Refused("not_executed", "it could not be done")
        return Done(operation=execution.operation)
