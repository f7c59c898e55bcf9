"""What each dot command does: facts read, the act, one answer, all in one transaction.

Called by the coordinator with a pending command; `.approve` and `.deny` are the ledger's. Texts and
grammar are `perlica.commands`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import tzinfo

from perlica.commands import answers, records
from perlica.commands.answering import answer_command
from perlica.commands.facts import (
    CancelResult,
    CapabilityOff,
    ModelTroubleFacts,
    PendingTicket,
    RecoveryItem,
    SandboxFacts,
    StatusFacts,
    SwitchFacts,
    TaskFacts,
)
from perlica.commands.names import CommandName
from perlica.commands.record_facts import (
    name_requester,
    name_sender,
    read_audit,
    read_task,
    read_tasks,
)
from perlica.commands.roles import Role, may_cancel, may_use, role_of
from perlica.domain.actions import ActionCatalog
from perlica.domain.clock import now_ms
from perlica.domain.ids import OperationId, TaskId, UserId
from perlica.domain.operation import OperationState
from perlica.domain.outbox import OutboxState
from perlica.domain.sandbox import IDLE_MS_AT_MOST, MAX_SANDBOXES, SandboxState
from perlica.domain.task import EndReason, TaskState
from perlica.domain.texts import Language
from perlica.gateway.core.tickets import audit_detail
from perlica.protection import Channel, protect
from perlica.sandboxes.expiry import left_ms
from perlica.stores.approvals import ApprovalStore
from perlica.stores.audit import AuditStore
from perlica.stores.commands import StoredCommand
from perlica.stores.database import Database
from perlica.stores.image_switches import ImageSwitchStore
from perlica.stores.model_standing import read_model_standing
from perlica.stores.operations import OperationStore
from perlica.stores.orphans import OrphanStore
from perlica.stores.outbox import OutboxStore
from perlica.stores.sandboxes import SandboxRow, SandboxStore
from perlica.stores.tasks import Task, TaskStore
from perlica.tasks.ending import TaskEnder


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandHandler:
    """Carries out commands; roles come from the configuration only.

    `connection_fault` says why NapCat is not ready, "" when it is; `zone` is that of shown times.
    """

    owners: frozenset[UserId]
    members: frozenset[UserId]
    language: Language
    actions: ActionCatalog
    capabilities_off: tuple[CapabilityOff, ...]
    connection_fault: Callable[[], str]
    zone: tzinfo
    idle_ms: int = IDLE_MS_AT_MOST

    def obey(
        self, database: Database, command: StoredCommand, *, ender: TaskEnder, cancelling: bool
    ) -> TaskId | None:
        """Do it, answer and mark it done, all in one transaction; the task that it ended.

        Raises: StaleState when it was carried out before.
        """
        with database.transaction():
            text, to_end = self._carry_out(database, command, cancelling=cancelling)
            answer_command(database, command, text)
            if to_end is None:
                return None
            ender.end_within(
                to_end,
                after=TaskState.cancelled,
                reason=EndReason.cancelled_by_member,
                cancelled_by=name_sender(database, command.message_row, command.user_id),
            )
            return to_end.id

    def _carry_out(
        self, database: Database, command: StoredCommand, *, cancelling: bool
    ) -> tuple[str, Task | None]:
        """The answer, and the task that has to be ended, for a `.cancel` that may."""
        name = CommandName(command.name)
        role = role_of(command.user_id, owners=self.owners, members=self.members)
        if role is None:
            return "", None
        if not may_use(name, role):
            return answers.answer_not_allowed(name, self.language), None
        if name is CommandName.cancel:
            return self._cancel(database, command, cancelling=cancelling)
        if name is CommandName.recovery:
            return self._recovery(database, command), None
        if name is CommandName.status:
            facts = self._status(database, cancelling=cancelling)
            return answers.answer_status(facts, self.language), None
        return self._tell(database, command, name, role), None

    def _tell(
        self, database: Database, command: StoredCommand, name: CommandName, role: Role
    ) -> str:
        """Answers that only read."""
        task = command.arguments.get("task")
        match name:
            case CommandName.tasks:
                return records.answer_tasks(read_tasks(database), self.language)
            case CommandName.task if task is not None:
                found = read_task(database, TaskId(task), self.language, self.actions)
                return records.answer_task(TaskId(task), found, self.language)
            case CommandName.audit:
                events = read_audit(database, None if task is None else TaskId(task))
                return records.answer_audit(events, self.zone, self.language, self.actions)
            case CommandName.whoami:
                return records.answer_whoami(command.user_id, role, self.language)
            case _:
                return answers.answer_help(role, self.language)

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
                    action=self.actions.label(operation.action, self.language),
                    age_ms=now_ms() - operation.created_at_ms,
                )
                for operation in store.list_unknown()
            ]
            return answers.answer_recovery(items, self.language)
        operation_id = OperationId(command.arguments["operation"])
        found = self._resolve(database, operation_id, command)
        return answers.answer_resolved(operation_id, found=found, language=self.language)

    def _resolve(self, database: Database, operation: OperationId, command: StoredCommand) -> bool:
        """Whether it was in the queue; in the caller's transaction."""
        reason = protect(command.arguments["reason"], Channel.AUDIT)
        store = OperationStore(database)
        found = store.find(operation)
        if found is None or found.state is not OperationState.unknown:
            return False
        store.resolve(operation, by=command.user_id, reason=reason)
        AuditStore(database).add_event(
            "operation.resolved",
            actor=f"member:{command.user_id}",
            detail=audit_detail({"reason": reason.content}),
            operation_id=operation,
        )
        return True

    def _status(self, database: Database, *, cancelling: bool) -> StatusFacts:
        now = now_ms()
        task = TaskStore(database).active_task()
        tickets = tuple(
            PendingTicket(
                ticket=t.id,
                action=self.actions.label(t.action, self.language),
                left_ms=t.expires_at_ms - now,
            )
            for t in ApprovalStore(database).list_pending(now)
        )
        living = SandboxStore(database).list_living()
        return StatusFacts(
            task=_task_facts(database, task, now, cancelling=cancelling) if task else None,
            tickets=tickets,
            sandboxes=tuple(self._sandbox_facts(row, now) for row in living),
            most_sandboxes=MAX_SANDBOXES,
            outbox_waiting=OutboxStore(database).counts().get(OutboxState.queued, 0),
            unknown_operations=len(OperationStore(database).list_unknown()),
            image_switch=_switch_facts(database),
            orphans=len(OrphanStore(database).list_open()),
            connection_fault=self.connection_fault(),
            model_trouble=_model_trouble(database, now),
            capabilities_off=self.capabilities_off,
        )

    def _sandbox_facts(self, row: SandboxRow, now: int) -> SandboxFacts:
        is_expiring = row.state in {SandboxState.ready, SandboxState.stopped}
        left = left_ms(row, self.idle_ms, now) if is_expiring else None
        return SandboxFacts(name=row.name, state=row.state, left_ms=left)


def _switch_facts(database: Database) -> SwitchFacts | None:
    switch = ImageSwitchStore(database).current()
    return None if switch is None else SwitchFacts(blocked_because=switch.reason)


def _model_trouble(database: Database, now: int) -> ModelTroubleFacts | None:
    standing = read_model_standing(database)
    if standing.trouble is None or standing.failed_at_ms is None:
        return None
    return ModelTroubleFacts(reason=standing.trouble, age_ms=now - standing.failed_at_ms)


def _task_facts(database: Database, task: Task, now: int, *, cancelling: bool) -> TaskFacts:
    return TaskFacts(
        task=task.id,
        requester=name_requester(database, task),
        state=task.state,
        step=task.step,
        elapsed_ms=now - task.created_at_ms,
        cancelling=cancelling,
    )
