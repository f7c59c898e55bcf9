"""ApprovalLedger: decides tickets once and lets them expire.

The coordinator hands it a member's `.approve` or `.deny` (docs/adr/0008); tickets are issued by
the gateway's transaction and consumed by the execution's.
"""

import logging
from pathlib import Path

from actors.base import Alarm, PerlicaActor, Wires, tell_safely
from actors.ledger.ticket_timer import TicketTimer
from actors.messages import Decide, OutboxRung, Tick, TicketDecided
from perlica.commands.answering import answer_command
from perlica.commands.answers import answer_verdict
from perlica.commands.names import CommandName
from perlica.domain.actions import ActionCatalog
from perlica.domain.approval import Verdict
from perlica.domain.clock import monotonic_s, now_ms
from perlica.domain.errors import StoreUnavailable
from perlica.domain.ids import RowId, TicketId, UserId
from perlica.domain.outbox import OutboxKind
from perlica.domain.plan import Level
from perlica.domain.texts import Language
from perlica.domain.texts.notices import say_ticket_expired
from perlica.gateway.core.tickets import audit_detail, void_ticket
from perlica.protection import Channel, protect
from perlica.stores.approvals import ApprovalStore, Ticket
from perlica.stores.audit import AuditStore
from perlica.stores.commands import CommandStore, StoredCommand
from perlica.stores.database import Database
from perlica.stores.outbox import OutboxStore

_log = logging.getLogger(__name__)

_ENDS_THE_WAIT = frozenset({Verdict.approved, Verdict.denied, Verdict.too_many_attempts})


class ApprovalLedger(PerlicaActor):
    """Owns the tickets' decisions."""

    def __init__(
        self,
        *,
        database_path: Path,
        owners: frozenset[UserId],
        language: Language,
        actions: ActionCatalog,
        wires: Wires,
        alarm: Alarm,
    ) -> None:
        """Keep the parts; the connection opens in the actor's own thread."""
        super().__init__(name="ledger", alarm=alarm)
        self._path = database_path
        self._owners = owners
        self._language = language
        self._actions = actions
        self._wires = wires
        self._timer = TicketTimer()

    def begin(self) -> None:
        """Open the connection; a question that nobody can answer any more is over."""
        self._database = Database.open(self._path)
        self._void_without_owner()

    def end(self) -> None:
        """Close the connection."""
        if hasattr(self, "_database"):
            self._database.close()

    def handle(self, message: object) -> object:
        """Decide or expire; what a busy database refused now is asked for again at a tick."""
        try:
            match message:
                case Decide(message_row=row):
                    self._decide(row)
                case Tick():
                    self._expire()
                case _:
                    raise TypeError(type(message).__name__)
        except StoreUnavailable as error:
            _log.warning("the ledger could not write", extra={"code": error.code})
        return None

    def _decide(self, row: RowId) -> None:
        """The verdict, its answer and the command's end in one transaction."""
        with self._database.transaction():
            command = CommandStore(self._database).find(row)
            if command is None or command.state != "pending":
                return
            verdict, ticket = self._judge(command)
            text = answer_verdict(_ticket_of(command), verdict, self._language)
            answer_command(self._database, command, text)
        if ticket is not None and verdict in _ENDS_THE_WAIT:
            self._tell_decided(ticket)
        tell_safely(self._wires.outbox, OutboxRung())

    def _judge(self, command: StoredCommand) -> tuple[Verdict, Ticket | None]:
        approves = CommandName(command.name) is CommandName.approve
        verdict, ticket = ApprovalStore(self._database).decide(
            _ticket_of(command),
            decision="approved" if approves else "denied",
            user=command.user_id,
            code_digest=command.arguments.get("code_digest"),
            now_ms=now_ms(),
            owners_today=self._owners,
        )
        AuditStore(self._database).add_event(
            "ticket.decision",
            actor=f"member:{command.user_id}",
            detail=audit_detail({"verdict": verdict.value, "approve": approves}),
            task_id=ticket.task_id if ticket else None,
            ticket_id=ticket.id if ticket else None,
            level=Level.high,
        )
        return verdict, ticket

    def _void_without_owner(self) -> None:
        """None of those who were asked is an Owner any more: the ten minutes would be in vain."""
        for ticket in ApprovalStore(self._database).list_pending(now_ms()):
            if ticket.owners.isdisjoint(self._owners):
                void_ticket(
                    self._database,
                    ticket,
                    reason="owner_removed",
                    language=self._language,
                    action=self._actions.label(ticket.action, self._language),
                )

    def _expire(self) -> None:
        store = ApprovalStore(self._database)
        outlived = self._timer.outlived(store.list_living(), monotonic_s())
        if not outlived and not store.has_due(now_ms()):
            return
        with self._database.transaction():
            expired = list(store.expire_due(now_ms()))
            expired += [ticket for one in outlived if (ticket := store.expire(one)) is not None]
            for ticket in expired:
                self._announce_expiry(ticket)
        for ticket in expired:
            self._tell_decided(ticket)
        tell_safely(self._wires.outbox, OutboxRung())

    def _tell_decided(self, ticket: Ticket) -> None:
        tell_safely(self._wires.coordinator, TicketDecided(ticket=ticket.id, task=ticket.task_id))

    def _announce_expiry(self, ticket: Ticket) -> None:
        text = say_ticket_expired(
            ticket.id, self._actions.label(ticket.action, self._language), self._language
        )
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


def _ticket_of(command: StoredCommand) -> TicketId:
    return TicketId(command.arguments["ticket"])
