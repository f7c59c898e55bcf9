"""Outbox: sends what stands in `outbox_messages`, one at a time, and never twice without looking.

Everybody enqueues rows in his own transaction and rings; the connection answers each Send. A send
whose end is unknown is looked into (`actors.doubt`) before anything else goes out. Tasks are never
touched.
"""

import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, assert_never

from actors.base import Alarm, PerlicaActor, tell_safely
from actors.doubt import Doubts, Finding, Resolved
from actors.last_check import LastCheck, Rejected
from actors.messages import (
    ConnectionChanged,
    GroupNotice,
    Look,
    OutboxRung,
    Seen,
    SelfMessageSeen,
    Send,
    SendAnswered,
    Tick,
)
from actors.outbox_settings import OutboxPorts, OutboxSettings
from actors.own_messages import OwnMessages
from perlica.clients.napcat import Holds, Pace, bound_after
from perlica.clients.onebot import (
    SendOutcome,
    build_send,
    classify_send_failure,
    hash_text,
    new_echo,
    sent_id,
)
from perlica.domain.clock import monotonic_s, now_ms
from perlica.domain.ids import GroupId, MessageId, OutboxId, UserId
from perlica.domain.outbox import OutboxKind, OutboxState
from perlica.protection import Channel, Protected, protect
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.outbox import OutboxRow, OutboxStore

__all__ = ["Outbox", "OutboxPorts", "OutboxSettings"]

_ANSWER_GRACE_S: Final = 5.0
"""The connection answers every Send by its deadline; later than that nobody will."""
_WITHHELD: Final = "/withheld"
_NOT_TRIED: Final = frozenset({"not_ready", "not_connected", "no_connection"})
_MUTED, _REMOVED, _OFFLINE = "muted", "removed", "offline"


@dataclass(slots=True, kw_only=True)
class _Flight:
    row: OutboxRow
    due_s: float


class Outbox(PerlicaActor):
    """One send in flight; the row of an attempt is committed before the socket is written."""

    def __init__(
        self,
        *,
        settings: OutboxSettings,
        database_path: Path,
        group_id: GroupId,
        self_id: UserId,
        ports: OutboxPorts,
        alarm: Alarm,
    ) -> None:
        """Prepare; the database opens with the actor. Nothing is sent before ConnectionChanged."""
        super().__init__(name="outbox", alarm=alarm)
        self._settings = settings
        self._database_path = database_path
        self._group_id = group_id
        self._ports = ports
        self._doubts = Doubts(settings.doubt, group_id=group_id, self_id=self_id)
        self._own = OwnMessages(missing_after_s=settings.own_message_missing_after_s)
        self._pace = Pace(settings.pace_s, settings.per_minute)
        self._holds = Holds()
        self._is_ready = False
        self._flight: _Flight | None = None
        self._failures: dict[OutboxId, int] = {}
        self._unmentionable: set[OutboxId] = set()
        self._alerted: set[OutboxId] = set()
        self._relook_due_s = 0.0
        self._timer: threading.Timer | None = None
        self._database: Database | None = None

    def begin(self) -> None:
        """Open the database; what was being sent at a crash is unknown now."""
        self._database = database = Database.open(self._database_path)
        self._store = OutboxStore(database)
        self._audit = AuditStore(database)
        self._check = LastCheck(database, busy_every_s=self._settings.busy_every_s)
        with database.transaction():
            self._store.recover_sending()
        self._doubts.add(self._store.list_unknown())

    def end(self) -> None:
        """Close the database; a send in flight is looked up at the next start."""
        if self._timer is not None:
            self._timer.cancel()
        if self._database is not None:
            self._database.close()
            self._database = None

    def handle(self, message: object) -> object:
        """Take one message in, then do what is due."""
        match message:
            case OutboxRung():
                pass
            case Tick():
                self._look_at_the_clock()
            case SendAnswered():
                self._take_answer(message)
            case Seen():
                self._settle(self._doubts.read(message.key, message.response, self._is_claimed))
            case SelfMessageSeen():
                self._recognise(message)
            case GroupNotice():
                self._heed(message)
            case ConnectionChanged():
                self._change_connection(message)
            case _:
                raise TypeError(type(message).__name__)
        self._advance()
        return None

    # -- whether we may send ---------------------------------------------------------------

    def _change_connection(self, changed: ConnectionChanged) -> None:
        self._is_ready = changed.ready
        if changed.ready:
            self._holds.lift(_OFFLINE, _REMOVED)
            self._doubts.add(self._store.list_unknown())
        else:
            self._doubts.pause()

    def _heed(self, notice: GroupNotice) -> None:
        match notice.kind:
            case "muted":
                bound_s = self._settings.muted_for_s
                if notice.until_ms is not None:
                    bound_s = min(bound_s, (notice.until_ms - now_ms()) / 1000)
                self._holds.add(_MUTED, monotonic_s() + bound_s)
            case "unmuted":
                self._holds.lift(_MUTED)
            case "removed":
                self._holds.add(_REMOVED, monotonic_s() + self._settings.removed_for_s)
            case _:
                raise ValueError(f"unknown notice {notice.kind}")

    def _look_at_the_clock(self) -> None:
        at_s = monotonic_s()
        if self._flight is not None and self._flight.due_s <= at_s:
            self._doubt(self._flight.row, "no_word_from_connection")
        if self._own.has_gone_missing(at_s):
            self._ports.alert("own_messages_missing", {})
        for message_id in self._own.take_outsiders(at_s, now_ms()):
            if self._store.find_by_sent_id(message_id) is None:
                self._audit_event("outbox.sent_outside", {"message_id": message_id})
        if self._relook_due_s <= at_s:
            self._relook_due_s = at_s + self._settings.relook_every_s
            oldest_ms = now_ms() - round(self._settings.relook_for_s * 1000)
            rows = (r for r in self._store.list_unknown() if (r.attempted_at_ms or 0) > oldest_ms)
            self._doubts.add(rows, look_at_once=True)

    # -- sending ---------------------------------------------------------------------------

    def _advance(self) -> None:
        """Do the next thing that can be done now, and see to it that time wakes us for the rest."""
        while self._flight is None and self._is_ready:
            if self._doubts.is_open:
                if not self._pursue_doubt():
                    return
                continue
            at_s = monotonic_s()
            if self._holds.active(at_s):
                return
            wait_s = self._pace.wait_s(at_s)
            if wait_s > 0:
                self._wake_in(wait_s)
                return
            row = self._store.next_due(now_ms())
            if row is None:
                return
            self._try(row)

    def _try(self, row: OutboxRow) -> None:
        at_s = monotonic_s()
        text = self._check.examine(row, at_s, now_ms())
        if isinstance(text, Rejected):
            self._reject(row, text)
            return
        settings = self._settings
        echo = new_echo()
        with self._transaction():
            row = self._store.begin_attempt(row.id, echo, hash_text(text.content), now_ms())
        self._pace.note(at_s)
        self._check.note_sent(row, at_s)
        self._flight = _Flight(row=row, due_s=at_s + settings.answer_within_s + _ANSWER_GRACE_S)
        frame = build_send(
            self._group_id,
            text,
            reply_to=row.reply_to_message_id,
            at_user=None if row.id in self._unmentionable else row.at_user_id,
            echo=echo,
            timeout_ms=round(settings.napcat_within_s * 1000),
        )
        send = Send(
            outbox=row.id, attempt=row.attempt, frame=frame, within_s=settings.answer_within_s
        )
        if not self._ports.tell_connection(send):
            self._put_off(row, "no_connection")

    def _reject(self, row: OutboxRow, rejected: Rejected) -> None:
        self._refuse(row, rejected.reason)
        if rejected.reason in {"coalesced", "ticket_over"}:
            return
        self._ports.alert("withheld", {"outbox": row.id})
        if row.message_key.endswith(_WITHHELD):
            return
        if rejected.instead is not None:
            self._enqueue_instead(row, row.kind, rejected.instead)
        else:
            notice = protect(self._settings.withheld_text, Channel.OUTBOX)
            self._enqueue_instead(row, OutboxKind.notice, notice)

    def _enqueue_instead(self, row: OutboxRow, kind: OutboxKind, text: Protected) -> None:
        if not text.is_usable:
            return
        with self._transaction():
            self._store.enqueue(
                key=f"{row.message_key}#{row.part}{_WITHHELD}",
                kind=kind,
                content=text,
                reply_to=row.reply_to_message_id,
                at_user=row.at_user_id,
                task_id=row.task_id,
                ticket_id=row.ticket_id,
            )

    def _take_answer(self, answered: SendAnswered) -> None:
        flight = self._flight
        if flight is None or not _is_same(flight.row, answered):
            self._take_late_answer(answered)
            return
        if answered.response is None:
            if answered.wrote:
                self._doubt(flight.row, answered.fault)
            else:
                self._put_off(flight.row, answered.fault)
            return
        outcome = classify_send_failure(answered.response)
        if outcome is SendOutcome.sent:
            self._mark_sent(flight.row, sent_id(answered.response))
        else:
            self._take_failure(flight.row, outcome)

    def _take_late_answer(self, answered: SendAnswered) -> None:
        """Our own deadline was first: the row is in doubt, and a clear answer ends the doubt."""
        row = self._store.find(answered.outbox)
        response = answered.response
        if row is None or response is None or not _is_same(row, answered):
            return
        if row.state is not OutboxState.unknown:
            return
        if classify_send_failure(response) is SendOutcome.sent:
            self._doubts.remove(row.id)
            self._mark_sent(row, sent_id(response))

    def _take_failure(self, row: OutboxRow, outcome: SendOutcome) -> None:
        at_s = monotonic_s()
        settings = self._settings
        match outcome:
            case SendOutcome.refused_muted:
                self._holds.add(_MUTED, at_s + settings.muted_for_s)
                self._put_off(row, outcome, is_paused=True)
            case SendOutcome.refused_removed:
                self._holds.add(_REMOVED, at_s + settings.removed_for_s)
                self._put_off(row, outcome, is_paused=True)
            case SendOutcome.offline:
                self._holds.add(_OFFLINE, at_s + settings.offline_for_s)
                self._put_off(row, outcome, is_paused=True)
            case SendOutcome.unknown_mention:
                self._unmentionable.add(row.id)
                self._put_off(row, outcome)
            case SendOutcome.not_sent_retry:
                self._put_off(row, outcome)
            case SendOutcome.refused_content:
                self._refuse(row, outcome)
            case SendOutcome.unknown | SendOutcome.sent:
                self._doubt(row, outcome)
            case _:
                assert_never(outcome)

    # -- what became of a row --------------------------------------------------------------

    def _mark_sent(self, row: OutboxRow, message_id: MessageId | None) -> None:
        with self._transaction():
            self._store.mark_sent(row.id, message_id)
        self._own.note_sent(message_id, monotonic_s())
        self._forget(row)

    def _put_off(self, row: OutboxRow, reason: str, *, is_paused: bool = False) -> None:
        """It was surely not sent: again later, unless that was its last attempt.

        `is_paused`: a hold says when; neither that nor a lack of connection uses an attempt up.
        """
        is_failure = not is_paused and reason not in _NOT_TRIED
        failures = self._failures.get(row.id, 0) + int(is_failure)
        settings = self._settings
        if failures >= settings.max_attempts:
            self._give_up(row, reason)
            return
        bound_s = bound_after(
            max(0, failures - 1), settings.backoff_first_s, settings.backoff_cap_s
        )
        wait_ms = 0 if is_paused else round(bound_s * 1000)
        with self._transaction():
            self._store.retry_later(row.id, now_ms() + wait_ms, reason)
        self._flight = None
        self._failures[row.id] = failures

    def _refuse(self, row: OutboxRow, reason: str) -> None:
        with self._transaction():
            self._store.mark_refused(row.id, reason)
        self._tell_undeliverable(row, reason)
        self._forget(row)

    def _give_up(self, row: OutboxRow, reason: str) -> None:
        with self._transaction():
            self._store.mark_dead(row.id, reason)
        self._ports.alert("delivery_failed", {"outbox": row.id})
        self._tell_undeliverable(row, reason)
        self._forget(row)

    def _forget(self, row: OutboxRow) -> None:
        if self._flight is not None and self._flight.row.id == row.id:
            self._flight = None
        self._failures.pop(row.id, None)
        self._unmentionable.discard(row.id)
        self._alerted.discard(row.id)

    def _tell_undeliverable(self, row: OutboxRow, reason: str) -> None:
        if row.kind is OutboxKind.approval and reason not in {"ticket_over", "scan_found"}:
            self._ports.undeliverable(row.task_id, row.ticket_id, reason)

    # -- unknown ends ----------------------------------------------------------------------

    def _doubt(self, row: OutboxRow, reason: str) -> None:
        with self._transaction():
            row = self._store.mark_unknown(row.id, reason or "unknown")
        self._flight = None
        self._doubts.add([row])

    def _pursue_doubt(self) -> bool:
        """Go on with the doubt in hand; False when only time or an answer can."""
        at_s = monotonic_s()
        step = self._doubts.advance(at_s)
        if isinstance(step, Look):
            self._ports.tell_connection(step)
        elif isinstance(step, Resolved):
            self._settle(step)
            return True
        due_in_s = self._doubts.due_in_s(at_s)
        if due_in_s is not None:
            self._wake_in(due_in_s)
        return False

    def _settle(self, resolved: Resolved | None) -> None:
        if resolved is None:
            return
        row = resolved.row
        match resolved.finding:
            case Finding.sent:
                self._mark_sent(row, resolved.message_id)
            case Finding.unreadable:
                if row.id not in self._alerted:
                    self._alerted.add(row.id)
                    self._ports.alert("delivery_unknown", {"outbox": row.id})
            case Finding.absent if row.possible_duplicate:
                self._give_up(row, "unknown_twice")
            case Finding.absent:
                with self._transaction():
                    self._store.requeue_as_possible_duplicate(row.id)

    def _is_claimed(self, message_id: MessageId, by_other_than: OutboxId) -> bool:
        row = self._store.find_by_sent_id(message_id)
        return row is not None and row.id != by_other_than

    def _recognise(self, seen: SelfMessageSeen) -> None:
        self._own.note_seen()
        sent = self._store.find_by_sent_id(seen.message_id)
        if sent is not None and sent.text_sha256 == seen.text_sha256:
            return
        row = self._doubts.recognise(seen.text_sha256, seen.sent_at_ms) or self._in_flight(seen)
        if row is None:
            self._own.keep_unmatched(seen, monotonic_s())
            return
        self._doubts.remove(row.id)
        self._mark_sent(row, seen.message_id)

    def _in_flight(self, seen: SelfMessageSeen) -> OutboxRow | None:
        row = None if self._flight is None else self._flight.row
        if row is None or row.text_sha256 != seen.text_sha256:
            return None
        return row if seen.sent_at_ms >= self._doubts.since_ms(row) else None

    # -- small things ----------------------------------------------------------------------

    def _transaction(self) -> AbstractContextManager[None]:
        if self._database is None:
            raise RuntimeError("the outbox has no database before it began")
        return self._database.transaction()

    def _audit_event(self, kind: str, ids: Mapping[str, int]) -> None:
        with self._transaction():
            detail = protect(dict(ids), Channel.AUDIT)
            self._audit.add_event(kind, actor="outbox", detail=detail)

    def _wake_in(self, wait_s: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(wait_s, tell_safely, (self.actor_ref, OutboxRung()))
        self._timer.daemon = True
        self._timer.start()


def _is_same(row: OutboxRow, answered: SendAnswered) -> bool:
    return (row.id, row.attempt) == (answered.outbox, answered.attempt)
