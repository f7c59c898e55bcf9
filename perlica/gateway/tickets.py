"""Asking for a High action: ticket, approval message and waiting state in one transaction.

Called by the gateway; the ledger actor decides and expires, the code never reaches the model.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from perlica.domain.approval import TICKET_LIFETIME_MS, digest_code
from perlica.domain.errors import Refused
from perlica.domain.ids import CallId, TicketId, UserId, new_ticket_code, new_ticket_id
from perlica.domain.outbox import OutboxKind
from perlica.domain.plan import ActionPlan, JsonValue, Level, hash_plan
from perlica.domain.task import TaskState
from perlica.domain.texts import Language
from perlica.gateway.approval_text import approval_text
from perlica.protection import Channel, Protected, ProtectionStatus, protect
from perlica.stores.approvals import ApprovalStore, NewTicket, Ticket
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.outbox import OutboxStore
from perlica.stores.sessions import SessionStore
from perlica.stores.tasks import Task, TaskStore


@dataclass(frozen=True, slots=True, kw_only=True)
class TicketDesk:
    """Writes tickets for plans; Owners and lifetime come from the configuration."""

    database: Database
    owners: frozenset[UserId]
    language: Language
    lifetime_ms: int = TICKET_LIFETIME_MS

    def ask(self, task: Task, call: CallId, plan: ActionPlan) -> TicketId:
        """Commit everything that asking means; the task waits from here on.

        Raises: Refused when the plan holds a credential or cannot be shown whole.
        """
        stored_plan = seal_plan(plan)
        ticket = new_ticket_id()
        code = new_ticket_code()
        with self.database.transaction():
            drawn = ApprovalStore(self.database).insert_ticket(
                NewTicket(
                    id=ticket,
                    group_id=task.group_id,
                    origin=plan.origin,
                    task_id=task.id,
                    call_id=call,
                    action=plan.action,
                    plan_hash=hash_plan(plan),
                    plan=stored_plan,
                    target_summary=summarise_target(plan),
                    owners=self.owners,
                    code_digest=digest_code(ticket, code),
                    lifetime_ms=self.lifetime_ms,
                )
            )
            OutboxStore(self.database).enqueue(
                key=f"ticket:{ticket}",
                kind=OutboxKind.approval,
                content=self._text(plan, ticket, code, drawn.expires_at_ms),
                task_id=task.id,
                ticket_id=ticket,
            )
            sessions = SessionStore(self.database)
            found = sessions.find_call(call)
            if found is not None and found.state != "waiting":
                sessions.move_call(call, before=found.state, after="waiting")
            TaskStore(self.database).move_task(
                task.id,
                before=TaskState.running,
                after=TaskState.waiting_approval,
                step=task.step,
                reason=f"ticket {ticket}",
            )
            AuditStore(self.database).add_event(
                "ticket.asked",
                actor="gateway",
                detail=audit_detail({"plan_hash": hash_plan(plan), "action": plan.action}),
                task_id=task.id,
                ticket_id=ticket,
                level=Level.high,
            )
        return ticket

    def void(self, ticket: Ticket, reason: str) -> None:
        """End an approved ticket that no longer fits the facts."""
        with self.database.transaction():
            ApprovalStore(self.database).void(ticket.id)
            AuditStore(self.database).add_event(
                "ticket.void",
                actor="gateway",
                detail=audit_detail({"reason": reason}),
                task_id=ticket.task_id,
                ticket_id=ticket.id,
                level=Level.high,
            )

    def _text(self, plan: ActionPlan, ticket: TicketId, code: str, expires_at_ms: int) -> Protected:
        shown = approval_text(
            plan, ticket=ticket, code=code, expires_at_ms=expires_at_ms, language=self.language
        )
        text = protect(shown, Channel.OUTBOX)
        if text.content != shown:
            raise Refused("plan_cannot_be_shown", "the plan cannot be shown whole to an Owner")
        return text


def seal_plan(plan: ActionPlan) -> Protected:
    """The plan's effect fields as they are stored, which must be as they are executed.

    Raises: Refused with the kinds of credential that protection found (DESIGN §6).
    """
    sealed = protect(plan.effect_fields(), Channel.TOOL_ARGUMENTS)
    if sealed.status is not ProtectionStatus.SCANNED_NO_FINDINGS:
        kinds = ", ".join(sorted({finding.kind for finding in sealed.findings})) or "unscannable"
        raise Refused(
            "plan_holds_credential",
            f"this action needs approval and its parameters hold a credential ({kinds});"
            " it cannot be asked for in this form",
        )
    return sealed


def summarise_target(plan: ActionPlan) -> Protected:
    """The target's identity on one line, for lists and audit."""
    line = ", ".join(f"{key}={value}" for key, value in sorted(plan.target.items()))
    return protect(line, Channel.TOOL_ARGUMENTS)


def audit_detail(facts: Mapping[str, JsonValue]) -> Protected:
    """Facts for an audit row, protected; never missing, even where a scan did not finish."""
    detail = protect(dict(facts), Channel.AUDIT)
    return detail if detail.content else protect({}, Channel.AUDIT)
