"""Figures: one look at everything, kept for a while, and its text for Prometheus.

Asked in the server's threads; a lock lets one of them look while the others wait for its result.
"""

import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest

from perlica.domain.clock import monotonic_s
from perlica.domain.errors import PerlicaError
from perlica.health.counting import Counting
from perlica.health.facts import HealthFacts, HealthSettings
from perlica.health.instruments import Instruments
from perlica.health.levels import measure_levels, read_levels
from perlica.health.readiness import Readiness
from perlica.health.words import Words
from perlica.stores.database import Database

_MAX_NAMES: Final = 32


class Figures:
    """What `/metrics` shows."""

    def __init__(
        self,
        settings: HealthSettings,
        database_path: Path,
        facts: HealthFacts,
        readiness: Readiness,
    ) -> None:
        """Prepare; `begin` marks from where on is counted."""
        self._settings = settings
        self._path = database_path
        self._facts = facts
        self._readiness = readiness
        self._instruments = Instruments()
        self._counting = Counting(self._instruments.tallies)
        self._lock = threading.Lock()
        self._names = Words(_MAX_NAMES)
        self._faults = Words(_MAX_NAMES)
        self._codes = Words(_MAX_NAMES)
        self._fault = ""
        self._dropped: dict[str, int] = {}
        self._next_s = 0.0
        self._instruments.process.versions.info(dict(facts.versions))

    @property
    def registry(self) -> CollectorRegistry:
        """Every metric."""
        return self._instruments.registry

    def begin(self) -> None:
        """Mark what is there already as the past. Raises: PerlicaError without a database."""
        with self._lock, Database.open(self._path, read_only=True) as database:
            self._counting.begin(database)

    def write(self) -> bytes:
        """Everything in Prometheus' text format, at most `figures_every_s` old."""
        with self._lock:
            if monotonic_s() >= self._next_s:
                self._look()
                self._next_s = monotonic_s() + self._settings.figures_every_s
            self._show_process()
            return generate_latest(self._instruments.registry)

    def _look(self) -> None:
        """Read tables and disk; what fails keeps its last figures and says so."""
        looks, levels = self._instruments.looks, self._instruments.levels
        looks.readable.set(0)
        try:
            with (
                looks.seconds.time(),
                Database.open(self._path, read_only=True) as database,
            ):
                self._counting.advance(database)
                read_levels(database, levels)
            looks.readable.set(1)
        except PerlicaError as error:
            looks.failures.labels(self._codes.admit(error.code)).inc()
        with suppress(OSError):
            measure_levels(
                self._path, self._settings.backups, self._settings.min_free_bytes, levels
            )

    def _show_process(self) -> None:
        process = self._instruments.process
        answer = self._readiness.judge()
        process.ready.set(int(answer.is_ready))
        process.connection_ready.set(int(not answer.connection_fault))
        self._show_fault(answer.connection_fault)
        for name, is_alive in self._facts.actors().items():
            process.actor_up.labels(self._names.admit(name)).set(int(is_alive))
        for name, length in self._facts.queues().items():
            process.queue.labels(self._names.admit(name)).set(length)
        for reason, count in self._facts.dropped().items():
            shown = self._dropped.get(reason, 0)
            process.dropped.labels(self._names.admit(reason)).inc(max(0, count - shown))
            self._dropped[reason] = count

    def _show_fault(self, fault: str) -> None:
        """One series for the reason of the moment; a reason that is over goes."""
        gauge = self._instruments.process.connection_fault
        if self._fault and self._fault != fault:
            gauge.remove(self._faults.admit(self._fault))
        self._fault = fault
        if fault:
            gauge.labels(self._faults.admit(fault)).set(1)
