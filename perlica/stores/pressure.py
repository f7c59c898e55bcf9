"""Early clean-up when the disk runs full: the oldest messages go before their time, and it is said.

The reconciler calls `DiskPressure.relieve` at each look; below the watermark it deletes a few days
of the oldest messages at a time, down to a floor that is never touched.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from perlica.domain.clock import now_ms
from perlica.stores.database import Database
from perlica.stores.health import DatabaseSize, measure
from perlica.stores.retention import RetentionAges, make_room

KEPT_UNDER_PRESSURE_MS: Final = 7 * 86_400_000
"""Messages younger than this are never deleted early: then only somebody can help."""
STEP_MS: Final = 86_400_000
"""How much of the oldest talk goes in one look."""
_OLDEST: Final = "SELECT min(stored_at_ms) AS at_ms FROM group_messages"

Measure = Callable[[Path], DatabaseSize]


@dataclass(frozen=True, slots=True, kw_only=True)
class Relief:
    """What a look at a disk below the watermark did.

    `deleted` messages went early; nothing older than `kept_since_ms` is left of the talk (None:
    there is none). `is_spent`: all that may go is gone.
    """

    free_bytes: int
    deleted: int
    kept_since_ms: int | None
    is_spent: bool


class DiskPressure:
    """Works on a connection of the reconciler's."""

    def __init__(
        self,
        db: Database,
        ages: RetentionAges,
        *,
        min_free_bytes: int,
        measure_disk: Measure = measure,
    ) -> None:
        """Keep by `ages` while there is room, and less while there is not."""
        self._db = db
        self._ages = ages
        self._min_free_bytes = min_free_bytes
        self._measure = measure_disk

    def relieve(self) -> Relief | None:
        """Delete about a day of the oldest messages; None while enough is free.

        Takes up to two seconds, in short transactions. Call it again while it returns something.

        Raises: Retryable when the database is locked, Misconfigured when it cannot be written.
        """
        free_bytes = self._measure(self._db.path).free_bytes
        if free_bytes >= self._min_free_bytes:
            return None
        at_ms, oldest_ms = now_ms(), self._oldest_ms()
        floor_ms = at_ms - min(KEPT_UNDER_PRESSURE_MS, self._ages.message_ms)
        if oldest_ms is None or oldest_ms >= floor_ms:
            return Relief(free_bytes=free_bytes, deleted=0, kept_since_ms=oldest_ms, is_spent=True)
        until_ms = min(oldest_ms + STEP_MS, floor_ms)
        ages = replace(self._ages, message_ms=at_ms - until_ms)
        cleaned = make_room(self._db, ages)
        return Relief(
            free_bytes=self._measure(self._db.path).free_bytes,
            deleted=cleaned.rows.get("group_messages", 0),
            kept_since_ms=self._oldest_ms(),
            is_spent=until_ms >= floor_ms and not cleaned.more,
        )

    def _oldest_ms(self) -> int | None:
        row = self._db.query_one(_OLDEST)
        return None if row is None else row["at_ms"]
