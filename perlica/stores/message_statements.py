"""Statements of `perlica.stores.messages` that stand apart: marks in hand, twins, the newest."""

from typing import Final

NEWEST: Final = """
SELECT sent_at_ms FROM group_messages INDEXED BY group_messages_by_time
ORDER BY sent_at_ms DESC LIMIT 1
"""
TWIN: Final = """
SELECT 1 FROM group_messages AS other JOIN group_messages AS this ON this.id = :row
WHERE other.group_id = this.group_id AND other.message_id = this.message_id
    AND other.id <> this.id AND other.real_seq IS NOT this.real_seq
LIMIT 1
"""
MARK_IN_HAND: Final = """
INSERT INTO messages_in_hand (group_id, message_id, real_seq, marked_at_ms)
VALUES (:group_id, :message_id, :real_seq, :marked_at_ms)
ON CONFLICT DO UPDATE SET in_hand = 1, marked_at_ms = excluded.marked_at_ms
"""
_KEY: Final = "group_id = :group_id AND message_id = :message_id AND real_seq = :real_seq"
CLEAR_IN_HAND: Final = f"DELETE FROM messages_in_hand WHERE {_KEY}"  # noqa: S608
NOTE_CRASHES: Final = """
UPDATE messages_in_hand SET crashes = crashes + 1, in_hand = 0 WHERE in_hand = 1
RETURNING group_id, message_id, real_seq, crashes
"""
LIST_CRASHED: Final = "SELECT * FROM messages_in_hand WHERE crashes > 0"
COUNT_CRASHES: Final = f"SELECT crashes FROM messages_in_hand WHERE {_KEY}"  # noqa: S608
