"""Intake: what becomes of each frame of our group, decided and stored in one transaction.

Called by the protection actor with what the connection's reader queued; returns what to tell the
other actors once everything is committed.
"""

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from actors.messages import (
    CommandGiven,
    GroupNotice,
    React,
    SelfMessageSeen,
    TaskRequested,
    TriggerRecalled,
)
from actors.protection.items import (
    Item,
    Prepared,
    Quarantined,
    Recall,
    Unreadable,
    key_of,
    key_of_message,
)
from actors.protection.judging import is_fresh
from actors.protection.preparing import NameScanner, Preparer
from actors.protection.restored import leave_undone
from perlica.clients.napcat import InboundFrame
from perlica.commands.answers import answer_malformed, answer_unknown
from perlica.commands.grammar import FREE_TEXT_ARGUMENTS, Malformed, Parsed, Unknown
from perlica.domain.clock import now_ms
from perlica.domain.errors import Misconfigured, StoreUnavailable
from perlica.domain.ids import GroupId, MessageId, RowId, UserId
from perlica.domain.message import IncomingGroupMessage
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
from perlica.protection import Channel, not_scanned, protect
from perlica.stores.answers import AnswerStore
from perlica.stores.audit import AuditStore
from perlica.stores.commands import CommandStore
from perlica.stores.database import Database
from perlica.stores.messages import MessageKey, MessageStore
from perlica.stores.outbox import OutboxStore
from perlica.stores.service import ServiceStore
from perlica.stores.tasks import TaskStore

_log = logging.getLogger(__name__)

_MISSED_KEY = "intake_missed_mentions"
_NO_DATABASE = (StoreUnavailable, Misconfigured)
Told = TaskRequested | CommandGiven | React | SelfMessageSeen | TriggerRecalled | GroupNotice


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
    busy_every_ms: int
    receipt_emoji_id: int
    """The emoticon by which a member sees that his task was taken; 0 for none."""
    policy_version: str
    context_version: str


@dataclass(slots=True)
class Intake:
    """Owns nothing but two connections: the ordinary one and the relaxed one for marks."""

    database: Database
    marks: Database
    settings: IntakeSettings
    _names: NameScanner = field(default_factory=NameScanner)

    def preparer(self) -> Preparer:
        """What reads frames with these settings, knowing which messages were in hand at a crash."""
        settings = self.settings
        crashed = MessageStore(self.marks).list_crashed()
        return Preparer(
            marks=self.marks,
            crashes={message.key: message.crashes for message in crashed},
            names=self._names,
            self_id=settings.self_id,
            owners=settings.owners,
            members=settings.members,
        )

    def note_crashes(self) -> None:
        """At the start: what was in hand when the process died gets one crash more."""
        with self.marks.transaction():
            MessageStore(self.marks).note_crashes()

    def take(self, frames: Sequence[InboundFrame]) -> list[Told]:
        """Store the frames' messages; commands first, everything else in arrival order.

        What was in hand at a crash before is taken alone, so that a message which brings the
        process down takes no other with it into quarantine.
        """
        preparer = self.preparer()
        suspects = [frame for frame in frames if preparer.was_in_hand(frame)]
        others = [frame for frame in frames if frame not in suspects] if suspects else frames
        told = self._take_together(others, preparer)
        for suspect in suspects:
            told += self._take_together([suspect], preparer)
        return told

    def _take_together(self, frames: Sequence[InboundFrame], preparer: Preparer) -> list[Told]:
        keys = tuple(key for frame in frames if (key := key_of(frame)) is not None)
        with self.marks.transaction():
            MessageStore(self.marks).mark_in_hand(keys)
        prepared = [item for frame in frames if (item := preparer.prepare(frame)) is not None]
        prepared.sort(key=lambda item: not (isinstance(item, Prepared) and item.command))
        try:
            told = self._store_together(prepared)
        except _NO_DATABASE:
            # No message's fault: it must not count towards the quarantine of any.
            with suppress(*_NO_DATABASE):
                self._clear_marks(keys)
            raise
        self._clear_marks(keys)
        return told

    def _clear_marks(self, keys: Sequence[MessageKey]) -> None:
        with self.marks.transaction():
            MessageStore(self.marks).clear_in_hand(keys)

    # --- the transaction --------------------------------------------------------------------

    def _store_together(self, prepared: Sequence[Item]) -> list[Told]:
        """All in one transaction; if that fails, each alone, so that one costs only itself.

        Raises: StoreUnavailable, Misconfigured when the database takes nothing: the process ends,
        and what was in hand is read back from the group's history.
        """
        try:
            with self.database.transaction():
                return [bell for item in prepared for bell in self._store(item)]
        except _NO_DATABASE:
            raise
        except Exception as error:  # noqa: BLE001 - the boundary of one message
            _log.warning("intake batch failed", extra={"fault": type(error).__name__})
        told = []
        for item in prepared:
            told += self._store_alone(item)
        return told

    def _store_alone(self, item: Item) -> list[Told]:
        try:
            with self.database.transaction():
                return self._store(item)
        except _NO_DATABASE:
            raise
        except Exception as error:  # noqa: BLE001 - the boundary of one message
            fault = type(error).__name__
            key = None
            if isinstance(item, Prepared):
                key = key_of_message(item.message)
        with self.database.transaction():
            return self._store(Unreadable(key=key, fault=fault))

    def _store(self, item: Item) -> list[Told]:
        match item:
            case Prepared():
                return self._store_message(item)
            case Recall():
                AnswerStore(self.database).mark_recalled(
                    item.message_id, item.at_ms, author=item.author
                )
                rows = MessageStore(self.database).mark_recalled(
                    item.message_id, item.at_ms, author=item.author
                )
                return [TriggerRecalled(message_row=row) for row in rows]
            case Quarantined():
                self._store_quarantined(item)
                return []
            case Unreadable():
                self._audit(
                    "intake.unreadable",
                    {"fault": item.fault, "message_id": item.key.message_id if item.key else 0},
                )
                return []
            case SelfMessageSeen() | GroupNotice():
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
        if MessageStore(self.database).has_twin(row):
            self._note_twin(item.message)
        if leave_undone(self.database, item):
            return []
        if not is_fresh(item.message, self.settings.fresh_within_ms):
            return self._count_missed(item)
        return self._begin(row, item)

    def _begin(self, row: RowId, item: Prepared) -> list[Told]:
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

    def _note_twin(self, message: IncomingGroupMessage) -> None:
        """QQ gave one id to two messages: both are kept, and it is counted (the event's kind)."""
        _log.warning("two messages with one id", extra={"message_id": message.message_id})
        facts: dict[str, str | int] = {"message_id": message.message_id}
        if message.real_seq is not None:
            facts["real_seq"] = message.real_seq
        self._audit("intake.id_collision", facts)

    def _store_command(self, row: RowId, user: UserId, parsed: Parsed) -> CommandGiven:
        arguments = {
            name: protect(value, Channel.MESSAGE) if name in FREE_TEXT_ARGUMENTS else value
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
        if item.message.asks_for_nothing:
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
        return [TaskRequested(task=task.id), *self._receipt(item.message)]

    def _receipt(self, message: IncomingGroupMessage) -> list[Told]:
        emoji_id = self.settings.receipt_emoji_id
        return [React(message_id=message.message_id, emoji_id=emoji_id)] if emoji_id else []

    def _say_busy(self, message: IncomingGroupMessage) -> None:
        """At most one busy answer for a member in the configured time."""
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
        key = f"busy:{message.user_id}:{now_ms() // self.settings.busy_every_ms}"
        self._reply(message, text, kind=OutboxKind.busy, key=key)

    def _reply(
        self,
        message: IncomingGroupMessage,
        text: str,
        *,
        kind: OutboxKind = OutboxKind.command,
        key: str | None = None,
    ) -> None:
        self._enqueue(
            text,
            key=key or f"reply:{message.message_id}:{message.real_seq}",
            kind=kind,
            reply_to=message.message_id,
            at_user=message.user_id,
        )

    def _enqueue(
        self,
        text: str,
        *,
        key: str,
        kind: OutboxKind,
        reply_to: MessageId | None = None,
        at_user: UserId | None = None,
    ) -> None:
        """Queue a text of ours; while nothing at all can be scanned, nothing is said either."""
        content = protect(text, Channel.OUTBOX)
        if not content.is_usable:
            _log.error("a reply could not be scanned", extra={"kind": kind.value})
            return
        OutboxStore(self.database).enqueue(
            key=key, kind=kind, content=content, reply_to=reply_to, at_user=at_user
        )

    def _count_missed(self, item: Prepared) -> list[Told]:
        if item.kind == "trigger":
            service = ServiceStore(self.database)
            service.set(_MISSED_KEY, str(int(service.find(_MISSED_KEY) or 0) + 1))
        return []

    def announce_missed(self) -> bool:
        """Once all that waits is taken in: one line for the mentions that came too late; whether.

        The count stands in the database, so that neither a crash nor a second batch changes it.
        """
        service = ServiceStore(self.database)
        missed = int(service.find(_MISSED_KEY) or 0)
        if not missed:
            return False
        text = say_missed(missed, self.settings.language)
        with self.database.transaction():
            service.set(_MISSED_KEY, "0")
            self._enqueue(text, key=f"missed:{now_ms()}", kind=OutboxKind.notice)
        return True

    def _store_quarantined(self, item: Quarantined) -> None:
        """A row without content for what broke the service three times, and one announcement."""
        key = item.key
        message = IncomingGroupMessage(
            group_id=self.settings.group_id,
            message_id=key.message_id,
            real_seq=key.real_seq,
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
        self._enqueue(
            say_quarantined(1, self.settings.language),
            key=f"quarantine:{key.message_id}:{key.real_seq}",
            kind=OutboxKind.notice,
        )

    def _audit(self, kind: str, facts: dict[str, str | int]) -> None:
        detail = protect(dict(facts), Channel.AUDIT)
        if not detail.is_usable:
            _log.error("an audit event could not be scanned", extra={"kind": kind})
            return
        AuditStore(self.database).add_event(kind, actor="intake", detail=detail)
