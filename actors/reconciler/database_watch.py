"""The daily look at the database's pages, indexes and references, and who is told of damage.

A part of the reconciler, which calls `look` at each tick. Reading the whole of a large database
takes seconds, so a thread does it; what it found is kept in the database, told to the group, and
shown by health and metrics.
"""

import logging
import queue
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from perlica.domain.clock import monotonic_s, now_ms
from perlica.domain.errors import PerlicaError
from perlica.domain.outbox import OutboxKind
from perlica.domain.texts import Language
from perlica.domain.texts.notices import say_database_damaged
from perlica.protection import Channel, protect
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.health import Finding, Severity, check_database, keep_check
from perlica.stores.outbox import OutboxStore

_log = logging.getLogger(__name__)

CHECK_EVERY_S: Final = 86_400.0
_DAY_MS: Final = 86_400_000

Check = Callable[[Path], Sequence[Finding]]


class DatabaseWatch:
    """Belongs to the reconciler's thread. `tell_health` gets the code of a fault, "" for none."""

    def __init__(
        self,
        path: Path,
        *,
        language: Language,
        tell_health: Callable[[str], None],
        check: Check = check_database,
        every_s: float = CHECK_EVERY_S,
    ) -> None:
        """Look for the first time at once."""
        self._path = path
        self._language = language
        self._tell_health = tell_health
        self._check = check
        self._every_s = every_s
        self._next_s = 0.0
        self._found: queue.SimpleQueue[Sequence[Finding]] = queue.SimpleQueue()
        self._is_looking = False

    def look(self, database: Database) -> bool:
        """Begin a look that is due, or take what it found; whether there is something to send."""
        if self._is_looking:
            return self._take(database)
        if monotonic_s() >= self._next_s:
            self._next_s = monotonic_s() + self._every_s
            self._is_looking = True
            threading.Thread(target=self._read, name="database-check", daemon=True).start()
        return False

    def _read(self) -> None:
        self._found.put(tuple(self._check(self._path)))

    def _take(self, database: Database) -> bool:
        try:
            findings = self._found.get_nowait()
        except queue.Empty:
            return False
        self._is_looking = False
        for finding in findings:
            _log.warning("database check", extra={"code": finding.code})
        faults = tuple(one for one in findings if one.severity is Severity.fault)
        self._tell_health(faults[0].code if faults else "")
        try:
            return self._keep(database, faults)
        except PerlicaError as error:
            _log.critical("database check not kept", extra={"code": error.code})
            return False

    def _keep(self, database: Database, faults: Sequence[Finding]) -> bool:
        """The group reads one line a day; every fault stands in the audit."""
        with database.transaction():
            keep_check(database, faults)
            for fault in faults:
                AuditStore(database).add_event(
                    "database.damaged",
                    actor="reconciler",
                    detail=protect({"code": fault.code}, Channel.AUDIT),
                )
            if not faults:
                return False
            fault = faults[0]
            said = say_database_damaged(fault.code, self._language)
            OutboxStore(database).enqueue(
                key=f"database:{fault.code}:{now_ms() // _DAY_MS}",
                kind=OutboxKind.notice,
                content=protect(said, Channel.OUTBOX),
            )
        return True
