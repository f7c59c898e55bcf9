"""What becomes of a row of the outbox: each fate one transaction, and whoever must hear of it.

A part of the outbox actor, in its thread; the actor decides, this writes.
"""

from collections.abc import Mapping

from actors.outbox.settings import OutboxPorts, OutboxSettings
from perlica.clients.napcat import bound_after
from perlica.domain.clock import now_ms
from perlica.domain.ids import MessageId, OutboxId, UserId
from perlica.domain.outbox import OutboxKind
from perlica.protection import Channel, Protected, protect
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.messages import MessageStore
from perlica.stores.outbox import OutboxRow, OutboxStore

WITHHELD = "/withheld"
NOT_TRIED = frozenset({"not_ready", "not_connected", "no_connection"})
"""Faults that use no attempt up: there was no connection to try it on."""
_NOTHING_LOST = frozenset({"ticket_over", "scan_found"})


class OutboxRows:
    """Keeps beside the table only what a restart may forget: failures counted since it."""

    def __init__(self, database: Database, settings: OutboxSettings, ports: OutboxPorts) -> None:
        """Write on this connection."""
        self._database = database
        self._settings = settings
        self._ports = ports
        self._audit = AuditStore(database)
        self._messages = MessageStore(database)
        self._failures: dict[OutboxId, int] = {}
        self._unmentionable: set[OutboxId] = set()
        self._alerted: set[OutboxId] = set()
        self.store = OutboxStore(database)

    def recover(self) -> None:
        """What was being sent at a crash is unknown now."""
        with self._database.transaction():
            self.store.recover_sending()

    def begin_attempt(self, row: OutboxRow, *, echo: str, text_sha256: str) -> OutboxRow:
        """Committed before the socket is written."""
        with self._database.transaction():
            return self.store.begin_attempt(row.id, echo, text_sha256, now_ms())

    def mention_in(self, row: OutboxRow) -> UserId | None:
        """Whom to mention; nobody once NapCat said that it does not know him."""
        return None if row.id in self._unmentionable else row.at_user_id

    def drop_mention(self, row: OutboxRow) -> None:
        """The member has left: the next attempt goes without him."""
        self._unmentionable.add(row.id)

    def mark_sent(self, row: OutboxRow, message_id: MessageId | None) -> None:
        """It is in the group."""
        with self._database.transaction():
            self.store.mark_sent(row.id, message_id)
        self._forget(row)

    def mark_unknown(self, row: OutboxRow, reason: str) -> OutboxRow:
        """It may be in the group."""
        with self._database.transaction():
            return self.store.mark_unknown(row.id, reason)

    def requeue(self, row: OutboxRow) -> None:
        """One more attempt at a message that the history does not hold."""
        with self._database.transaction():
            self.store.requeue_as_possible_duplicate(row.id)

    def put_off(self, row: OutboxRow, reason: str, *, is_paused: bool = False) -> None:
        """It was surely not sent: again later, unless that was its last attempt.

        `is_paused`: a hold says when; neither that nor a lack of connection uses an attempt up.
        """
        settings = self._settings
        is_failure = not is_paused and reason not in NOT_TRIED
        failures = self._failures.get(row.id, 0) + int(is_failure)
        if failures >= settings.max_attempts:
            self.give_up(row, reason)
            return
        self._failures[row.id] = failures
        bound_s = bound_after(
            max(0, failures - 1), settings.backoff_first_s, settings.backoff_cap_s
        )
        wait_ms = 0 if is_paused else round(bound_s * 1000)
        with self._database.transaction():
            self.store.retry_later(row.id, now_ms() + wait_ms, reason)

    def refuse(self, row: OutboxRow, reason: str) -> None:
        """It is not sent and will not be."""
        with self._database.transaction():
            self.store.mark_refused(row.id, reason)
        self._tell_undeliverable(row, reason)
        self._forget(row)

    def give_up(self, row: OutboxRow, reason: str) -> None:
        """Nobody will try it again."""
        with self._database.transaction():
            self.store.mark_dead(row.id, reason)
        self._ports.alert("delivery_failed", {"outbox": row.id})
        self._tell_undeliverable(row, reason)
        self._forget(row)

    def withhold(self, row: OutboxRow, reason: str, instead: Protected | None) -> None:
        """Content protection objects: the redacted text goes out, or a notice that one did not."""
        self.refuse(row, reason)
        self._ports.alert("withheld", {"outbox": row.id})
        kind = row.kind if instead is not None else OutboxKind.notice
        text = instead or protect(self._settings.withheld_text, Channel.OUTBOX)
        if row.message_key.endswith(WITHHELD) or not text.is_usable:
            return
        with self._database.transaction():
            self.store.enqueue(
                key=f"{row.message_key}#{row.part}{WITHHELD}",
                kind=kind,
                content=text,
                reply_to=row.reply_to_message_id,
                at_user=row.at_user_id,
                task_id=row.task_id,
                ticket_id=row.ticket_id,
            )

    def alert_unknown(self, row: OutboxRow) -> None:
        """It stays unknown because the history cannot be read; said once for each row."""
        if row.id not in self._alerted:
            self._alerted.add(row.id)
            self._ports.alert("delivery_unknown", {"outbox": row.id})

    def clock_lag_ms(self) -> int:
        """How far the clock that dates the group's messages seems to be behind ours."""
        return self._messages.clock_lag_ms()

    def audit(self, kind: str, ids: Mapping[str, int]) -> None:
        """Record something about our account that belongs to no row."""
        with self._database.transaction():
            detail = protect(dict(ids), Channel.AUDIT)
            self._audit.add_event(kind, actor="outbox", detail=detail)

    def is_claimed(self, message_id: MessageId, by_other_than: OutboxId) -> bool:
        """Whether a message in the group is known to be another row's."""
        row = self.store.find_by_sent_id(message_id)
        return row is not None and row.id != by_other_than

    def _tell_undeliverable(self, row: OutboxRow, reason: str) -> None:
        if row.kind is OutboxKind.approval and reason not in _NOTHING_LOST:
            self._ports.undeliverable(row.task_id, row.ticket_id, reason)

    def _forget(self, row: OutboxRow) -> None:
        self._failures.pop(row.id, None)
        self._unmentionable.discard(row.id)
        self._alerted.discard(row.id)
