"""Small facts of the service: its epoch, the salt of intake, when something last happened."""

from typing import Final

from perlica.stores.database import Database

EPOCH_KEY: Final = "epoch"
FIRST_EPOCH: Final = 1

_FIND: Final = "SELECT value FROM service_state WHERE key = :key"
_SET: Final = """
INSERT INTO service_state (key, value) VALUES (:key, :value)
ON CONFLICT (key) DO UPDATE SET value = excluded.value
"""


class ServiceStore:
    """Reads and writes `service_state`."""

    def __init__(self, db: Database) -> None:
        """Work on this connection."""
        self._db = db

    def find(self, key: str) -> str | None:
        """The fact of that name."""
        row = self._db.query_one(_FIND, {"key": key})
        return None if row is None else str(row["value"])

    def set(self, key: str, value: str) -> None:
        """Keep a fact; never content of messages."""
        self._db.change(_SET, {"key": key, "value": value})

    def epoch(self) -> int:
        """The age of this database: higher after each restore, 1 before the first one."""
        value = self.find(EPOCH_KEY)
        return FIRST_EPOCH if value is None else int(value)

    def raise_epoch(self, at_ms: int) -> int:
        """Begin a new epoch and return it.

        It is the time, so that two restores of one backup do not share an epoch.
        """
        epoch = max(self.epoch() + 1, at_ms)
        self.set(EPOCH_KEY, str(epoch))
        return epoch
