"""Tickets: the ledger draws, decides, spends and expires them, each by one statement.

What a ticket is bound to never changes: the schema holds it. Time is read at the moment of use.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal

from perlica.domain.approval import (
    TICKET_LIFETIME_MS,
    TicketState,
    Verdict,
    codes_match,
)
from perlica.domain.clock import now_ms
from perlica.domain.errors import StaleState
from perlica.domain.ids import CallId, GroupId, PlanHash, RowId, TaskId, TicketId, UserId
from perlica.domain.plan import Origin
from perlica.protection import Protected
from perlica.stores.database import Database, Row
from perlica.stores.sealed import companions, restored

MAX_ATTEMPTS: Final = 5
"""The wrong code that ends a ticket; the schema holds the same figure."""


CLOCK_STEP_MS: Final = 5_000
"""A ticket from further ahead than this was drawn before the clock was set back: it is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTicket:
    """A ticket to draw. `plan` is protected JSON, `owners` the set that it is bound to."""

    id: TicketId
    group_id: GroupId
    origin: Origin
    task_id: TaskId | None
    call_id: CallId | None
    action: str
    plan_hash: PlanHash
    plan: Protected = field(repr=False)
    target_summary: Protected = field(repr=False)
    owners: frozenset[UserId]
    code_digest: str = field(repr=False)
    lifetime_ms: int = TICKET_LIFETIME_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """A row of `approvals`."""

    id: TicketId
    group_id: GroupId
    origin: Origin
    task_id: TaskId | None
    call_id: CallId | None
    action: str
    plan_hash: PlanHash
    plan: Protected = field(repr=False)
    target_summary: Protected = field(repr=False)
    owners: frozenset[UserId]
    code_digest: str = field(repr=False)
    state: TicketState
    attempts: int
    created_at_ms: int
    expires_at_ms: int
    decided_by: UserId | None
    decided_at_ms: int | None
    consumed_at_ms: int | None


_INSERT: Final = """
INSERT INTO approvals (id, group_id, origin_kind, origin_id, task_id, call_id, action, plan_hash,
    plan, target_summary, protection_status, policy_version, finding_count, owners, code_digest,
    state, created_at_ms, expires_at_ms)
VALUES (:id, :group_id, :origin_kind, :origin_id, :task_id, :call_id, :action, :plan_hash,
    :plan, :target_summary, :protection_status, :policy_version, :finding_count, :owners,
    :code_digest, 'pending', :now_ms, :expires_at_ms)
RETURNING *
"""
_FIND: Final = "SELECT * FROM approvals WHERE id = :id"
_PENDING: Final = """
SELECT * FROM approvals WHERE state = 'pending' AND expires_at_ms > :now_ms
ORDER BY created_at_ms, rowid
"""
_DECIDE: Final = """
UPDATE approvals SET state = :decision, decided_by = :user, decided_at_ms = :now_ms
WHERE id = :id AND state = 'pending' AND expires_at_ms > :now_ms
RETURNING *
"""
_COUNT_ATTEMPT: Final = """
UPDATE approvals SET attempts = attempts + 1 WHERE id = :id AND state = 'pending' RETURNING *
"""
_CONSUME: Final = """
UPDATE approvals SET state = 'consumed', consumed_at_ms = :now_ms
WHERE id = :id AND state = 'approved' AND plan_hash = :plan_hash AND expires_at_ms > :now_ms
    AND created_at_ms <= :latest_ms
RETURNING *
"""
_FIND_FOR_CALL: Final = """
SELECT * FROM approvals WHERE call_id = :call_id ORDER BY created_at_ms DESC, rowid DESC LIMIT 1
"""
_PENDING_FOR_TASK: Final = "SELECT * FROM approvals WHERE task_id = :task_id AND state = 'pending'"
_FIND_FOR_COMMAND: Final = """
SELECT * FROM approvals WHERE origin_kind = 'command' AND origin_id = :origin_id
ORDER BY created_at_ms DESC, rowid DESC LIMIT 1
"""
_APPROVED_COMMANDS: Final = """
SELECT * FROM approvals INDEXED BY approvals_living
WHERE state IN ('pending', 'approved') AND state = 'approved' AND origin_kind = 'command'
ORDER BY created_at_ms, rowid
"""
_FOR_TASK: Final = "SELECT * FROM approvals WHERE task_id = :task_id ORDER BY created_at_ms, rowid"
_LIVING: Final = """
SELECT * FROM approvals WHERE state IN ('pending', 'approved') ORDER BY created_at_ms, rowid
"""
_DUE: Final = """
SELECT 1 FROM approvals WHERE state IN ('pending', 'approved')
    AND (expires_at_ms <= :now_ms OR created_at_ms > :latest_ms) LIMIT 1
"""
_VOID: Final = """
UPDATE approvals SET state = 'void' WHERE id = :id AND state IN ('pending', 'approved') RETURNING *
"""
_EXPIRE_DUE: Final = """
UPDATE approvals SET state = 'expired'
WHERE state IN ('pending', 'approved')
    AND (expires_at_ms <= :now_ms OR created_at_ms > :latest_ms)
RETURNING *
"""
_EXPIRE: Final = """
UPDATE approvals SET state = 'expired' WHERE id = :id AND state IN ('pending', 'approved')
RETURNING *
"""
_VOID_FOR_TASK: Final = """
UPDATE approvals SET state = 'void'
WHERE task_id = :task_id AND state IN ('pending', 'approved')
RETURNING *
"""


class ApprovalStore:
    """Reads and writes `approvals`."""

    def __init__(self, db: Database) -> None:
        """Work on this connection."""
        self._db = db

    def insert_ticket(self, ticket: NewTicket) -> Ticket:
        """Draw a ticket; it is worth something for its lifetime, ten minutes at most.

        Raises: Refused when the call waits for a ticket already, the task has ended or the text
        could not be scanned; Retryable when the drawn id is taken.
        """
        created_at_ms = now_ms()
        row = self._db.change(
            _INSERT,
            {
                "id": ticket.id,
                "group_id": ticket.group_id,
                "origin_kind": ticket.origin.kind,
                "origin_id": ticket.origin.id,
                "task_id": ticket.task_id,
                "call_id": ticket.call_id,
                "action": ticket.action,
                "plan_hash": ticket.plan_hash,
                "plan": ticket.plan.content,
                "target_summary": ticket.target_summary.content,
                **companions(ticket.plan, ticket.target_summary),
                "owners": json.dumps(sorted(ticket.owners)),
                "code_digest": ticket.code_digest,
                "now_ms": created_at_ms,
                "expires_at_ms": created_at_ms + min(ticket.lifetime_ms, TICKET_LIFETIME_MS),
            },
        )[0]
        return _ticket(row)

    def find_ticket(self, ticket: TicketId) -> Ticket | None:
        """A ticket by its id."""
        row = self._db.query_one(_FIND, {"id": ticket})
        return None if row is None else _ticket(row)

    def list_pending(self, now_ms: int) -> tuple[Ticket, ...]:
        """The tickets that an Owner may still decide, oldest first."""
        return _tickets(self._db.query(_PENDING, {"now_ms": now_ms}))

    def find_for_call(self, call: CallId) -> Ticket | None:
        """The newest ticket that was drawn for a call."""
        row = self._db.query_one(_FIND_FOR_CALL, {"call_id": call})
        return None if row is None else _ticket(row)

    def list_pending_for_task(self, task: TaskId) -> tuple[Ticket, ...]:
        """The tickets for which a task waits, also those whose time is over but not yet said so."""
        return _tickets(self._db.query(_PENDING_FOR_TASK, {"task_id": task}))

    def find_for_command(self, message_row: RowId) -> Ticket | None:
        """The newest ticket that a member's command asked for."""
        row = self._db.query_one(_FIND_FOR_COMMAND, {"origin_id": str(message_row)})
        return None if row is None else _ticket(row)

    def list_approved_commands(self) -> tuple[Ticket, ...]:
        """Tickets of Owners' commands that were approved and not spent yet, oldest first."""
        return _tickets(self._db.query(_APPROVED_COMMANDS))

    def list_for_task(self, task: TaskId) -> tuple[Ticket, ...]:
        """All tickets of a task in the order they were drawn."""
        return _tickets(self._db.query(_FOR_TASK, {"task_id": task}))

    def has_due(self, now_ms: int) -> bool:
        """Whether `expire_due` would move any; a read, for a caller that asks every second."""
        return self._db.query_one(_DUE, _at(now_ms)) is not None

    def list_living(self) -> tuple[Ticket, ...]:
        """The tickets that are pending, or approved and not spent, oldest first."""
        return _tickets(self._db.query(_LIVING))

    def decide(
        self,
        ticket_id: TicketId,
        *,
        decision: Literal["approved", "denied"],
        user: UserId,
        code_digest: str | None,
        now_ms: int,
        owners_today: frozenset[UserId],
    ) -> tuple[Verdict, Ticket | None]:
        """What becomes of a member's `.approve` or `.deny`, with the ticket where he may see it.

        Who asks comes first: others burn no attempt and learn nothing, not even whether there is
        such a ticket. Then the ticket's state, its expiry, the attempts, and the code, which a
        denial needs not. A wrong code is counted in the caller's transaction: commit it. The fifth
        ends the ticket, so that nothing goes on waiting for it.
        """
        if user not in owners_today:
            return Verdict.not_owner, None
        ticket = self.find_ticket(ticket_id)
        if ticket is None:
            return Verdict.unknown_ticket, None
        if user not in ticket.owners:
            return Verdict.not_owner, None
        fault = _fault_of_state(ticket, now_ms)
        if fault is None and decision == "approved":
            fault = self._check_code(ticket, code_digest)
        if fault is not None:
            return fault, self.find_ticket(ticket_id)
        bindings = {"id": ticket_id, "decision": decision, "user": user, "now_ms": now_ms}
        row = self._db.change_one(_DECIDE, bindings)
        if row is None:
            return Verdict.already_decided, self.find_ticket(ticket_id)
        return Verdict(decision), _ticket(row)

    def _check_code(self, ticket: Ticket, code_digest: str | None) -> Verdict | None:
        if ticket.attempts >= MAX_ATTEMPTS:
            self.void(ticket.id)
            return Verdict.too_many_attempts
        if code_digest is not None and codes_match(ticket.code_digest, code_digest):
            return None
        self._db.change(_COUNT_ATTEMPT, {"id": ticket.id})
        if ticket.attempts + 1 < MAX_ATTEMPTS:
            return Verdict.wrong_code
        self.void(ticket.id)
        return Verdict.too_many_attempts

    def consume(self, ticket_id: TicketId, *, plan_hash: PlanHash, now_ms: int) -> Ticket:
        """Spend an approved ticket on its one execution.

        Raises: StaleState when it is not approved, spent already, of another plan, or older than
        its ten minutes, which bound the execution too.
        """
        bindings = {"id": ticket_id, "plan_hash": plan_hash, **_at(now_ms)}
        row = self._db.change_one(_CONSUME, bindings)
        if row is None:
            raise StaleState("ticket_not_usable", f"ticket {ticket_id} does not pay for this plan")
        return _ticket(row)

    def expire_due(self, now_ms: int) -> tuple[Ticket, ...]:
        """Let tickets whose time is over expire, approved and unspent ones too; those it moved."""
        return _tickets(self._db.change(_EXPIRE_DUE, _at(now_ms)))

    def expire(self, ticket_id: TicketId) -> Ticket | None:
        """Let one ticket expire whatever the wall clock says; None when it is dead already."""
        row = self._db.change_one(_EXPIRE, {"id": ticket_id})
        return None if row is None else _ticket(row)

    def void(self, ticket_id: TicketId) -> Ticket:
        """Make one living ticket worthless. Raises: StaleState when it is dead already."""
        row = self._db.change_one(_VOID, {"id": ticket_id})
        if row is None:
            raise StaleState("ticket_moved", f"ticket {ticket_id} is not alive")
        return _ticket(row)

    def void_for_task(self, task: TaskId) -> tuple[Ticket, ...]:
        """Make the living tickets of a task that ends worthless; those it moved."""
        return _tickets(self._db.change(_VOID_FOR_TASK, {"task_id": task}))


def _fault_of_state(ticket: Ticket, now_ms: int) -> Verdict | None:
    if ticket.state is TicketState.expired:
        return Verdict.expired
    if ticket.state is TicketState.void and ticket.attempts >= MAX_ATTEMPTS:
        return Verdict.too_many_attempts
    if ticket.state is not TicketState.pending:
        return Verdict.already_decided
    is_within = ticket.created_at_ms - CLOCK_STEP_MS <= now_ms < ticket.expires_at_ms
    return None if is_within else Verdict.expired


def _at(now_ms: int) -> dict[str, int]:
    return {"now_ms": now_ms, "latest_ms": now_ms + CLOCK_STEP_MS}


def _tickets(rows: Iterable[Row]) -> tuple[Ticket, ...]:
    return tuple(_ticket(row) for row in rows)


def _ticket(row: Row) -> Ticket:
    return Ticket(
        id=TicketId(row["id"]),
        group_id=GroupId(row["group_id"]),
        origin=Origin(kind=row["origin_kind"], id=row["origin_id"]),
        task_id=row["task_id"],
        call_id=row["call_id"],
        action=row["action"],
        plan_hash=PlanHash(row["plan_hash"]),
        plan=restored(row, "plan"),
        target_summary=restored(row, "target_summary"),
        owners=frozenset(UserId(owner) for owner in json.loads(row["owners"])),
        code_digest=row["code_digest"],
        state=TicketState(row["state"]),
        attempts=row["attempts"],
        created_at_ms=row["created_at_ms"],
        expires_at_ms=row["expires_at_ms"],
        decided_by=row["decided_by"],
        decided_at_ms=row["decided_at_ms"],
        consumed_at_ms=row["consumed_at_ms"],
    )
