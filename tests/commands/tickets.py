"""A ticket as the store gives it, for tests that need its id and the digest of its code alone."""

from perlica.domain.approval import TicketState, digest_code
from perlica.domain.ids import GroupId, PlanHash, TaskId, TicketId, UserId
from perlica.domain.plan import Origin
from perlica.protection import Channel, protect
from perlica.stores.approvals import Ticket


def pending_ticket(ticket: str, code: str) -> Ticket:
    """A pending ticket with this id and code."""
    return Ticket(
        id=TicketId(ticket),
        group_id=GroupId(1),
        origin=Origin(kind="task", id="T-AAAAAA"),
        task_id=TaskId("T-AAAAAA"),
        call_id=None,
        action="sandbox.delete",
        plan_hash=PlanHash("0" * 64),
        plan=protect({}, Channel.AUDIT),
        target_summary=protect("x", Channel.AUDIT),
        owners=frozenset({UserId(1)}),
        code_digest=digest_code(TicketId(ticket), code),
        state=TicketState.pending,
        attempts=0,
        created_at_ms=0,
        expires_at_ms=1,
        decided_by=None,
        decided_at_ms=None,
        consumed_at_ms=None,
    )
