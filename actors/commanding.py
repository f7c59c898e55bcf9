"""What each dot command does: facts read, ledger asked, one answer written.

Called by the coordinator with a pending command; texts and grammar are `perlica.commands`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import pykka

from actors.base import Ref
from actors.messages import Decide, Decision
from perlica.commands import answers
from perlica.commands.facts import (
    CancelResult,
    CapabilityOff,
    PendingTicket,
    RecoveryItem,
    SandboxFacts,
    StatusFacts,
    TaskFacts,
)
from perlica.commands.names import CommandName
from perlica.commands.roles import may_cancel, may_use, role_of
from perlica.domain.approval import Verdict
from perlica.domain.clock import now_ms
from perlica.domain.errors import StaleState
from perlica.domain.ids import OperationId, TaskId, TicketId, UserId
from perlica.domain.outbox import OutboxKind, OutboxState
from perlica.domain.sandbox import MAX_SANDBOXES
from perlica.domain.texts import Language
from perlica.gateway.tickets import audit_detail
from perlica.protection import Channel, protect
from perlica.stores.approvals import ApprovalStore
from perlica.stores.audit import AuditStore
from perlica.stores.commands import CommandStore, StoredCommand
from perlica.stores.database import Database
from perlica.stores.messages import MessageStore
from perlica.stores.operations import OperationStore
from perlica.stores.outbox import OutboxStore
from perlica.stores.sandboxes import SandboxStore
from perlica.stores.tasks import Task, TaskStore

_LEDGER_WITHIN_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandDesk:
    """Carries out commands; roles come from the configuration only.

    `connection_fault` says why NapCat is not ready, "" when it is.
    """

    owners: frozenset[UserId]
    members: frozenset[UserId]
    language: Language
    capabilities_off: tuple[CapabilityOff, ...]
    connection_fault: Callable[[], str]

    def obey(
        self, database: Database, command: StoredCommand, *, ledger: Ref | None, cancelling: bool
    ) -> Task | None:
        """Do it and answer; the task that has to be ended, for a `.cancel` that may."""
        name = CommandName(command.name)
        role = role_of(command.user_id, owners=self.owners, members=self.members)
        to_end: Task | None = None
        if role is None:
            text = ""
        elif not may_use(name, role):
            text = answers.answer_not_allowed(name, self.language)
        elif name is CommandName.cancel:
            text, to_end = self._cancel(database, command, cancelling=cancelling)
        elif name in {CommandName.approve, CommandName.deny}:
            text = self._decide(command, name, ledger)
        elif name is CommandName.recovery:
            text = self._recovery(database, command)
        elif name is CommandName.status:
            facts = self._status(database, cancelling=cancelling)
            text = answers.answer_status(facts, self.language)
        else:
            text = answers.answer_help(role, self.language)
        self._answer(database, command, text)
        return to_end

    def _answer(self, database: Database, command: StoredCommand, text: str) -> None:
        message = MessageStore(database).find_message(command.message_row)
        with database.transaction():
            if text:
                OutboxStore(database).enqueue(
                    key=f"command:{command.message_row}",
                    kind=OutboxKind.command,
                    content=protect(text, Channel.OUTBOX),
                    reply_to=message.message_id if message else None,
                    at_user=command.user_id,
                )
            CommandStore(database).mark_done(command.message_row)

    def _decide(self, command: StoredCommand, name: CommandName, ledger: Ref | None) -> str:
        ticket = TicketId(command.arguments["ticket"])
        verdict = Verdict.unknown_ticket
        if ledger is not None:
            try:
                decision = ledger.ask(
                    Decide(
                        ticket=ticket,
                        user=command.user_id,
                        approve=name is CommandName.approve,
                        code_digest=command.arguments.get("code_digest", ""),
                    ),
                    timeout=_LEDGER_WITHIN_S,
                )
                verdict = decision.verdict if isinstance(decision, Decision) else verdict
            except pykka.Timeout:
                verdict = Verdict.already_decided
        return answers.answer_verdict(ticket, verdict, self.language)

    def _cancel(
        self, database: Database, command: StoredCommand, *, cancelling: bool
    ) -> tuple[str, Task | None]:
        task = TaskStore(database).active_task()
        asked = TaskId(command.arguments["task"]) if "task" in command.arguments else None
        role = role_of(command.user_id, owners=self.owners, members=self.members)
        to_end: Task | None = None
        if task is None:
            result = (
                CancelResult.already_cancelling if cancelling else CancelResult.nothing_to_cancel
            )
        elif asked is not None and asked != task.id:
            result = CancelResult.not_this_task
        elif not may_cancel(role=role, user=command.user_id, requester=task.requester_id):
            result = CancelResult.not_yours
        else:
            result, to_end = CancelResult.cancelling, task
        text = answers.answer_cancel(
            result, task=task.id if task else None, asked=asked, language=self.language
        )
        return text, to_end

    def _recovery(self, database: Database, command: StoredCommand) -> str:
        store = OperationStore(database)
        if command.arguments.get("action") == "list":
            items = [
                RecoveryItem(
                    operation=operation.id,
                    action=operation.action,
                    age_ms=now_ms() - operation.created_at_ms,
                )
                for operation in store.list_unknown()
            ]
            return answers.answer_recovery(items, self.language)
        operation_id = OperationId(command.arguments["operation"])
        found = self._resolve(database, operation_id, command)
        return answers.answer_resolved(operation_id, found=found, language=self.language)

    def _resolve(self, database: Database, operation: OperationId, command: StoredCommand) -> bool:
        reason = protect(command.arguments["reason"], Channel.AUDIT)
        try:
            with database.transaction():
                OperationStore(database).resolve(operation, by=command.user_id, reason=reason)
                AuditStore(database).add_event(
                    "operation.resolved",
                    actor=f"member:{command.user_id}",
                    detail=audit_detail({"reason": reason.content}),
                    operation_id=operation,
                )
        except StaleState:
            return False
        return True

    def _status(self, database: Database, *, cancelling: bool) -> StatusFacts:
        now = now_ms()
        task = TaskStore(database).active_task()
        tickets = tuple(
            PendingTicket(ticket=t.id, action=t.action, left_ms=t.expires_at_ms - now)
            for t in ApprovalStore(database).list_pending(now)
        )
        living = SandboxStore(database).list_living()
        return StatusFacts(
            task=_task_facts(database, task, now, cancelling=cancelling) if task else None,
            tickets=tickets,
            sandboxes=tuple(SandboxFacts(name=row.name, state=row.state) for row in living),
            most_sandboxes=MAX_SANDBOXES,
            outbox_waiting=OutboxStore(database).counts().get(OutboxState.queued, 0),
            unknown_operations=len(OperationStore(database).list_unknown()),
            connection_fault=self.connection_fault(),
            capabilities_off=self.capabilities_off,
        )


def _task_facts(database: Database, task: Task, now: int, *, cancelling: bool) -> TaskFacts:
    trigger = (
        MessageStore(database).find_message(task.trigger_row)
        if task.trigger_row is not None
        else None
    )
    requester = trigger.display_name.content if trigger else ""
    return TaskFacts(
        task=task.id,
        requester=requester or str(task.requester_id),
        state=task.state,
        step=task.step,
        elapsed_ms=now - task.created_at_ms,
        cancelling=cancelling,
    )
