"""Intake: what becomes of each frame of our group, decided and stored in one transaction.

Called by the protection actor with what the connection's reader queued; returns what to tell the
other actors once everything is committed.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from perlica.clients.napcat.inbound import InboundFrame
from actors.messages import (
    CommandGiven,
    GroupNotice,
    SelfMessageSeen,
    TaskRequested,
    TriggerRecalled,
)
from perlica.clients.onebot import NoticeKind, hash_message, parse_message, parse_notice
from perlica.commands.answers import answer_malformed, answer_unknown
from perlica.commands.grammar import (
    FREE_TEXT_ARGUMENTS,
    Malformed,
    NotACommand,
    Parsed,
    ParsedLine,
    Unknown,
    mask_line,
    near_miss,
    parse_line,
)
from perlica.commands.roles import Role, role_of
from perlica.domain.clock import now_ms
from perlica.domain.ids import GroupId, MessageId, RowId, UserId
from perlica.domain.message import IncomingGroupMessage, SegmentKind
from perlica.domain.outbox import OutboxKind
from perlica.domain.texts import Language
from perlica.domain.texts.notices import (
    EMPTY_REQUEST,
    UNSCANNABLE,
    say_busy,
    say_missed,
    say_quarantined,
    say_too_large,
)
from perlica.protection import Channel, Protected, not_scanned, protect
from perlica.stores.audit import AuditStore
from perlica.stores.commands import CommandStore
from perlica.stores.database import Database
from perlica.stores.messages import MessageKey, MessageStore, StoredAttachment
from perlica.stores.outbox import OutboxStore
from perlica.stores.tasks import TaskStore

_log = logging.getLogger(__name__)

_BUSY_EVERY_MS = 10_000
_QUARANTINE_AT = 3
_NO_SEQ = -1
_ATTACHMENTS = frozenset(
    {SegmentKind.image, SegmentKind.file, SegmentKind.audio, SegmentKind.video}
)

Told = TaskRequested | CommandGiven | SelfMessageSeen | TriggerRecalled | GroupNotice


@dataclass(frozen=True, slots=True, kw_only=True)
class IntakeSettings:
    """Whom intake listens to and where its limits are."""

    group_id: GroupId
    self_id: UserId
    owners: frozenset[UserId]
    members: frozenset[UserId]
    language: Language
    trigger_code_points: int
    fresh_within_ms: int
    policy_version: str
    context_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A message after parsing and protection, before the transaction."""

    message: IncomingGroupMessage
    role: Role | None
    kind: str
    name: Protected = field(repr=False)
    content: Protected = field(repr=False)
    attachments: tuple[StoredAttachment, ...] = field(repr=False)
    command: Parsed | Malformed | Unknown | None = field(default=None, repr=False)


@dataclass(slots=True)
class Intake:
    """Owns nothing but two connections: the ordinary one and the relaxed one for marks."""

    database: Database
    marks: Database
    settings: IntakeSettings
    _missed: int = 0

    def note_crashes(self) -> None:
        """At the start: what was in hand when the process died gets one crash more."""
        with self.marks.transaction():
            MessageStore(self.marks).note_crashes()

    def take(self, frames: Sequence[InboundFrame]) -> list[Told]:
        """Store the frames' messages; commands first, everything else in arrival order."""
        keys = tuple(key for frame in frames if (key := _key_of(frame)) is not None)
        with self.marks.transaction():
            MessageStore(self.marks).mark_in_hand(keys)
        prepared = [item for frame in frames if (item := self._prepare(frame)) is not None]
        prepared.sort(key=lambda item: not (isinstance(item, Prepared) and item.command))
        told = self._store_together(prepared)
        with self.marks.transaction():
            MessageStore(self.marks).clear_in_hand(keys)
        return told

    # --- before the transaction -------------------------------------------------------------

    def _prepare(self, frame: InboundFrame) -> "Prepared | Told | _Quarantined | None":
        """Parse and protect one frame; whatever goes wrong costs this frame alone."""
        key = _key_of(frame)
        if key is not None and self._is_quarantined(key):
            return _Quarantined(key=key, frame=frame)
        try:
            if frame.frame.get("post_type") == "notice":
                return self._prepare_notice(frame)
            return self._prepare_message(frame)
        except Exception as error:  # noqa: BLE001 - the boundary of one message (DESIGN §3)
            _log.warning("message not readable", extra={"fault": type(error).__name__})
            return _Unreadable(key=key, fault=type(error).__name__)

    def _is_quarantined(self, key: MessageKey) -> bool:
        return MessageStore(self.marks).is_quarantined(key, at=_QUARANTINE_AT)

    def _prepare_notice(self, frame: InboundFrame) -> "GroupNotice | _Recall | None":
        notice = parse_notice(frame.frame)
        match notice.kind:
            case NoticeKind.recalled if notice.message_id is not None:
                return _Recall(message_id=notice.message_id, at_ms=notice.at_ms)
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

    def _prepare_message(self, frame: InboundFrame) -> "Prepared | SelfMessageSeen":
        message = parse_message(
            frame.frame, self_id=self.settings.self_id, from_history=frame.from_history
        )
        if message.is_self:
            return SelfMessageSeen(
                message_id=message.message_id,
                text_sha256=hash_message(message),
                sent_at_ms=message.sent_at_ms,
            )
        role = role_of(
            message.user_id, owners=self.settings.owners, members=self.settings.members
        )
        command = _command_of(message) if role is not None else None
        is_control = command is not None and not (
            isinstance(command, Unknown)
            and not command.wants_hint(mentions_us=message.mentions_us)
        )
        kind = "chat"
        if is_control:
            kind = "control"
        elif role is not None and message.mentions_us:
            kind = "trigger"
        text = mask_line(message.command_line or "") if is_control else message.plain_text
        return Prepared(
            message=message,
            role=role,
            kind=kind,
            name=protect(message.display_name, Channel.message),
            content=protect(text, Channel.message),
            attachments=_attachments_of(message),
            command=command if is_control else None,
        )

    # --- the transaction --------------------------------------------------------------------

    def _store_together(self, prepared: Sequence["_Item"]) -> list[Told]:
        """All in one transaction; if that fails, each alone, so that one costs only itself."""
        try:
            with self.database.transaction():
                told = [bell for item in prepared for bell in self._store(item)]
                self._announce_missed()
                return told
        except Exception as error:  # noqa: BLE001 - the boundary of one message (DESIGN §3)
            _log.warning("intake batch failed", extra={"fault": type(error).__name__})
        told = []
        for item in prepared:
            told += self._store_alone(item)
        return told

    def _store_alone(self, item: "_Item") -> list[Told]:
        try:
            with self.database.transaction():
                return self._store(item)
        except Exception as error:  # noqa: BLE001 - the boundary of one message (DESIGN §3)
            fault = type(error).__name__
            key = None
            if isinstance(item, Prepared):
                key = _key_of_message(item.message)
        with self.database.transaction():
            return self._store(_Unreadable(key=key, fault=fault))

    def _store(self, item: "_Item") -> list[Told]:
        match item:
            case Prepared():
                return self._store_message(item)
            case _Recall():
                rows = MessageStore(self.database).mark_recalled(item.message_id, item.at_ms)
                return [TriggerRecalled(message_row=row) for row in rows]
            case _Quarantined():
                self._store_quarantined(item)
                return []
            case _Unreadable():
                self._audit(
                    "intake.unreadable",
                    {"fault": item.fault, "message_id": item.key.message_id if item.key else 0},
                )
                return []
            case _:
                return [item]

    def _store_message(self, item: Prepared) -> list[Told]:
        row = MessageStore(self.database).insert_message(
            item.message,
            kind=item.kind,
            display_name=item.name,
            content=item.content,
            attachments=item.attachments,
        )
        if row is None:
            return []
        is_fresh = now_ms() - item.message.sent_at_ms <= self.settings.fresh_within_ms
        if item.message.from_history and not is_fresh:
            self._missed += item.kind == "trigger"
            return []
        match item.command:
            case Parsed() as parsed:
                return [self._store_command(row, item.message.user_id, parsed)]
            case Malformed() as malformed:
                self._reply(item.message, answer_malformed(malformed, self.settings.language))
                return []
            case Unknown() as unknown:
                self._reply(item.message, answer_unknown(unknown, self.settings.language))
                return []
            case None if item.kind == "trigger":
                return self._store_trigger(row, item)
            case None:
                return []

    def _store_command(self, row: RowId, user: UserId, parsed: Parsed) -> CommandGiven:
        arguments = {
            name: protect(value, Channel.message).content
            if name in FREE_TEXT_ARGUMENTS
            else value
            for name, value in parsed.arguments.items()
        }
        CommandStore(self.database).insert_command(row, user, parsed.name.value, arguments)
        return CommandGiven(message_row=row)

    def _store_trigger(self, row: RowId, item: Prepared) -> list[Told]:
        language = self.settings.language
        length = len(item.content.content)
        if not item.content.content:
            self._reply(item.message, UNSCANNABLE.say(language))
            return []
        if _is_empty_request(item.message):
            self._reply(item.message, EMPTY_REQUEST.say(language))
            return []
        limit = self.settings.trigger_code_points
        if length > limit:
            self._reply(item.message, say_too_large(length=length, limit=limit, language=language))
            return []
        task = TaskStore(self.database).create_task(
            trigger_row=row,
            requester_id=item.message.user_id,
            group_id=item.message.group_id,
            policy_version=self.settings.policy_version,
            context_version=self.settings.context_version,
        )
        if task is None:
            self._say_busy(item.message)
            return []
        return [TaskRequested(task=task.id)]

    def _say_busy(self, message: IncomingGroupMessage) -> None:
        """At most one busy answer for a member in ten seconds (O6)."""
        active = TaskStore(self.database).active_task()
        if active is None:
            return
        trigger = (
            MessageStore(self.database).find_message(active.trigger_row)
            if active.trigger_row is not None
            else None
        )
        requester = trigger.display_name.content if trigger else ""
        text = say_busy(
            task=active.id,
            requester=requester or str(active.requester_id),
            elapsed_ms=now_ms() - active.created_at_ms,
            state=active.state,
            language=self.settings.language,
        )
        key = f"busy:{message.user_id}:{now_ms() // _BUSY_EVERY_MS}"
        self._reply(message, text, kind=OutboxKind.busy, key=key)

    def _reply(
        self,
        message: IncomingGroupMessage,
        text: str,
        *,
        kind: OutboxKind = OutboxKind.command,
        key: str | None = None,
    ) -> None:
        OutboxStore(self.database).enqueue(
            key=key or f"reply:{message.message_id}:{message.real_seq}",
            kind=kind,
            content=protect(text, Channel.outbox),
            reply_to=message.message_id,
            at_user=message.user_id,
        )

    def _announce_missed(self) -> None:
        if not self._missed:
            return
        text = say_missed(self._missed, self.settings.language)
        self._missed = 0
        OutboxStore(self.database).enqueue(
            key=f"missed:{now_ms() // 60_000}",
            kind=OutboxKind.notice,
            content=protect(text, Channel.outbox),
        )

    def _store_quarantined(self, item: "_Quarantined") -> None:
        """A row without content for what broke the service three times, and one announcement."""
        key = item.key
        message = IncomingGroupMessage(
            group_id=self.settings.group_id,
            message_id=key.message_id,
            real_seq=key.real_seq if key.real_seq != _NO_SEQ else None,
            user_id=UserId(0),
            self_id=self.settings.self_id,
            sent_at_ms=now_ms(),
            display_name="",
            segments=(),
        )
        row = MessageStore(self.database).insert_message(
            message,
            kind="quarantined",
            display_name=not_scanned(),
            content=not_scanned(),
            attachments=(),
        )
        if row is None:
            return
        self._audit("intake.quarantined", {"message_id": key.message_id})
        OutboxStore(self.database).enqueue(
            key=f"quarantine:{key.message_id}:{key.real_seq}",
            kind=OutboxKind.notice,
            content=protect(say_quarantined(1, self.settings.language), Channel.outbox),
        )

    def _audit(self, kind: str, facts: dict[str, str | int]) -> None:
        AuditStore(self.database).add_event(
            kind, actor="intake", detail=protect(dict(facts), Channel.audit)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recall:
    message_id: MessageId
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Quarantined:
    key: MessageKey
    frame: InboundFrame = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unreadable:
    key: MessageKey | None
    fault: str


_Item = Prepared | _Recall | _Quarantined | _Unreadable | SelfMessageSeen | GroupNotice


def _key_of(frame: InboundFrame) -> MessageKey | None:
    """The ids by which a frame's message is marked; None for what is no message."""
    raw = frame.frame
    if raw.get("post_type") not in {"message", "message_sent"}:
        return None
    try:
        return MessageKey(
            group_id=GroupId(int(raw["group_id"])),
            message_id=MessageId(int(raw["message_id"])),
            real_seq=int(raw.get("real_seq", _NO_SEQ)),
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def _key_of_message(message: IncomingGroupMessage) -> MessageKey:
    return MessageKey(
        group_id=message.group_id,
        message_id=message.message_id,
        real_seq=_NO_SEQ if message.real_seq is None else message.real_seq,
    )


def _command_of(message: IncomingGroupMessage) -> Parsed | Malformed | Unknown | None:
    """The command that a listed member gave, if the message is one or nearly one."""
    line = message.command_line
    read: ParsedLine | None = parse_line(line) if line is not None else near_miss(message)
    return None if isinstance(read, NotACommand) else read


def _is_empty_request(message: IncomingGroupMessage) -> bool:
    """Only our mention and nothing else: nothing to do, unless something is quoted."""
    if message.quoted_id is not None:
        return False
    return not "".join(
        segment.text
        for segment in message.segments
        if not (segment.kind is SegmentKind.at and segment.target == message.self_id)
    ).strip()


def _attachments_of(message: IncomingGroupMessage) -> tuple[StoredAttachment, ...]:
    return tuple(
        StoredAttachment(
            kind=segment.kind.value,
            name=protect(segment.name, Channel.message),
            size_bytes=segment.size_bytes,
            handle=segment.handle,
        )
        for segment in message.segments
        if segment.kind in _ATTACHMENTS
    )
