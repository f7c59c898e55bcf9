"""What waits for somebody in the seeded database: unknown outcomes, failed sends, bad messages."""

from datetime import datetime, timedelta

from perlica.domain.clock import now_ms
from perlica.domain.ids import MessageId, OperationId, OutboxId, RowId, UserId
from perlica.domain.message import IncomingGroupMessage
from perlica.domain.outbox import OutboxKind
from perlica.domain.plan import Level
from perlica.protection import not_scanned
from perlica.stores.messages import MessageKey, MessageStore
from tests.console.seeder import GROUP, SELF, Seeder, at, sealed_json

FATES = ("sent", "sent", "refused", "dead", "unknown")
"""What became of the first messages in the outbox; the others wait."""


def add_troubles(seeder: Seeder, now: datetime, sandbox: RowId) -> OperationId:
    """All of it, half an hour ago; the operation whose outcome is unknown."""
    with at(now - timedelta(minutes=30)):
        unknown = seeder.execute(
            None,
            None,
            action="sandbox.write",
            plan={"action": "sandbox.write", "effect": {"path": "/etc/motd"}},
            outcome=None,
            level=Level.medium,
            sandbox=sandbox,
            kind="write",
        )
        for number in range(1, 5):
            text = f"离线期间有 {number} 条 @我 的消息没有处理。"
            seeder.send(f"notice:{number}", OutboxKind.notice, text)
        rows = seeder.db.query("SELECT id FROM outbox_messages ORDER BY id")
        for row, fate in zip(rows, FATES, strict=False):
            _try_to_send(seeder, OutboxId(row["id"]), fate)
        with seeder.db.transaction():
            detail = sealed_json({"missed": 2, "from": 81, "to": 83})
            seeder.audit.add_event("intake.gap", actor="napcat", detail=detail)
        _crash(seeder)
    return unknown


def _try_to_send(seeder: Seeder, row: OutboxId, fate: str) -> None:
    with seeder.db.transaction():
        seeder.outbox.begin_attempt(row, f"e{row}", "0" * 64, now_ms())
    with seeder.db.transaction():
        match fate:
            case "sent":
                seeder.outbox.mark_sent(row, MessageId(9000 + row))
            case "refused":
                seeder.outbox.mark_refused(row, "retcode 1200 消息被拒绝")
            case "dead":
                seeder.outbox.mark_dead(row, "no answer after 5 tries")
            case _:
                seeder.outbox.mark_unknown(row, "timeout")


def _crash(seeder: Seeder) -> None:
    """A message that was in hand at a crash, and one that is quarantined."""
    messages = MessageStore(seeder.db)
    with seeder.db.transaction():
        messages.mark_in_hand(
            (MessageKey(group_id=GROUP, message_id=MessageId(555), real_seq=555),)
        )
    with seeder.db.transaction():
        messages.note_crashes()
    quarantined = IncomingGroupMessage(
        group_id=GROUP,
        message_id=MessageId(554),
        real_seq=554,
        user_id=UserId(0),
        self_id=SELF,
        sent_at_ms=now_ms(),
        display_name="",
        segments=(),
    )
    with seeder.db.transaction():
        messages.insert_message(
            quarantined,
            kind="quarantined",
            display_name=not_scanned(),
            content=not_scanned(),
            attachments=(),
        )
