"""Perlica's own answers as messages of the group, for a member who quotes one in a request.

Other tasks join no session by themselves, but a quote asks for exactly this one. Only final
answers that were sent: approval questions, notices and answers to commands are never read back
from here, so that no ticket's id or code can reach a model through a quote.
"""

from typing import Final

from perlica.domain.clock import now_ms
from perlica.domain.ids import MessageId, RowId, UserId
from perlica.protection import Channel, protect
from perlica.stores.database import Database, Row
from perlica.stores.deletions import DeletionLog
from perlica.stores.messages import MESSAGE_AGE_MS, StoredMessage
from perlica.stores.sealed import restored

_NAME: Final = protect("Perlica", Channel.MESSAGE)
_FIND: Final = """
SELECT answer.*, (SELECT self_id FROM target_group) AS self_id FROM outbox_messages AS answer
WHERE sent_message_id = :message_id AND kind = 'final' AND state = 'sent'
    AND recalled_at_ms IS NULL AND created_at_ms >= :alive_since_ms
ORDER BY id DESC LIMIT 1
"""
# The recall can overtake the answer that tells the id of what was sent; the one in flight is meant.
_RECALL: Final = """
UPDATE outbox_messages SET recalled_at_ms = :at_ms
WHERE recalled_at_ms IS NULL
    AND (sent_message_id = :message_id
        OR sent_message_id IS NULL AND state IN ('sending', 'unknown') AND NOT EXISTS (
            SELECT 1 FROM outbox_messages WHERE sent_message_id = :message_id))
    AND (:author IS NULL OR :author = (SELECT self_id FROM target_group))
RETURNING id
"""


class AnswerStore:
    """Reads and hides sent answers in `outbox_messages`."""

    def __init__(self, db: Database) -> None:
        """Work on this connection."""
        self._db = db

    def find_quoted(self, message_id: MessageId) -> StoredMessage | None:
        """The newest answer that was sent under this id; a long one came in parts, this is one.

        Its `row` is negative: no member's message has it.
        """
        alive_since_ms = now_ms() - MESSAGE_AGE_MS
        found = {"message_id": message_id, "alive_since_ms": alive_since_ms}
        row = self._db.query_one(_FIND, found)
        return None if row is None else _answer(row)

    def mark_recalled(
        self, message_id: MessageId, at_ms: int, *, author: UserId | None = None
    ) -> None:
        """Hide an answer that was taken back in the group; ids collide, so only one of ours."""
        bindings = {"message_id": message_id, "at_ms": at_ms, "author": author}
        if self._db.change(_RECALL, bindings):
            DeletionLog.beside(self._db.path).note_recalled(message_id, author, at_ms)


def _answer(row: Row) -> StoredMessage:
    return StoredMessage(
        row=RowId(-row["id"]),
        message_id=MessageId(row["sent_message_id"] or 0),
        real_seq=None,
        order_seq=0,
        user_id=UserId(row["self_id"]),
        sent_at_ms=row["attempted_at_ms"],
        kind="answer",
        display_name=_NAME,
        content=restored(row, "content"),
        quoted_message_id=None,
        recalled_at_ms=None,
    )
