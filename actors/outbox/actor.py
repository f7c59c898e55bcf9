"""Outbox: sends what stands in `outbox_messages`, one at a time, and never twice without looking.

Everybody enqueues rows in his own transaction and rings; the connection answers each Send. A send
whose end is unknown is looked into (`actors.outbox.reconciliation`) before anything else goes out.
Tasks are never touched.
"""

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final, assert_never

from actors.base import Alarm, PerlicaActor, tell_safely
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
from actors.outbox.last_check import LastCheck
from actors.outbox.own_messages import OwnMessages
from actors.outbox.reconciliation import Finding, Resolved, SendReconciliation
from actors.outbox.rows import OutboxRows
from actors.outbox.settings import OutboxPorts, OutboxSettings
from perlica.clients.napcat import Holds, Pace
from perlica.clients.onebot import (
    SendOutcome,
    build_send,
    classify_send_failure,
    hash_text,
    new_echo,
    sent_id,
)
from perlica.domain.clock import monotonic_s, now_ms
from perlica.domain.ids import GroupId, MessageId, UserId
from perlica.domain.outbox import OutboxState
from perlica.protection import Protected
from perlica.stores.database import Database
from perlica.stores.outbox import OutboxRow

__all__ = ["Outbox", "OutboxPorts", "OutboxSettings"]

_ANSWER_GRACE_S: Final = 5.0
"""The connection answers every Send by its deadline; later than that nobody will."""
_WITHOUT_NOTICE: Final = frozenset({"coalesced", "ticket_over"})
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
        self._self_id = self_id
        self._own = OwnMessages(missing_after_s=settings.own_message_missing_after_s)
        self._pace = Pace(settings.pace_s, settings.per_minute)
        self._holds = Holds()
        self._is_connected = False
        self._flight: _Flight | None = None
        self._relook_due_s = 0.0
        self._began_ms = now_ms()
        self._timer: threading.Timer | None = None
        self._database: Database | None = None

    def begin(self) -> None:
        """Open the database; what was being sent at a crash is unknown now."""
        self._database = Database.open(self._database_path)
        self._rows = OutboxRows(self._database, self._settings, self._ports)
        self._check = LastCheck(self._database, busy_every_s=self._settings.busy_every_s)
        self._reconciliation = SendReconciliation(
            self._settings.reconciliation,
            group_id=self._group_id,
            self_id=self._self_id,
            clock_lag_ms=self._rows.clock_lag_ms,
        )
        self._rows.recover()
        self._reconciliation.add(self._recent_unknown())

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
                is_claimed = self._rows.is_claimed
                self._settle(self._reconciliation.read(message.key, message.response, is_claimed))
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
        self._is_connected = changed.ready
        if changed.ready:
            self._holds.lift(_OFFLINE, _REMOVED)
            self._reconciliation.add(self._recent_unknown())
        else:
            self._reconciliation.pause()

    def _heed(self, notice: GroupNotice) -> None:
        settings = self._settings
        match notice.kind:
            case "muted":
                bound_s = settings.muted_for_s
                if notice.until_ms is not None:
                    bound_s = min(bound_s, (notice.until_ms - now_ms()) / 1000)
                self._holds.add(_MUTED, monotonic_s() + bound_s)
            case "unmuted":
                self._holds.lift(_MUTED)
            case "removed":
                self._holds.add(_REMOVED, monotonic_s() + settings.removed_for_s)
            case _:
                raise ValueError(f"unknown notice {notice.kind}")

    def _look_at_the_clock(self) -> None:
        at_s = monotonic_s()
        if self._flight is not None and self._flight.due_s <= at_s:
            self._doubt(self._flight.row, "no_word_from_connection")
        if self._own.has_gone_missing(at_s):
            self._ports.alert("own_messages_missing", {})
        for message_id in self._own.take_outsiders(at_s, now_ms()):
            if self._rows.store.find_by_sent_id(message_id) is None:
                self._rows.audit("outbox.sent_outside", {"message_id": message_id})
        if self._relook_due_s <= at_s:
            self._relook_due_s = at_s + self._settings.relook_every_s
            self._reconciliation.add(self._recent_unknown(), look_at_once=True)

    def _recent_unknown(self) -> list[OutboxRow]:
        """Rows worth another look; those that stayed unknown for too long are given up.

        None is given up before it was looked up several times: the connection may have been away.
        """
        oldest_ms = now_ms() - round(self._settings.relook_for_s * 1000)
        rows = self._rows.store.list_unknown()
        lost = [
            r for r in rows if r.updated_at_ms <= oldest_ms and self._reconciliation.is_vain(r.id)
        ]
        for row in lost:
            self._reconciliation.remove(row.id)
            self._rows.give_up(row, "unknown_for_too_long")
        return [row for row in rows if row not in lost]

    # -- sending ---------------------------------------------------------------------------

    def _advance(self) -> None:
        """Do what can be done now, and see to it that time wakes us for the rest."""
        while self._flight is None and self._is_connected:
            if self._reconciliation.is_open:
                if not self._reconcile():
                    return
                continue
            at_s = monotonic_s()
            if self._holds.active(at_s):
                return
            wait_s = self._pace.wait_s(at_s)
            if wait_s > 0:
                self._wake_in(wait_s)
                return
            row = self._rows.store.next_due(now_ms())
            if row is None:
                return
            self._try(row)

    def _try(self, row: OutboxRow) -> None:
        text = self._check.examine(row, monotonic_s(), now_ms())
        if isinstance(text, Protected):
            self._send(row, text)
        elif text.reason in _WITHOUT_NOTICE:
            self._rows.refuse(row, text.reason)
        else:
            self._rows.withhold(row, text.reason, text.instead)

    def _send(self, row: OutboxRow, text: Protected) -> None:
        settings = self._settings
        echo = new_echo()
        row = self._rows.begin_attempt(row, echo=echo, text_sha256=hash_text(text.content))
        at_s = monotonic_s()
        self._pace.note(at_s)
        self._check.note_sent(row, at_s)
        self._flight = _Flight(row=row, due_s=at_s + settings.answer_within_s + _ANSWER_GRACE_S)
        frame = build_send(
            self._group_id,
            text,
            reply_to=row.reply_to_message_id,
            at_user=self._rows.mention_in(row),
            echo=echo,
            timeout_ms=round(settings.napcat_within_s * 1000),
        )
        send = Send(
            outbox=row.id, attempt=row.attempt, frame=frame, within_s=settings.answer_within_s
        )
        if not self._ports.tell_connection(send):
            self._land()
            self._rows.put_off(row, "no_connection")

    def _take_answer(self, answered: SendAnswered) -> None:
        flight = self._flight
        if flight is None or not _is_same(flight.row, answered):
            self._take_late_answer(answered)
            return
        row, response = flight.row, answered.response
        if response is not None:
            self._take_outcome(row, classify_send_failure(response), sent_id(response))
        elif answered.wrote:
            self._doubt(row, answered.fault or "no_response")
        else:
            self._land()
            self._rows.put_off(row, answered.fault)

    def _take_late_answer(self, answered: SendAnswered) -> None:
        """Our own deadline was first: the row is in doubt, and a clear answer ends the doubt."""
        row, response = self._rows.store.find(answered.outbox), answered.response
        if row is None or response is None or not _is_same(row, answered):
            return
        is_sent = classify_send_failure(response) is SendOutcome.sent
        if is_sent and row.state is OutboxState.unknown:
            self._mark_sent(row, sent_id(response))

    def _take_outcome(
        self, row: OutboxRow, outcome: SendOutcome, message_id: MessageId | None
    ) -> None:
        if outcome is SendOutcome.unknown:
            self._doubt(row, outcome)
            return
        self._land()
        settings = self._settings
        match outcome:
            case SendOutcome.sent:
                self._mark_sent(row, message_id)
            case SendOutcome.refused_muted:
                self._hold_for(row, _MUTED, settings.muted_for_s)
            case SendOutcome.refused_removed:
                self._hold_for(row, _REMOVED, settings.removed_for_s)
            case SendOutcome.offline:
                self._hold_for(row, _OFFLINE, settings.offline_for_s)
            case SendOutcome.unknown_mention:
                self._rows.drop_mention(row)
                self._rows.put_off(row, outcome)
            case SendOutcome.not_sent_retry:
                self._rows.put_off(row, outcome)
            case SendOutcome.refused_content:
                self._rows.refuse(row, outcome)
            case _:
                assert_never(outcome)

    def _hold_for(self, row: OutboxRow, reason: str, for_s: float) -> None:
        self._holds.add(reason, monotonic_s() + for_s)
        self._rows.put_off(row, reason, is_paused=True)

    def _mark_sent(self, row: OutboxRow, message_id: MessageId | None) -> None:
        if self._flight is not None and self._flight.row.id == row.id:
            self._land()
        self._reconciliation.remove(row.id)
        self._rows.mark_sent(row, message_id)
        self._own.note_sent(message_id, monotonic_s())

    def _land(self) -> None:
        self._flight = None

    # -- unknown ends ----------------------------------------------------------------------

    def _doubt(self, row: OutboxRow, reason: str) -> None:
        self._land()
        self._reconciliation.add([self._rows.mark_unknown(row, reason)])

    def _reconcile(self) -> bool:
        """Go on with the doubt in hand; False when only time or an answer can."""
        at_s = monotonic_s()
        step = self._reconciliation.advance(at_s)
        if isinstance(step, Resolved):
            self._settle(step)
            return True
        if isinstance(step, Look):
            self._ports.tell_connection(step)
        due_in_s = self._reconciliation.due_in_s(at_s)
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
                self._rows.alert_unknown(row)
            case Finding.absent if row.possible_duplicate:
                self._rows.give_up(row, "unknown_twice")
            case Finding.absent:
                self._rows.requeue(row)
            case _:
                assert_never(resolved.finding)

    def _recognise(self, seen: SelfMessageSeen) -> None:
        sent = self._rows.store.find_by_sent_id(seen.message_id)
        if sent is not None and sent.text_sha256 == seen.text_sha256:
            self._note_report(sent)
            return
        row = self._reconciliation.recognise(seen.text_sha256, seen.sent_at_ms) or self._in_flight(
            seen
        )
        if row is None:
            self._own.keep_unmatched(seen, monotonic_s())
        else:
            self._note_report(row)
            self._mark_sent(row, seen.message_id)

    def _note_report(self, row: OutboxRow) -> None:
        """NapCat reports our messages; those of an earlier run come out of the history anyhow."""
        if (row.attempted_at_ms or 0) >= self._began_ms:
            self._own.note_seen()

    def _in_flight(self, seen: SelfMessageSeen) -> OutboxRow | None:
        row = None if self._flight is None else self._flight.row
        if row is None or row.text_sha256 != seen.text_sha256:
            return None
        return row if seen.sent_at_ms >= self._reconciliation.since_ms(row) else None

    # -- small things ----------------------------------------------------------------------

    def _wake_in(self, wait_s: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(wait_s, tell_safely, (self.actor_ref, OutboxRung()))
        self._timer.daemon = True
        self._timer.start()


def _is_same(row: OutboxRow, answered: SendAnswered) -> bool:
    return (row.id, row.attempt) == (answered.outbox, answered.attempt)
