"""The part of intake before its transaction: parse and protect one frame, decide what it is.

Whatever goes wrong with a frame costs that frame alone.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from actors.messages import GroupNotice, SelfMessageSeen
from actors.protection.items import (
    Item,
    Prepared,
    Quarantined,
    Recall,
    Unreadable,
    key_of,
)
from perlica.clients.napcat import InboundFrame
from perlica.clients.onebot import NoticeKind, hash_message, parse_message, parse_notice
from perlica.commands.grammar import (
    MAX_LINE_CODE_POINTS,
    Malformed,
    NotACommand,
    Parsed,
    ParsedLine,
    Unknown,
    mask_line,
    near_miss,
    parse_line,
)
from perlica.commands.masking import mask_tickets, may_hold_ticket
from perlica.commands.roles import role_of
from perlica.domain.clock import now_ms
from perlica.domain.ids import UserId
from perlica.domain.message import IncomingGroupMessage, SegmentKind
from perlica.protection import Channel, Protected, protect, truncate
from perlica.stores.approvals import ApprovalStore
from perlica.stores.database import Database
from perlica.stores.messages import MAX_CRASHES, MessageKey, StoredAttachment

_log = logging.getLogger(__name__)

_MOST_NAMES: Final = 1_024
_ATTACHMENTS = frozenset(
    {SegmentKind.image, SegmentKind.file, SegmentKind.audio, SegmentKind.video}
)


class NameScanner:
    """Protects display names, which are few and come with every message; belongs to one thread."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._known: dict[str, Protected] = {}

    def protect(self, name: str) -> Protected:
        """As `protect`; a name that was scanned to its end lately is not scanned again."""
        known = self._known.get(name)
        if known is not None:
            return known
        scanned = protect(name, Channel.MESSAGE)
        if len(self._known) >= _MOST_NAMES:
            self._known.clear()
        if scanned.is_usable:
            self._known[name] = scanned
        return scanned


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparer:
    """Turns frames into items; `crashes` says at how many crashes a message was in hand."""

    marks: Database
    crashes: Mapping[MessageKey, int]
    names: NameScanner
    self_id: UserId
    owners: frozenset[UserId]
    members: frozenset[UserId]

    def prepare(self, frame: InboundFrame) -> Item | None:
        """Parse and protect one frame; whatever goes wrong costs this frame alone."""
        if self.is_quarantined_frame(frame):
            key = key_of(frame)
            return None if key is None else Quarantined(key=key)
        try:
            if frame.frame.get("post_type") == "notice":
                return self._prepare_notice(frame)
            return self._prepare_message(frame)
        except Exception as error:  # noqa: BLE001 - the boundary of one message
            _log.warning("message not readable", extra={"fault": type(error).__name__})
            return Unreadable(key=key_of(frame), fault=type(error).__name__)

    def _without_tickets(self, text: str) -> str:
        if not may_hold_ticket(text):
            return text
        return mask_tickets(text, ApprovalStore(self.marks).list_pending(now_ms()))

    def is_quarantined_frame(self, frame: InboundFrame) -> bool:
        """Whether the frame's message was in hand at three crashes."""
        return self._crashes_of(frame) >= MAX_CRASHES

    def was_in_hand(self, frame: InboundFrame) -> bool:
        """Whether the frame's message was in hand at a crash."""
        return self._crashes_of(frame) > 0

    def _crashes_of(self, frame: InboundFrame) -> int:
        if not self.crashes:
            return 0
        key = key_of(frame)
        return 0 if key is None else self.crashes.get(key, 0)

    def _prepare_notice(self, frame: InboundFrame) -> GroupNotice | Recall | None:
        notice = parse_notice(frame.frame)
        match notice.kind:
            case NoticeKind.recalled if notice.message_id is not None:
                return Recall(
                    message_id=notice.message_id, author=notice.user_id, at_ms=notice.at_ms
                )
            case NoticeKind.muted:
                until = None
                if notice.duration_s is not None:
                    until = notice.at_ms + notice.duration_s * 1000
                return GroupNotice(kind="muted", until_ms=until)
            case NoticeKind.unmuted:
                return GroupNotice(kind="unmuted")
            case NoticeKind.removed:
                return GroupNotice(kind="removed")
            case _:
                return None

    def _prepare_message(self, frame: InboundFrame) -> Prepared | SelfMessageSeen:
        message = parse_message(frame.frame, self_id=self.self_id, from_history=frame.from_history)
        if message.is_self:
            return SelfMessageSeen(
                message_id=message.message_id,
                text_sha256=hash_message(message),
                sent_at_ms=message.sent_at_ms,
            )
        role = role_of(message.user_id, owners=self.owners, members=self.members)
        command = _command_of(message) if role is not None else None
        is_control = command is not None
        is_trigger = role is not None and message.mentions_us
        if isinstance(command, Parsed):
            text = mask_line(message.command_line or message.plain_text)
        else:
            text = self._without_tickets(message.plain_text)
            text = mask_line(text) if is_control else text
        content = protect(text, Channel.MESSAGE)
        if is_control:
            content = truncate(content, MAX_LINE_CODE_POINTS)
        return Prepared(
            message=message,
            role=role,
            kind="control" if is_control else "trigger" if is_trigger else "chat",
            name=self.names.protect(self._without_tickets(message.display_name)),
            content=content,
            attachments=_attachments_of(message),
            command=command,
        )


def _command_of(message: IncomingGroupMessage) -> Parsed | Malformed | Unknown | None:
    """The command that a listed member gave, if the message is one or nearly one."""
    line = message.command_line
    read: ParsedLine | None = parse_line(line) if line is not None else near_miss(message)
    return None if isinstance(read, NotACommand) else read


def _safe_handle(handle: str) -> str:
    """NapCat's id of a file, "" when it holds a credential: of pictures it is the sender's name."""
    return handle if protect(handle, Channel.MESSAGE).content == handle else ""


def _attachments_of(message: IncomingGroupMessage) -> tuple[StoredAttachment, ...]:
    return tuple(
        StoredAttachment(
            kind=segment.kind.value,
            name=protect(segment.name, Channel.MESSAGE),
            size_bytes=segment.size_bytes,
            handle=_safe_handle(segment.handle),
        )
        for segment in message.segments
        if segment.kind in _ATTACHMENTS
    )
