"""What the outbox is given: its figures, and how it reaches the others.

Made by configuration and wiring; `actors.outbox.actor` holds to them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from actors.messages import Look, Send
from actors.outbox.reconciliation import ReconciliationSettings
from perlica.domain.ids import TaskId, TicketId


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxSettings:
    """Pace, waits and bounds of sending (O2 to O6)."""

    pace_s: float = 1.5
    per_minute: int = 20
    busy_every_s: float = 10.0
    """One busy reply to the same member in this time; further ones are dropped."""
    max_attempts: int = 5
    backoff_first_s: float = 2.0
    backoff_cap_s: float = 60.0
    napcat_within_s: float = 15.0
    answer_within_s: float = 20.0
    muted_for_s: float = 600.0
    removed_for_s: float = 3_600.0
    offline_for_s: float = 60.0
    relook_every_s: float = 300.0
    """Unknown rows whose history could not be read are looked up again in this time."""
    relook_for_s: float = 3_600.0
    own_message_missing_after_s: float = 30.0
    reconciliation: ReconciliationSettings = field(default_factory=ReconciliationSettings)
    withheld_text: str = "（有一条回复没有通过内容保护检查，未发送。）"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxPorts:
    """How the outbox reaches others; wiring fills it in.

    `tell_connection` delivers a Send or Look and says whether it could. `undeliverable` hears of an
    approval question that will never reach the group, so that its task does not wait for nothing.
    `alert` gets a stable code and ids: own_messages_missing, delivery_unknown, delivery_failed,
    withheld.
    """

    tell_connection: Callable[[Send | Look], bool]
    undeliverable: Callable[[TaskId | None, TicketId | None, str], None]
    alert: Callable[[str, Mapping[str, int | str]], None]
