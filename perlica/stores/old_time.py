"""Ending the old time in a restored database: what was under way then is not taken up again.

A backup is a moment of the past, and nobody knows what happened since. Called by a restore, before
the database appears at its place.
"""

from dataclasses import dataclass
from typing import Final

from perlica.domain.clock import now_ms
from perlica.protection import Channel, protect
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.deletions import Deletions
from perlica.stores.service import ServiceStore

RESTORED_FROM_KEY: Final = "restored_from"
RESTORED_AT_KEY: Final = "restored_at_ms"
"""What the group's clock showed at the restore, at the latest."""
RESTORED_UNREAD_KEY: Final = "restored_history_unread"
"""Set until the group's history was read back once after the restore."""
RESTORED_REASON: Final = "restored"
"""Why tasks, tickets and sends of the old time ended."""
_LARGEST_LEAD_MS: Final = 600_000

_END_TASKS: Final = """
UPDATE tasks SET state = 'failed', ended_at_ms = :now_ms, active_since_ms = NULL,
    end_reason = :reason
WHERE ended_at_ms IS NULL RETURNING id
"""
_VOID_TICKETS: Final = """
UPDATE approvals SET state = 'void' WHERE state IN ('pending', 'approved') RETURNING id
"""
# What was queued then was most likely begun since: it is looked up like what was begun before.
_BEGIN_OPERATIONS: Final = """
UPDATE operations SET state = 'started', started_at_ms = coalesce(started_at_ms, created_at_ms)
WHERE state = 'queued' RETURNING id
"""
# A look outside has no effect that anybody must find out about.
_FAIL_READS: Final = """
UPDATE operations SET state = 'failed', ended_at_ms = :now_ms,
    outcome = json_object('reason', :reason)
WHERE state = 'started' AND executor IN ('read', 'remote_read') RETURNING id
"""
_DOUBT_OPERATIONS: Final = """
UPDATE operations SET state = 'unknown', outcome = json_object('reason', :reason)
WHERE state = 'started' RETURNING id
"""
_HOLD_SENDS: Final = """
UPDATE outbox_messages SET state = 'dead', last_error = :reason, updated_at_ms = :now_ms
WHERE state IN ('queued', 'sending', 'unknown') RETURNING id
"""
_CLOSE_COMMANDS: Final = "UPDATE commands SET state = 'done' WHERE state = 'pending' RETURNING 1"
_FORGET_HANDS: Final = "UPDATE messages_in_hand SET in_hand = 0 WHERE in_hand = 1"
# An Owner approved it for the sandboxes of that time; he looks at it before it goes on.
_BLOCK_SWITCH: Final = """
UPDATE image_switches SET state = 'blocked', reason = :reason, changed_at_ms = :now_ms
WHERE state = 'switching'
"""
# Nobody knows when they were last used: none is deleted for a silence that may not have been one.
_SPARE_SANDBOXES: Final = """
UPDATE sandboxes SET last_active_at_ms = :now_ms
WHERE slot IS NOT NULL AND last_active_at_ms < :now_ms
"""
_LEAD: Final = """
SELECT max(sent_at_ms - stored_at_ms) AS lead_ms FROM (
    SELECT sent_at_ms, stored_at_ms FROM group_messages ORDER BY id DESC LIMIT 50)
"""
_RECALL_MESSAGE: Final = """
UPDATE group_messages SET recalled_at_ms = :at_ms
WHERE message_id = :message_id AND (:author IS NULL OR user_id = :author)
    AND recalled_at_ms IS NULL
"""
_RECALL_ANSWER: Final = """
UPDATE outbox_messages SET recalled_at_ms = :at_ms
WHERE sent_message_id = :message_id AND recalled_at_ms IS NULL
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The new epoch, and how much of the old time was ended."""

    epoch: int
    tasks: int
    tickets: int
    operations: int
    sends: int


def end_old_time(db: Database, origin: str) -> Ended:
    """Begin a new epoch in which nothing of the old time goes on; one transaction."""
    at_ms = now_ms()
    told = {"now_ms": at_ms, "reason": RESTORED_REASON}
    with db.transaction():
        service = ServiceStore(db)
        service.set(RESTORED_FROM_KEY, origin)
        service.set(RESTORED_AT_KEY, str(at_ms + _lead_ms(db)))
        service.set(RESTORED_UNREAD_KEY, "1")
        tasks = db.change(_END_TASKS, told)
        tickets = db.change(_VOID_TICKETS, told)
        db.change(_BEGIN_OPERATIONS)
        reads = db.change(_FAIL_READS, told)
        operations = (*reads, *db.change(_DOUBT_OPERATIONS, told))
        sends = db.change(_HOLD_SENDS, told)
        for sql in (_CLOSE_COMMANDS, _FORGET_HANDS, _BLOCK_SWITCH, _SPARE_SANDBOXES):
            db.change(sql, {name: told[name] for name in told if f":{name}" in sql})
        epoch = service.raise_epoch(at_ms)
        AuditStore(db).add_event(
            "restored",
            actor="operator",
            detail=protect({"from": origin, "epoch": epoch}, Channel.AUDIT),
        )
    return Ended(
        epoch=epoch,
        tasks=len(tasks),
        tickets=len(tickets),
        operations=len(operations),
        sends=len(sends),
    )


def hide_recalled(db: Database, deletions: Deletions) -> None:
    """Hide what was taken back in the group since the backup; one transaction."""
    with db.transaction():
        for one in deletions.recalled:
            bindings = {"message_id": one.message_id, "author": one.author, "at_ms": one.at_ms}
            db.change(_RECALL_MESSAGE, bindings)
            db.change(_RECALL_ANSWER, {k: bindings[k] for k in ("message_id", "at_ms")})


def _lead_ms(db: Database) -> int:
    """How far the clock that dates messages is ahead of ours, by those that arrived last."""
    row = db.query_one(_LEAD)
    lead_ms = None if row is None else row["lead_ms"]
    return max(0, min(lead_ms or 0, _LARGEST_LEAD_MS))
