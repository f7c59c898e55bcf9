"""Tickets: an Owner's one-time permission for exactly one plan."""

import hashlib
import hmac
from enum import StrEnum

from perlica.domain.ids import TicketId

TICKET_LIFETIME_MS = 600_000
"""Ten minutes."""


class TicketState(StrEnum):
    """`approved` is decided, `consumed` is spent on its one execution; the rest are dead."""

    pending = "pending"
    approved = "approved"
    consumed = "consumed"
    denied = "denied"
    expired = "expired"
    void = "void"


LIVING_STATES = frozenset({TicketState.pending, TicketState.approved})
"""In these a ticket may still be worth something."""


class Verdict(StrEnum):
    """What became of a member's `.approve` or `.deny`; each has one answer text."""

    approved = "approved"
    denied = "denied"
    not_owner = "not_owner"
    unknown_ticket = "unknown_ticket"
    wrong_code = "wrong_code"
    too_many_attempts = "too_many_attempts"
    expired = "expired"
    already_decided = "already_decided"


def digest_code(ticket: TicketId, code: str) -> str:
    """The only form in which a code is stored beside its ticket (hex SHA-256)."""
    return hashlib.sha256(f"perlica-ticket:{ticket}:{code}".encode()).hexdigest()


def codes_match(expected_digest: str, given_digest: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(expected_digest, given_digest)
