"""Where intake stands in the group's sequence, kept in the database for the NapCat link.

The link's threads call it; each call opens its own short connection.
"""

from dataclasses import dataclass
from pathlib import Path

from perlica.clients.napcat import Gap
from perlica.protection import Channel, protect
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.messages import MessageStore
from perlica.stores.old_time import RESTORED_UNREAD_KEY
from perlica.stores.service import ServiceStore

_HELD_KEY = "intake_held_seq"
_NOT_HELD = ""


@dataclass(frozen=True, slots=True)
class StoredPosition:
    """An `IntakePosition` over the service's database."""

    database_path: Path

    def known_seq(self) -> int | None:
        """The held number while there is one, else the highest that is stored."""
        with Database.open(self.database_path) as database:
            held = ServiceStore(database).find(_HELD_KEY)
            return int(held) if held else MessageStore(database).last_seq()

    def hold(self, seq: int) -> None:
        """What follows `seq` may be incomplete, also over a crash, until `release`."""
        self._set(_HELD_KEY, str(seq))

    def release(self) -> None:
        """Everything that could be read back is stored, also what was sent before a restore."""
        self._set(_HELD_KEY, _NOT_HELD)
        self._set(RESTORED_UNREAD_KEY, "")

    def report_gap(self, gap: Gap) -> None:
        """Audit messages that could not be read back."""
        facts = {"after_seq": gap.after_seq, "before_seq": gap.before_seq, "reason": gap.reason}
        with Database.open(self.database_path) as database, database.transaction():
            AuditStore(database).add_event(
                "intake.gap", actor="napcat", detail=protect(facts, Channel.AUDIT)
            )

    def _set(self, key: str, value: str) -> None:
        with Database.open(self.database_path) as database:
            if (ServiceStore(database).find(key) or "") == value:
                return
            with database.transaction():
                ServiceStore(database).set(key, value)
