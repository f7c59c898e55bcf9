"""What is sent to the group, as states and kinds; `outbox_messages` holds these words."""

from enum import StrEnum


class OutboxState(StrEnum):
    """O1 of the facts; `held` waits for a condition (muted, offline)."""

    queued = "queued"
    sending = "sending"
    sent = "sent"
    unknown = "unknown"
    refused = "refused"
    dead = "dead"


class OutboxKind(StrEnum):
    """Control texts never enter a window, an index or a quote."""

    final = "final"
    busy = "busy"
    notice = "notice"
    progress = "progress"
    approval = "approval"
    command = "command"


CONTROL_KINDS = frozenset({OutboxKind.approval, OutboxKind.command})
MAX_MESSAGE_CODE_POINTS = 1_500
MAX_PARTS = 4
"""A text that needs more messages is cut and says so; an approval question never is."""
