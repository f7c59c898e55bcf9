"""Disk pressure, told: what went early is audited, and the group reads one line a day about it.

A part of the reconciler, which calls `look` about once a minute and again at once while it says so.
"""

import logging
from typing import Final

from perlica.domain.clock import now_ms
from perlica.domain.outbox import OutboxKind
from perlica.domain.texts import Language, Text
from perlica.protection import Channel, protect
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.outbox import OutboxStore
from perlica.stores.pressure import DiskPressure, Relief

_log = logging.getLogger(__name__)

_DAY_MS: Final = 86_400_000
_MIB: Final = 2**20
_EARLY: Final = Text(
    zh="磁盘快满了（剩 {free} MiB）：最早的群消息正在提前清理。请 Owner 腾出空间。",
    en="The disk is almost full ({free} MiB left): the oldest messages are deleted early. "
    "An Owner should free some space.",
)
_SPENT: Final = Text(
    zh="磁盘快满了（剩 {free} MiB），能提前清理的都清理了。请 Owner 尽快腾出空间，否则服务会停。",
    en="The disk is almost full ({free} MiB left) and nothing is left that may be deleted early. "
    "An Owner must free some space soon, or the service stops.",
)


class DiskWatch:
    """Belongs to the reconciler's thread and uses its connection."""

    def __init__(self, database: Database, pressure: DiskPressure, *, language: Language) -> None:
        """Tell in this language."""
        self._database = database
        self._pressure = pressure
        self._language = language

    def look(self) -> bool:
        """Relieve the disk if it is below its watermark; whether to look again at once.

        Raises: Retryable when the database is locked, Misconfigured when it cannot be written.
        """
        relief = self._pressure.relieve()
        if relief is None:
            return False
        _log.warning(
            "disk below its watermark",
            extra={"free_bytes": relief.free_bytes, "deleted": relief.deleted},
        )
        self._tell(relief)
        return not relief.is_spent

    def _tell(self, relief: Relief) -> None:
        """The group's line comes once a day for each of the two; every deletion is audited."""
        text = _SPENT if relief.is_spent else _EARLY
        said = text.say(self._language, free=relief.free_bytes // _MIB)
        key = "spent" if relief.is_spent else "early"
        facts = {"free_bytes": relief.free_bytes, "messages": relief.deleted}
        with self._database.transaction():
            if relief.deleted:
                AuditStore(self._database).add_event(
                    "retention.early",
                    actor="reconciler",
                    detail=protect({**facts}, Channel.AUDIT),
                )
            OutboxStore(self._database).enqueue(
                key=f"disk:{key}:{now_ms() // _DAY_MS}",
                kind=OutboxKind.notice,
                content=protect(said, Channel.OUTBOX),
            )
