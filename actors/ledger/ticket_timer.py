"""How long tickets have lived by a clock that nobody can set back; a part of the ledger actor.

A ticket's ten minutes are wall time in the database, so that they hold over a restart. Within one
process they hold by the monotonic clock as well: a wall clock that is set back prolongs nothing.
"""

from collections.abc import Sequence

from perlica.domain.ids import TicketId
from perlica.stores.approvals import Ticket


class TicketTimer:
    """Belongs to one thread; times are monotonic seconds."""

    def __init__(self) -> None:
        """No ticket was seen yet."""
        self._seen_s: dict[TicketId, float] = {}

    def outlived(self, living: Sequence[Ticket], at_s: float) -> tuple[TicketId, ...]:
        """Of all living tickets those that this process has seen alive for their whole lifetime."""
        self._seen_s = {ticket.id: self._seen_s.get(ticket.id, at_s) for ticket in living}
        return tuple(
            ticket.id
            for ticket in living
            if (at_s - self._seen_s[ticket.id]) * 1000
            >= ticket.expires_at_ms - ticket.created_at_ms
        )
