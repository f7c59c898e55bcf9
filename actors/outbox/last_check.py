"""The last look at a row before it leaves: protection scans exactly the string to be sent.

A part of the outbox actor; it reads, and what it decides the actor writes.
"""

from dataclasses import dataclass

from perlica.clients.onebot import clean_text
from perlica.domain.approval import TicketState
from perlica.domain.ids import UserId
from perlica.domain.outbox import OutboxKind
from perlica.protection import Channel, Protected, protect
from perlica.stores.approvals import ApprovalStore
from perlica.stores.database import Database
from perlica.stores.outbox import OutboxRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """The row is not sent: scan_incomplete | scan_found | coalesced | ticket_over.

    With `scan_found`, `instead` is the redacted text that goes out in its place.
    """

    reason: str
    instead: Protected | None = None


class LastCheck:
    """Belongs to the outbox actor's thread; times are monotonic seconds."""

    def __init__(self, database: Database, *, busy_every_s: float) -> None:
        """Read tickets on this connection."""
        self._approvals = ApprovalStore(database)
        self._busy_every_s = busy_every_s
        self._busy_sent_s: dict[UserId, float] = {}

    def examine(self, row: OutboxRow, at_s: float, now_ms: int) -> Protected | Rejected:
        """The text to send, scanned now, or why the row is not sent."""
        if self._is_repeated_busy(row, at_s):
            return Rejected(reason="coalesced")
        if self._is_about_past_ticket(row, now_ms):
            return Rejected(reason="ticket_over")
        text = clean_text(row.content.content)
        scanned = protect(text, Channel.OUTBOX)
        if not scanned.is_usable:
            return Rejected(reason="scan_incomplete")
        if scanned.content != text:
            return Rejected(reason="scan_found", instead=scanned)
        return scanned

    def note_sent(self, row: OutboxRow, at_s: float) -> None:
        """Remember when a member last heard that we are busy."""
        if row.kind is OutboxKind.busy and row.at_user_id is not None:
            self._busy_sent_s[row.at_user_id] = at_s

    def _is_repeated_busy(self, row: OutboxRow, at_s: float) -> bool:
        if row.kind is not OutboxKind.busy or row.at_user_id is None or row.possible_duplicate:
            return False
        oldest_s = at_s - self._busy_every_s
        self._busy_sent_s = {u: s for u, s in self._busy_sent_s.items() if s > oldest_s}
        return row.at_user_id in self._busy_sent_s

    def _is_about_past_ticket(self, row: OutboxRow, now_ms: int) -> bool:
        """Whether it asks about a ticket that has ended since: nobody could answer it any more."""
        if row.kind is not OutboxKind.approval or row.ticket_id is None:
            return False
        ticket = self._approvals.find_ticket(row.ticket_id)
        if ticket is None:
            return False
        return ticket.state is not TicketState.pending or ticket.expires_at_ms <= now_ms
