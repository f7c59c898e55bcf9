"""The group's messages: intake writes them, windows, quotes and the history search read them.

A message is known by (group, message id, real_seq): QQ's message ids collide. It is
also known by (real_seq, sender, time): versions of NapCat made its id in different ways (S09). Only
members' talk is ever read back; control, quarantined, recalled and expired rows stay unseen.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, Literal

from perlica.domain.clock import now_ms
from perlica.domain.ids import GroupId, MessageId, RowId, UserId
from perlica.domain.message import IncomingGroupMessage
from perlica.protection import Protected, restore
from perlica.stores import message_statements as statements
from perlica.stores.database import Database, Row
from perlica.stores.deletions import DeletionLog
from perlica.stores.literal import fold, match_query
from perlica.stores.sealed import columns, restored

MESSAGE_AGE_MS: Final = 90 * 86_400_000
"""How long messages are kept by default."""
MAX_EXAMINED_HITS: Final = 20_000
"""A search looks at this many index hits, newest arrivals first, and then ends with what it has."""
MAX_CRASHES: Final = 3
"""A message that was in hand at so many crashes is quarantined."""
_DAY_MS: Final = 86_400_000
_A_MOMENT_MS: Final = 1_000
_NO_SEQ: Final = -1

MessageKind = Literal["chat", "trigger", "control", "quarantined", "answer"]
"""`answer` stands in no row of this table: see `perlica.stores.answers`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessage:
    """A row of `group_messages`; (`order_seq`, `row`) is the order of the group."""

    row: RowId
    message_id: MessageId
    real_seq: int | None
    order_seq: int
    user_id: UserId
    sent_at_ms: int
    kind: MessageKind
    display_name: Protected = field(repr=False)
    content: Protected = field(repr=False)
    quoted_message_id: MessageId | None
    recalled_at_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAttachment:
    """Metadata of a file or picture in a message; `handle` is NapCat's file id, never a URL."""

    kind: str
    name: Protected = field(repr=False)
    size_bytes: int | None
    handle: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageKey:
    """What a message is known by before it is stored; `real_seq` is None where NapCat gave none."""

    group_id: GroupId
    message_id: MessageId
    real_seq: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashedMessage:
    """A message that was in hand when the process died, and how often by now."""

    key: MessageKey
    crashes: int


_INSERT: Final = """
INSERT INTO group_messages (group_id, message_id, real_seq, order_seq, user_id, sent_at_ms,
    stored_at_ms, kind, display_name, display_name_status, content, protection_status,
    policy_version, finding_count, quoted_message_id)
SELECT :group_id, :message_id, :real_seq,
    coalesce(:real_seq, (SELECT order_seq FROM group_messages WHERE sent_at_ms <= :sent_at_ms
        ORDER BY sent_at_ms DESC, order_seq DESC LIMIT 1), 0),
    :user_id, :sent_at_ms, :stored_at_ms, :kind, :display_name, :display_name_status, :content,
    :protection_status, :policy_version, :finding_count, :quoted_message_id
WHERE NOT EXISTS (SELECT 1 FROM group_messages WHERE real_seq = :real_seq
    AND user_id = :user_id AND sent_at_ms = :sent_at_ms)
ON CONFLICT DO NOTHING
RETURNING id
"""
_INSERT_ATTACHMENT: Final = """
INSERT INTO attachments (message_row, kind, name, protection_status, policy_version, finding_count,
    size_bytes, handle, created_at_ms)
VALUES (:message_row, :kind, :name, :protection_status, :policy_version, :finding_count,
    :size_bytes, :handle, :created_at_ms)
"""
_ATTACHMENTS: Final = "SELECT * FROM attachments WHERE message_row = :row ORDER BY id"
_FIND: Final = "SELECT * FROM group_messages WHERE id = :row"
_VISIBLE: Final = """
    kind IN ('chat', 'trigger') AND recalled_at_ms IS NULL AND stored_at_ms >= :alive_since_ms
"""
_FIND_QUOTED: Final = f"""
SELECT * FROM group_messages
WHERE message_id = :message_id AND sent_at_ms <= :before_ms AND {_VISIBLE}
ORDER BY order_seq DESC, id DESC LIMIT 1
"""  # noqa: S608 - joined from constants only
_LIST_RECENT: Final = f"""
SELECT * FROM group_messages INDEXED BY group_messages_by_time
WHERE sent_at_ms BETWEEN :after_ms AND :before_ms AND {_VISIBLE}
    AND (:before_seq IS NULL OR (order_seq, id) < (:before_seq, :before_row))
ORDER BY sent_at_ms DESC, order_seq DESC, id DESC LIMIT :limit
"""  # noqa: S608
_ROWS_OF_DAYS: Final = """
SELECT min(first_row) AS first_row, max(last_row) AS last_row FROM message_days
WHERE day BETWEEN :first_day AND :last_day
"""
# CROSS JOIN holds the order: the index is walked from the newest row, each hit is looked up once.
_SEARCH: Final = f"""
SELECT message.* FROM message_index AS hit CROSS JOIN group_messages AS message
WHERE hit.message_index MATCH :query AND hit.rowid BETWEEN :first_row AND :last_row
    AND message.id = hit.rowid AND message.sent_at_ms BETWEEN :after_ms AND :before_ms
    AND {_VISIBLE}
ORDER BY hit.rowid DESC
"""  # noqa: S608
_REBUILD_INDEX: Final = "INSERT INTO message_index (message_index) VALUES ('rebuild')"
_MARK_RECALLED: Final = """
UPDATE group_messages SET recalled_at_ms = :at_ms
WHERE message_id = :message_id AND (:author IS NULL OR user_id = :author)
    AND recalled_at_ms IS NULL
RETURNING id
"""
# Of those that arrived lately: one absurd number must not decide for ever where catch-up begins.
_LAST_SEQ: Final = """
SELECT max(real_seq) AS last_seq FROM (
    SELECT real_seq FROM group_messages ORDER BY id DESC LIMIT :lately)
"""
_LATELY: Final = 1_000
# The least of several: what came out of the history, or was on its way for long, says nothing.
_CLOCK_LAG: Final = """
SELECT min(stored_at_ms - sent_at_ms) AS lag_ms FROM (
    SELECT stored_at_ms, sent_at_ms FROM group_messages ORDER BY id DESC LIMIT 50)
"""
_LARGEST_LAG_MS: Final = 600_000


class MessageStore:
    """Reads and writes `group_messages`, `attachments` and `messages_in_hand`.

    `keep_ms` is the configured age of messages: what is older is not found even before clean-up.
    """

    def __init__(self, db: Database, *, keep_ms: int = MESSAGE_AGE_MS) -> None:
        """Work on this connection; `messages_in_hand` wants a relaxed one of its own."""
        self._db = db
        self._keep_ms = keep_ms

    def insert_message(
        self,
        message: IncomingGroupMessage,
        *,
        kind: MessageKind,
        display_name: Protected,
        content: Protected,
        attachments: tuple[StoredAttachment, ...] = (),
    ) -> RowId | None:
        """The new row, None for a message that is stored already. Raises: Refused (other group)."""
        stored_at_ms = now_ms()
        row = self._db.change_one(
            _INSERT,
            {
                "group_id": message.group_id,
                "message_id": message.message_id,
                "real_seq": message.real_seq,
                "user_id": message.user_id,
                "sent_at_ms": message.sent_at_ms,
                "stored_at_ms": stored_at_ms,
                "kind": kind,
                "display_name": display_name.content,
                "display_name_status": display_name.status.value,
                "quoted_message_id": message.quoted_id,
                **columns("content", content),
            },
        )
        if row is None:
            return None
        for attachment in attachments:
            self._insert_attachment(row["id"], attachment, stored_at_ms)
        return RowId(row["id"])

    def _insert_attachment(self, row: int, attachment: StoredAttachment, at_ms: int) -> None:
        self._db.change(
            _INSERT_ATTACHMENT,
            {
                "message_row": row,
                "kind": attachment.kind,
                "size_bytes": attachment.size_bytes,
                "handle": attachment.handle,
                "created_at_ms": at_ms,
                **columns("name", attachment.name),
            },
        )

    def list_attachments(self, row: RowId) -> tuple[StoredAttachment, ...]:
        """The attachments of a message in their order."""
        return tuple(
            StoredAttachment(
                kind=found["kind"],
                name=restored(found, "name"),
                size_bytes=found["size_bytes"],
                handle=found["handle"],
            )
            for found in self._db.query(_ATTACHMENTS, {"row": row})
        )

    def find_message(self, row: RowId) -> StoredMessage | None:
        """The message in a row, of whatever kind."""
        found = self._db.query_one(_FIND, {"row": row})
        return None if found is None else _message(found)

    def find_quoted(self, message_id: MessageId, before_ms: int) -> StoredMessage | None:
        """The newest visible message of that id, sent at `before_ms` or earlier."""
        bindings = {"message_id": message_id, "before_ms": before_ms, **self._alive()}
        found = self._db.query_one(_FIND_QUOTED, bindings)
        return None if found is None else _message(found)

    def list_recent(
        self,
        *,
        before_ms: int,
        after_ms: int,
        limit: int,
        before: StoredMessage | None = None,
    ) -> tuple[StoredMessage, ...]:
        """Visible messages sent between the two times (both included), newest first.

        A `before_ms` that our clock has not passed means up to now, whatever QQ's clock says: it
        may be ahead, and the newest message is always in.
        The newest by time are chosen; among them the group's own order counts. With `before` only
        messages that stand before it in that order: QQ dates to the second, and a flood in the
        trigger's own second must not take the place of what was said before it.
        """
        bindings = {
            "before_ms": self._until(before_ms),
            "after_ms": after_ms,
            "before_seq": None if before is None else before.order_seq,
            "before_row": None if before is None else before.row,
            "limit": limit,
            **self._alive(),
        }
        found = [_message(row) for row in self._db.query(_LIST_RECENT, bindings)]
        return tuple(sorted(found, key=_order, reverse=True))

    def search(
        self, text: str, *, after_ms: int, before_ms: int, limit: int
    ) -> tuple[StoredMessage, ...]:
        """Visible messages that hold `text` literally, without difference of case, newest first.

        Up to `before_ms` as in `list_recent`.
        Any length from one character, no syntax. `limit` hits that arrived last are chosen.
        """
        folded = fold(text)
        query = match_query(folded)
        before_ms = self._until(before_ms)
        span = self._rows_between(after_ms, before_ms)
        if query is None or span is None or limit <= 0:
            return ()
        times = {"after_ms": after_ms, "before_ms": before_ms, **self._alive()}
        hits = self._db.stream(_SEARCH, {"query": query, **span, **times})
        found = (row for row in islice(hits, MAX_EXAMINED_HITS) if folded in fold(row["content"]))
        messages = [_message(row) for row in islice(found, limit)]
        return tuple(sorted(messages, key=_time, reverse=True))

    def has_twin(self, row: RowId) -> bool:
        """Whether another message has the same id and another sequence number."""
        return self._db.query_one(statements.TWIN, {"row": row}) is not None

    def _until(self, before_ms: int) -> int:
        """`before_ms`, or the time of the newest message where the former is now or later."""
        if before_ms + _A_MOMENT_MS < now_ms():
            return before_ms
        newest = self._db.query_one(statements.NEWEST)
        return before_ms if newest is None else max(before_ms, newest["sent_at_ms"])

    def _rows_between(self, after_ms: int, before_ms: int) -> Row | None:
        """The span of row ids outside which no message of this time can stand."""
        days = {"first_day": after_ms // _DAY_MS, "last_day": before_ms // _DAY_MS}
        row = self._db.query_one(_ROWS_OF_DAYS, days)
        return None if row is None or row["first_row"] is None else row

    def rebuild_index(self) -> None:
        """Make the search index anew from the visible messages, for an index that is damaged."""
        self._db.change(_REBUILD_INDEX)

    def mark_recalled(
        self, message_id: MessageId, at_ms: int, *, author: UserId | None = None
    ) -> tuple[RowId, ...]:
        """Hide the messages of that id, of `author` if known, from windows, quotes and search.

        Ids collide: without the author somebody else's message could go too. The rows it touched.
        """
        bindings = {"message_id": message_id, "at_ms": at_ms, "author": author}
        rows = self._db.change(_MARK_RECALLED, bindings)
        if rows:
            DeletionLog.beside(self._db.path).note_recalled(message_id, author, at_ms)
        return tuple(RowId(row["id"]) for row in rows)

    def last_seq(self) -> int | None:
        """The highest real_seq among the messages that arrived last, where catch-up begins."""
        row = self._db.query_one(_LAST_SEQ, {"lately": _LATELY})
        return None if row is None else row["last_seq"]

    def clock_lag_ms(self) -> int:
        """How far the clock that dates messages is behind ours, by those that arrived last; it may
        be that much less. 0 when it is not behind, and never more than ten minutes.
        """
        row = self._db.query_one(_CLOCK_LAG)
        lag_ms = None if row is None else row["lag_ms"]
        return max(0, min(lag_ms or 0, _LARGEST_LAG_MS))

    def mark_in_hand(self, keys: Iterable[MessageKey]) -> None:
        """Say that work on these messages begins."""
        at_ms = now_ms()
        self._db.change_each(
            statements.MARK_IN_HAND, ({**_key_bindings(key), "marked_at_ms": at_ms} for key in keys)
        )

    def clear_in_hand(self, keys: Iterable[MessageKey]) -> None:
        """Say that work on these messages ended well."""
        self._db.change_each(statements.CLEAR_IN_HAND, map(_key_bindings, keys))

    def note_crashes(self) -> tuple[CrashedMessage, ...]:
        """At the start of the service: count a crash for each message that was in hand."""
        return tuple(map(_crashed, self._db.change(statements.NOTE_CRASHES)))

    def list_crashed(self) -> tuple[CrashedMessage, ...]:
        """The messages that were in hand at any crash and have not ended well since: very few."""
        return tuple(map(_crashed, self._db.query(statements.LIST_CRASHED)))

    def count_crashes(self, key: MessageKey) -> int:
        """At how many crashes the message was in hand."""
        row = self._db.query_one(statements.COUNT_CRASHES, _key_bindings(key))
        return 0 if row is None else row["crashes"]

    def is_quarantined(self, key: MessageKey) -> bool:
        """Whether the message was in hand at three crashes and must not be touched again."""
        return self.count_crashes(key) >= MAX_CRASHES

    def _alive(self) -> dict[str, int]:
        return {"alive_since_ms": now_ms() - self._keep_ms}


def _order(message: StoredMessage) -> tuple[int, int]:
    return (message.order_seq, message.row)


def _time(message: StoredMessage) -> tuple[int, int, int]:
    return (message.sent_at_ms, *_order(message))


def _key_bindings(key: MessageKey) -> dict[str, object]:
    return {
        "group_id": key.group_id,
        "message_id": key.message_id,
        "real_seq": _NO_SEQ if key.real_seq is None else key.real_seq,
    }


def _crashed(row: Row) -> CrashedMessage:
    key = MessageKey(
        group_id=GroupId(row["group_id"]),
        message_id=MessageId(row["message_id"]),
        real_seq=None if row["real_seq"] == _NO_SEQ else row["real_seq"],
    )
    return CrashedMessage(key=key, crashes=row["crashes"])


def _message(row: Row) -> StoredMessage:
    return StoredMessage(
        row=RowId(row["id"]),
        message_id=MessageId(row["message_id"]),
        real_seq=row["real_seq"],
        order_seq=row["order_seq"],
        user_id=UserId(row["user_id"]),
        sent_at_ms=row["sent_at_ms"],
        kind=row["kind"],
        display_name=restore(
            row["display_name"], row["display_name_status"], row["policy_version"], 0
        ),
        content=restored(row, "content"),
        quoted_message_id=row["quoted_message_id"],
        recalled_at_ms=row["recalled_at_ms"],
    )
