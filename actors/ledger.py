"""ApprovalLedger: decides tickets once and lets them expire.

The coordinator asks it for a member's `.approve` or `.deny`; tickets are issued by the gateway's
transaction and consumed by the execution's.
"""

from pathlib import Path

from actors.base import Alarm, PerlicaActor, Wires, tell_safely
from actors.messages import Decide, Decision, OutboxRung, Tick, TicketDecided
from perlica.domain.approval import Verdict
from perlica.domain.clock import now_ms
from perlica.domain.ids import UserId
from perlica.domain.outbox import OutboxKind
from perlica.domain.plan import Level
from perlica.domain.texts import Language
from perlica.domain.texts.notices import say_ticket_expired
from perlica.gateway.tickets import audit_detail
from perlica.protection import Channel, protect
from perlica.stores.approvals import ApprovalStore, Ticket
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.outbox import OutboxStore

_DECIDED = frozenset({Verdict.approved, Verdict.denied})


class ApprovalLedger(PerlicaActor):
    """Owns the tickets' decisions."""

    def __init__(
        self,
        *,
        database_path: Path,
        owners: frozenset[UserId],
        language: Language,
        wires: Wires,
        alarm: Alarm,
    ) -> None:
        """Keep the parts; the connection opens in the actor's own thread."""
        super().__init__(name="ledger", alarm=alarm)
        self._path = database_path
        self._owners = owners
        self._language = language
        self._wires = wires

    def begin(self) -> None:
        """Open the connection."""
        self._database = Database.open(self._path)

    def end(self) -> None:
        """Close the connection."""
        if hasattr(self, "_database"):
            self._database.close()

    def handle(self, message: object) -> object:
        """Decide or expire."""
        match message:
            case Decide():
                return self._decide(message)
            case Tick():
                self._expire()
            case _:
                raise TypeError(type(message).__name__)
        return None

    def _decide(self, message: Decide) -> Decision:
        with self._database.transaction():
            verdict, ticket = ApprovalStore(self._database).decide(
                message.ticket,
                decision="approved" if message.approve else "denied",
                user=message.user,
                code_digest=message.code_digest or None,
                now_ms=now_ms(),
                owners_today=self._owners,
            )
            AuditStore(self._database).add_event(
                "ticket.decision",
                actor=f"member:{message.user}",
                detail=audit_detail({"verdict": verdict.value, "approve": message.approve}),
                task_id=ticket.task_id if ticket else None,
                ticket_id=ticket.id if ticket else None,
                level=Level.high,
            )
        if ticket is not None and verdict in _DECIDED:
            tell_safely(
                self._wires.coordinator, TicketDecided(ticket=ticket.id, task=ticket.task_id)
            )
        return Decision(ticket=message.ticket, verdict=verdict)

    def _expire(self) -> None:
        if not ApprovalStore(self._database).has_due(now_ms()):
            return
        with self._database.transaction():
            expired = ApprovalStore(self._database).expire_due(now_ms())
            for ticket in expired:
                self._announce_expiry(ticket)
        for ticket in expired:
            tell_safely(
                self._wires.coordinator, TicketDecided(ticket=ticket.id, task=ticket.task_id)
            )
        tell_safely(self._wires.outbox, OutboxRung())

    def _announce_expiry(self, ticket: Ticket) -> None:
        text = say_ticket_expired(ticket.id, ticket.action, self._language)
        OutboxStore(self._database).enqueue(
            key=f"expired:{ticket.id}",
            kind=OutboxKind.command,
            content=protect(text, Channel.OUTBOX),
            ticket_id=ticket.id,
            task_id=ticket.task_id,
        )
        AuditStore(self._database).add_event(
            "ticket.expired",
            actor="perlica",
            detail=audit_detail({"action": ticket.action}),
            task_id=ticket.task_id,
            ticket_id=ticket.id,
            level=Level.high,
        )
