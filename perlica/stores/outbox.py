"""What is to be sent to the group: anybody enqueues in his own transaction, the outbox actor sends.

The states are O1 of the facts. The row of an attempt is committed before the socket is written, so
that a crash in between is an unknown send, which is looked up and never blindly repeated.
"""

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

from perlica.domain.clock import now_ms as read_clock_ms
from perlica.domain.errors import Refused, StaleState
from perlica.domain.ids import MessageId, OutboxId, TaskId, TicketId, UserId
from perlica.domain.outbox import (
    MAX_MESSAGE_CODE_POINTS,
    MAX_PARTS,
    OutboxKind,
    OutboxState,
)
from perlica.domain.texts import Language
from perlica.domain.texts.notices import say_too_many_parts
from perlica.protection import Channel, Protected, join, protect, split
from perlica.stores.database import Database, Row
from perlica.stores.sealed import columns, reason_text, require_usable, restored

_NUMBER_ROOM: Final = len("(100/100) ")


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxRow:
    """A row of `outbox_messages`: part `part` of `parts` of the message with `message_key`."""

    id: OutboxId
    message_key: str
    part: int
    parts: int
    kind: OutboxKind
    content: Protected = field(repr=False)
    reply_to_message_id: MessageId | None
    at_user_id: UserId | None
    task_id: TaskId | None
    ticket_id: TicketId | None
    state: OutboxState
    attempt: int
    echo: str | None
    text_sha256: str | None
    not_before_ms: int
    attempted_at_ms: int | None
    possible_duplicate: bool
    sent_message_id: MessageId | None
    last_error: str
    created_at_ms: int
    updated_at_ms: int


_IS_ENQUEUED: Final = "SELECT 1 FROM outbox_messages WHERE message_key = :message_key LIMIT 1"
_INSERT: Final = """
INSERT INTO outbox_messages (idempotency_key, message_key, part, parts, group_id, kind, content,
    protection_status, policy_version, finding_count, reply_to_message_id, at_user_id, task_id,
    ticket_id, state, not_before_ms, created_at_ms, updated_at_ms)
VALUES (:message_key || '#' || :part, :message_key, :part, :parts,
    (SELECT group_id FROM target_group), :kind, :content,
    :protection_status, :policy_version, :finding_count, :reply_to, :at_user, :task_id,
    :ticket_id, 'queued', :not_before_ms, :now_ms, :now_ms)
RETURNING id
"""
_NEXT_DUE: Final = """
SELECT * FROM outbox_messages AS due
WHERE state = 'queued' AND (not_before_ms <= :now_ms OR updated_at_ms > :now_ms) AND NOT EXISTS (
    SELECT 1 FROM outbox_messages AS earlier
    WHERE earlier.message_key = due.message_key AND earlier.part < due.part
        AND earlier.state IN ('queued', 'sending', 'unknown'))
ORDER BY id LIMIT 1
"""
_BEGIN_ATTEMPT: Final = """
UPDATE outbox_messages SET state = 'sending', attempt = attempt + 1, echo = :echo,
    text_sha256 = :text_sha256, attempted_at_ms = :now_ms, updated_at_ms = :now_ms
WHERE id = :id AND state = 'queued'
RETURNING *
"""
_MOVE: Final = """
UPDATE outbox_messages SET
    state = :after,
    updated_at_ms = :now_ms,
    not_before_ms = coalesce(:not_before_ms, not_before_ms),
    last_error = coalesce(:error, last_error),
    sent_message_id = coalesce(:sent_message_id, sent_message_id),
    possible_duplicate = max(possible_duplicate, :possible_duplicate)
WHERE id = :id AND state IN (SELECT value FROM json_each(:before))
RETURNING *
"""
_RECOVER_SENDING: Final = """
UPDATE outbox_messages SET state = 'unknown', last_error = 'crashed', updated_at_ms = :now_ms
WHERE state = 'sending'
RETURNING *
"""
_FIND: Final = "SELECT * FROM outbox_messages WHERE id = :id"
_LIST_UNKNOWN: Final = "SELECT * FROM outbox_messages WHERE state = 'unknown' ORDER BY id"
_FIND_BY_SENT_ID: Final = """
SELECT * FROM outbox_messages WHERE sent_message_id = :message_id ORDER BY id DESC LIMIT 1
"""
_IS_GIVEN_UP: Final = """
SELECT 1 FROM outbox_messages
WHERE message_key = 'ticket:' || :ticket_id AND state IN ('refused', 'dead') LIMIT 1
"""
_COUNTS: Final = "SELECT state, count(*) AS rows FROM outbox_messages GROUP BY state"


class OutboxStore:
    """Reads and writes `outbox_messages`."""

    def __init__(self, db: Database) -> None:
        """Work on this connection."""
        self._db = db

    def enqueue(
        self,
        *,
        key: str,
        kind: OutboxKind,
        content: Protected,
        reply_to: MessageId | None = None,
        at_user: UserId | None = None,
        task_id: TaskId | None = None,
        ticket_id: TicketId | None = None,
        not_before_ms: int = 0,
        language: Language = Language.zh,
    ) -> tuple[OutboxId, ...]:
        """Queue a message under `key`; the new rows, () when the key was enqueued before.

        A text over 1,500 code points becomes several rows that begin with `(1/3) `; only the first
        quotes and mentions. The fourth is the last and says in `language` that the text went on;
        an approval question alone is never cut.

        Raises: Refused when the text is empty or was not scanned to its end.
        """
        if self._db.query_one(_IS_ENQUEUED, {"message_key": key}) is not None:
            return ()
        shared = {
            "message_key": key,
            "kind": kind.value,
            "task_id": task_id,
            "ticket_id": ticket_id,
            "not_before_ms": not_before_ms,
            "now_ms": read_clock_ms(),
        }
        is_whole = kind is OutboxKind.approval
        parts = _parts(require_usable(content), None if is_whole else language)
        ids: list[OutboxId] = []
        for number, part in enumerate(parts, start=1):
            bindings = {
                **shared,
                "part": number,
                "parts": len(parts),
                "reply_to": reply_to if number == 1 else None,
                "at_user": at_user if number == 1 else None,
                **columns("content", part),
            }
            ids.append(OutboxId(self._db.change(_INSERT, bindings)[0]["id"]))
        return tuple(ids)

    def find(self, row: OutboxId) -> OutboxRow | None:
        """A row by its id."""
        found = self._db.query_one(_FIND, {"id": row})
        return None if found is None else _outbox(found)

    def next_due(self, now_ms: int) -> OutboxRow | None:
        """The oldest queued row whose time has come and whose earlier parts are settled."""
        row = self._db.query_one(_NEXT_DUE, {"now_ms": now_ms})
        return None if row is None else _outbox(row)

    def begin_attempt(self, row: OutboxId, echo: str, text_sha256: str, now_ms: int) -> OutboxRow:
        """Say that a send begins; commit it before the socket is written.

        Raises: StaleState when the row is not queued; Refused while another send is in flight.
        """
        bindings = {"id": row, "echo": echo, "text_sha256": text_sha256, "now_ms": now_ms}
        return _moved(self._db.change_one(_BEGIN_ATTEMPT, bindings), row)

    def mark_sent(self, row: OutboxId, message_id: MessageId | None) -> OutboxRow:
        """It is in the group, by the answer or because it was found there. Raises: StaleState."""
        before = (OutboxState.sending, OutboxState.unknown)
        return self._move(row, before, OutboxState.sent, sent_message_id=message_id)

    def mark_unknown(self, row: OutboxId, error: str) -> OutboxRow:
        """It may be in the group. Raises: StaleState."""
        return self._move(row, (OutboxState.sending,), OutboxState.unknown, error=error)

    def retry_later(self, row: OutboxId, not_before_ms: int, error: str) -> OutboxRow:
        """It was surely not sent and may be tried from then on. Raises: StaleState."""
        before = (OutboxState.sending,)
        return self._move(row, before, OutboxState.queued, not_before_ms=not_before_ms, error=error)

    def mark_refused(self, row: OutboxId, error: str) -> OutboxRow:
        """The group's side will not take it. Raises: StaleState."""
        before = (OutboxState.queued, OutboxState.sending)
        return self._move(row, before, OutboxState.refused, error=error)

    def mark_dead(self, row: OutboxId, error: str) -> OutboxRow:
        """Nobody will try it again. Raises: StaleState."""
        before = (OutboxState.queued, OutboxState.sending, OutboxState.unknown)
        return self._move(row, before, OutboxState.dead, error=error)

    def requeue_as_possible_duplicate(self, row: OutboxId) -> OutboxRow:
        """Try an unknown one once more: the history was read and did not hold it.

        Raises: StaleState.
        """
        return self._move(row, (OutboxState.unknown,), OutboxState.queued, possible_duplicate=True)

    def list_unknown(self) -> tuple[OutboxRow, ...]:
        """Rows whose fate must be looked up, oldest first."""
        return _rows(self._db.query(_LIST_UNKNOWN))

    def recover_sending(self) -> tuple[OutboxRow, ...]:
        """At the start of the service: what was being sent at the crash is unknown; these rows."""
        return _rows(self._db.change(_RECOVER_SENDING, {"now_ms": read_clock_ms()}))

    def find_by_sent_id(self, message_id: MessageId) -> OutboxRow | None:
        """Our own message by the id that the group knows it by; ids collide, so the newest."""
        row = self._db.query_one(_FIND_BY_SENT_ID, {"message_id": message_id})
        return None if row is None else _outbox(row)

    def is_given_up(self, ticket: TicketId) -> bool:
        """Whether the message that asks about a ticket will never reach the group."""
        return self._db.query_one(_IS_GIVEN_UP, {"ticket_id": ticket}) is not None

    def counts(self) -> dict[OutboxState, int]:
        """How many rows are in each state."""
        found = {OutboxState(row["state"]): int(row["rows"]) for row in self._db.query(_COUNTS)}
        return {state: found.get(state, 0) for state in OutboxState}

    def _move(
        self,
        row: OutboxId,
        before: Collection[OutboxState],
        after: OutboxState,
        *,
        error: str | None = None,
        not_before_ms: int | None = None,
        sent_message_id: MessageId | None = None,
        possible_duplicate: bool = False,
    ) -> OutboxRow:
        bindings = {
            "id": row,
            "before": json.dumps([state.value for state in before]),
            "after": after.value,
            "error": None if error is None else reason_text(error),
            "not_before_ms": not_before_ms,
            "sent_message_id": sent_message_id,
            "possible_duplicate": possible_duplicate,
            "now_ms": read_clock_ms(),
        }
        return _moved(self._db.change_one(_MOVE, bindings), row)


def _parts(content: Protected, cut_in: Language | None) -> tuple[Protected, ...]:
    """The text as messages that fit, numbered when there are several.

    More than four are cut to four, and a line in the language `cut_in` says so; None: never.
    """
    if not content.content.strip():
        raise Refused("empty_message", "an empty message is not sent")
    if len(content.content) <= MAX_MESSAGE_CODE_POINTS:
        return (content,)
    parts = split(content, MAX_MESSAGE_CODE_POINTS - _NUMBER_ROOM)
    if cut_in is not None and len(parts) > MAX_PARTS:
        parts = _cut(content, cut_in)
    return tuple(
        require_usable(join((protect(f"({number}/{len(parts)})", Channel.OUTBOX), part), " "))
        for number, part in enumerate(parts, start=1)
    )


def _cut(content: Protected, language: Language) -> tuple[Protected, ...]:
    hint = protect(say_too_many_parts(MAX_PARTS, language), Channel.OUTBOX)
    room = MAX_MESSAGE_CODE_POINTS - _NUMBER_ROOM - len(hint.content) - 1
    *kept, last = split(content, room)[:MAX_PARTS]
    return (*kept, require_usable(join((last, hint), "\n")))


def _moved(row: Row | None, outbox: OutboxId) -> OutboxRow:
    if row is None:
        raise StaleState("outbox_moved", f"outbox row {outbox} has moved on")
    return _outbox(row)


def _rows(rows: Iterable[Row]) -> tuple[OutboxRow, ...]:
    return tuple(_outbox(row) for row in rows)


def _outbox(row: Row) -> OutboxRow:
    return OutboxRow(
        id=OutboxId(row["id"]),
        message_key=row["message_key"],
        part=row["part"],
        parts=row["parts"],
        kind=OutboxKind(row["kind"]),
        content=restored(row, "content"),
        reply_to_message_id=row["reply_to_message_id"],
        at_user_id=row["at_user_id"],
        task_id=row["task_id"],
        ticket_id=row["ticket_id"],
        state=OutboxState(row["state"]),
        attempt=row["attempt"],
        echo=row["echo"],
        text_sha256=row["text_sha256"],
        not_before_ms=row["not_before_ms"],
        attempted_at_ms=row["attempted_at_ms"],
        possible_duplicate=bool(row["possible_duplicate"]),
        sent_message_id=row["sent_message_id"],
        last_error=row["last_error"],
        created_at_ms=row["created_at_ms"],
        updated_at_ms=row["updated_at_ms"],
    )
