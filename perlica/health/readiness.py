"""Readiness: can a member's message be taken in and answered now; the facts decide, nobody guesses.

NapCat must be ready for sending, the database must answer, and every actor must live. A task that
runs, a model that is away or sandboxes that are off make nobody unready: they have their metrics.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from perlica.domain.clock import monotonic_s
from perlica.domain.errors import PerlicaError
from perlica.health.facts import HealthFacts
from perlica.health.words import OTHER, Words
from perlica.stores.database import Database

_MAX_WORDS: Final = 64
_TARGET: Final = "SELECT id FROM target_group"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What keeps the service from its work, as words of ours; "" and () when nothing does."""

    connection_fault: str
    database_fault: str
    dead_actors: tuple[str, ...]

    @property
    def is_ready(self) -> bool:
        """Whether nothing does."""
        return not (self.connection_fault or self.database_fault or self.dead_actors)

    def as_json(self) -> Mapping[str, object]:
        """For the body of `/readyz`."""
        return {
            "ready": self.is_ready,
            "napcat": self.connection_fault or "ready",
            "database": self.database_fault or "ready",
            "dead_actors": list(self.dead_actors),
        }


class Readiness:
    """Asks the facts and the database; the database at most once in a while."""

    def __init__(self, database_path: Path, facts: HealthFacts, every_s: float) -> None:
        """Prepare."""
        self._path = database_path
        self._facts = facts
        self._every_s = every_s
        self._words = Words(_MAX_WORDS)
        self._lock = threading.Lock()
        self._next_s = 0.0
        self._database_fault = ""

    def judge(self) -> Answer:
        """The answer of this moment."""
        fault = self._facts.connection_fault()
        return Answer(
            connection_fault=self._words.admit(fault) if fault else "",
            database_fault=self._look_at_database() or self._checked_fault(),
            dead_actors=self.find_dead(),
        )

    def _checked_fault(self) -> str:
        fault = self._facts.database_fault()
        return self._words.admit(fault) if fault else ""

    def find_dead(self) -> tuple[str, ...]:
        """Names of actors that do not live; the process is about to end with them."""
        actors = self._facts.actors()
        return tuple(self._words.admit(name) for name, is_alive in actors.items() if not is_alive)

    def _look_at_database(self) -> str:
        """Why the database cannot be used, "" when it can."""
        with self._lock:
            if monotonic_s() >= self._next_s:
                self._database_fault = self._open_database()
                self._next_s = monotonic_s() + self._every_s
            return self._database_fault

    def _open_database(self) -> str:
        # Opened anew each time: an open connection would still see a file that is gone.
        try:
            with Database.open(self._path, read_only=True) as database:
                return "" if database.query(_TARGET) else "no_target_group"
        except PerlicaError as error:
            word = self._words.admit(error.code)
            return "database_unusable" if word == OTHER else word
