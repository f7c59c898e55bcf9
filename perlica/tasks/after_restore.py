"""After a restore: each member whose task it ended is told, once."""

from typing import Final

from perlica.domain.clock import now_ms
from perlica.domain.ids import TaskId, UserId
from perlica.domain.outbox import OutboxKind
from perlica.domain.texts import Language
from perlica.domain.texts.notices import say_restored_end
from perlica.protection import Channel, protect
from perlica.stores.database import Database
from perlica.stores.outbox import OutboxStore

_TOLD_WITHIN_MS: Final = 7 * 86_400_000
_ENDED: Final = """
SELECT id, requester_id FROM tasks WHERE end_reason = 'restored' AND ended_at_ms > :since_ms
"""


def tell_ended(database: Database, language: Language) -> bool:
    """At the start: tell each member whose task the restore ended, once; whether there was any."""
    ended = database.query(_ENDED, {"since_ms": now_ms() - _TOLD_WITHIN_MS})
    with database.transaction():
        told = [
            OutboxStore(database).enqueue(
                key=f"restored-end:{row['id']}",
                kind=OutboxKind.notice,
                content=protect(say_restored_end(TaskId(row["id"]), language), Channel.OUTBOX),
                at_user=UserId(row["requester_id"]),
                task_id=TaskId(row["id"]),
            )
            for row in ended
        ]
    return any(told)
