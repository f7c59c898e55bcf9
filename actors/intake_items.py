"""What intake makes of one frame before anything is stored.

Made by `actors.intake_preparing`, stored by `actors.intake`.
"""

from dataclasses import dataclass, field
from typing import Literal

from actors.messages import GroupNotice, SelfMessageSeen
from perlica.clients.napcat import InboundFrame
from perlica.commands.grammar import Malformed, Parsed, Unknown
from perlica.commands.roles import Role
from perlica.domain.ids import GroupId, MessageId, UserId
from perlica.domain.message import IncomingGroupMessage
from perlica.protection import Protected
from perlica.stores.messages import MessageKey, StoredAttachment


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A message after parsing and protection, before the transaction."""

    message: IncomingGroupMessage
    role: Role | None
    kind: Literal["chat", "trigger", "control"]
    name: Protected = field(repr=False)
    content: Protected = field(repr=False)
    attachments: tuple[StoredAttachment, ...] = field(repr=False)
    command: Parsed | Malformed | Unknown | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """A member took a message back."""

    message_id: MessageId
    author: UserId | None
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """A message that was in hand at three crashes: it is not looked into again."""

    key: MessageKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A frame that could not be parsed, protected or stored; nothing of it is kept but ids."""

    key: MessageKey | None
    fault: str


Item = Prepared | Recall | Quarantined | Unreadable | SelfMessageSeen | GroupNotice


def key_of(frame: InboundFrame) -> MessageKey | None:
    """The ids by which a frame's message is marked; None for what is no message."""
    raw = frame.frame
    if raw.get("post_type") not in {"message", "message_sent"}:
        return None
    try:
        return MessageKey(
            group_id=GroupId(int(raw["group_id"])),
            message_id=MessageId(int(raw["message_id"])),
            real_seq=None if raw.get("real_seq") is None else int(raw["real_seq"]),
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def key_of_message(message: IncomingGroupMessage) -> MessageKey:
    """The ids by which a parsed message is marked."""
    return MessageKey(
        group_id=message.group_id,
        message_id=message.message_id,
        real_seq=message.real_seq,
    )
