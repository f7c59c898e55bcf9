"""Asking for a High action: ticket, approval message and waiting state in one transaction.

Called by the gateway; the ledger actor decides and expires, the code never reaches the model.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import tzinfo

from perlica.domain.actions import ActionCatalog
from perlica.domain.approval import TICKET_LIFETIME_MS, digest_code
from perlica.domain.errors import Refused, Retryable, StoreUnavailable
from perlica.domain.ids import TicketId, UserId, new_ticket_code, new_ticket_id
from perlica.domain.outbox import OutboxKind
from perlica.domain.plan import ActionPlan, JsonValue, Level, hash_plan
from perlica.domain.task import TaskState
from perlica.domain.texts import Language
from perlica.domain.texts.notices import say_plan_changed, say_ticket_void
from perlica.gateway.core.approval_headline import AskedBy
from perlica.gateway.core.approval_text import CHINA_TIME, approval_text, summarise_target
from perlica.gateway.core.caller import Caller, TaskCaller
from perlica.protection import Channel, Protected, ProtectionStatus, protect
from perlica.stores.approvals import ApprovalStore, NewTicket, Ticket
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.messages import MessageStore
from perlica.stores.outbox import OutboxStore
from perlica.stores.sessions import SessionStore
from perlica.stores.tasks import TaskStore

_DRAWS = 5
"""How often id and code are drawn: an id may be in use, or read like a label of a credential."""
_NOT_SHOWN = "plan_cannot_be_shown"


@dataclass(frozen=True, slots=True, kw_only=True)
class TicketIssuer:
    """Writes tickets for plans; Owners and lifetime come from the configuration."""

    database: Database
    owners: frozenset[UserId]
    language: Language
    actions: ActionCatalog
    lifetime_ms: int = TICKET_LIFETIME_MS
    zone: tzinfo = CHINA_TIME

    def ask(self, caller: Caller, plan: ActionPlan, *, replaces: Ticket | None = None) -> TicketId:
        """Commit everything that asking means; a task waits from here on.

        `replaces` is an approved ticket of the same call that no longer fits the facts: it dies in
        the same transaction.

        Raises: Refused when the plan holds a credential or cannot be shown whole.
        """
        stored_plan = seal_plan(plan)
        for draws_left in reversed(range(_DRAWS)):
            try:
                return self._ask(caller, plan, stored_plan, replaces)
            except StoreUnavailable:
                raise
            except (Retryable, Refused) as error:
                may_differ = isinstance(error, Retryable) or error.code == _NOT_SHOWN
                if not draws_left or not may_differ:
                    raise
        raise AssertionError("the last draw returns or raises")

    def require_owner(self, ticket: Ticket) -> None:
        """An approval is worth what its Owner is worth now, when it is about to be spent.

        Raises: Refused when he was taken out of the configuration since.
        """
        if ticket.decided_by not in self.owners:
            raise Refused("owner_removed", "who approved it is no Owner any more")

    def void(self, ticket: Ticket, reason: str) -> None:
        """End an approved ticket that cannot be used any more, and tell the group."""
        action = self.actions.label(ticket.action, self.language)
        void_ticket(self.database, ticket, reason=reason, language=self.language, action=action)

    def _ask(
        self, caller: Caller, plan: ActionPlan, stored_plan: Protected, replaces: Ticket | None
    ) -> TicketId:
        ticket = new_ticket_id()
        code = new_ticket_code()
        with self.database.transaction():
            if replaces is not None:
                action = self.actions.label(replaces.action, self.language)
                text = say_plan_changed(replaces.id, action, self.language)
                _void(self.database, replaces, "facts_changed", text)
            drawn = ApprovalStore(self.database).insert_ticket(
                NewTicket(
                    id=ticket,
                    group_id=caller.group_id,
                    origin=plan.origin,
                    task_id=caller.task_id,
                    call_id=caller.call_id,
                    action=plan.action,
                    plan_hash=hash_plan(plan),
                    plan=stored_plan,
                    target_summary=protect(summarise_target(plan), Channel.TOOL_ARGUMENTS),
                    owners=self.owners,
                    code_digest=digest_code(ticket, code),
                    lifetime_ms=self.lifetime_ms,
                )
            )
            OutboxStore(self.database).enqueue(
                key=f"ticket:{ticket}",
                kind=OutboxKind.approval,
                content=self._text(caller, plan, code, drawn),
                task_id=caller.task_id,
                ticket_id=ticket,
            )
            if isinstance(caller, TaskCaller):
                self._let_wait(caller, ticket)
            AuditStore(self.database).add_event(
                "ticket.asked",
                actor=caller.actor,
                detail=audit_detail({"plan_hash": hash_plan(plan), "action": plan.action}),
                task_id=caller.task_id,
                ticket_id=ticket,
                level=Level.high,
            )
        return ticket

    def _let_wait(self, caller: TaskCaller, ticket: TicketId) -> None:
        """The call and its task wait for the ticket."""
        sessions = SessionStore(self.database)
        found = sessions.find_call(caller.call)
        if found is not None and found.state != "waiting":
            sessions.move_call(caller.call, before=found.state, after="waiting")
        TaskStore(self.database).move_task(
            caller.task.id,
            before=TaskState.running,
            after=TaskState.waiting_approval,
            step=caller.task.step,
            reason=f"ticket {ticket}",
        )

    def _text(self, caller: Caller, plan: ActionPlan, code: str, drawn: Ticket) -> Protected:
        shown = approval_text(
            plan,
            asked_by=self._asked_by(caller),
            ticket=drawn.id,
            code=code,
            expires_at_ms=drawn.expires_at_ms,
            language=self.language,
            actions=self.actions,
            zone=self.zone,
        )
        text = protect(shown, Channel.OUTBOX)
        if text.content != shown:
            raise Refused(_NOT_SHOWN, "the plan cannot be shown whole to an Owner")
        return text

    def _asked_by(self, caller: Caller) -> AskedBy:
        """Whose wish it is, by the number that sent it and the name under which it was sent."""
        by_command = not isinstance(caller, TaskCaller)
        row = caller.task.trigger_row if isinstance(caller, TaskCaller) else caller.message_row
        message = MessageStore(self.database).find_message(row) if row is not None else None
        return AskedBy(
            user=caller.requester,
            is_owner=caller.requester in self.owners,
            by_command=by_command,
            name=message.display_name.content if message is not None else "",
        )


def seal_plan(plan: ActionPlan) -> Protected:
    """The plan's effect fields as they are stored, which must be as they are executed.

    Raises: Refused with the kinds of credential that protection found.
    """
    sealed = protect(plan.effect_fields(), Channel.TOOL_ARGUMENTS)
    if sealed.status is not ProtectionStatus.SCANNED_NO_FINDINGS:
        kinds = ", ".join(sorted({finding.kind for finding in sealed.findings})) or "unscannable"
        raise Refused(
            "plan_holds_credential",
            f"this action is shown to people or leaves for the outside, and its parameters hold a"
            f" credential ({kinds}); it cannot be done in this form",
        )
    return sealed


def void_ticket(
    database: Database, ticket: Ticket, *, reason: str, language: Language, action: str
) -> None:
    """End a living ticket that cannot be used any more, and tell the group; `action` is a label.

    Raises: StaleState when it is dead already.
    """
    text = say_ticket_void(ticket.id, action, language)
    with database.transaction():
        _void(database, ticket, reason, text)


def _void(database: Database, ticket: Ticket, reason: str, text: str) -> None:
    ApprovalStore(database).void(ticket.id)
    OutboxStore(database).enqueue(
        key=f"void:{ticket.id}",
        kind=OutboxKind.command,
        content=protect(text, Channel.OUTBOX),
        task_id=ticket.task_id,
        ticket_id=ticket.id,
    )
    AuditStore(database).add_event(
        "ticket.void",
        actor="gateway",
        detail=audit_detail({"reason": reason}),
        task_id=ticket.task_id,
        ticket_id=ticket.id,
        level=Level.high,
    )


def audit_detail(facts: Mapping[str, JsonValue]) -> Protected:
    """Facts for an audit row, protected; never missing, even where a scan did not finish."""
    detail = protect(dict(facts), Channel.AUDIT)
    return detail if detail.content else protect({}, Channel.AUDIT)
