"""What intake makes of one frame before anything is stored.

Made by `actors.protection.preparing`, stored by `actors.protection.intake`.
"""

from dataclasses import dataclass, field
from typing import Final, Literal

from actors.messages import GroupNotice, SelfMessageSeen
from perlica.clients.napcat import InboundFrame
from perlica.clients.onebot import group_of
from perlica.clients.onebot.fields import positive_number, whole_number
from perlica.commands.grammar import Malformed, Parsed, Unknown
from perlica.commands.roles import Role
from perlica.domain.ids import GroupId, MessageId, UserId
from perlica.domain.message import IncomingGroupMessage
from perlica.protection import Protected
from perlica.stores.messages import MessageKey, StoredAttachment

_MESSAGE_TYPES: Final = ("message", "message_sent")


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
    if raw.get("post_type") not in _MESSAGE_TYPES:
        return None
    group_id, message_id = group_of(raw), whole_number(raw.get("message_id"))
    if group_id is None or message_id is None:
        return None
    return MessageKey(
        group_id=GroupId(group_id),
        message_id=MessageId(message_id),
        real_seq=positive_number(raw.get("real_seq")),
    )


def key_of_message(message: IncomingGroupMessage) -> MessageKey:
    """The ids by which a parsed message is marked."""
    return MessageKey(
        group_id=message.group_id,
        message_id=message.message_id,
        real_seq=message.real_seq,
    )
