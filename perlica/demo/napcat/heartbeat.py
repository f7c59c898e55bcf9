"""NapCat's heartbeat: one timer for all clients, running while there is at least one.

The stand-in starts it with the first connection that takes events and stops it with the last.
"""

import threading
from collections.abc import Callable

from perlica.demo.napcat.agenda import Agenda


class Heartbeat:
    """Calls `beat` every `interval_ms`, or never when that is 0."""

    def __init__(self, agenda: Agenda, interval_ms: int, beat: Callable[[], None]) -> None:
        """Do not beat yet."""
        self._agenda = agenda
        self._interval_ms = interval_ms
        self._beat = beat
        self._lock = threading.Lock()
        self._run = 0
        self._is_running = False

    def start(self) -> None:
        """Begin, unless it is running."""
        with self._lock:
            if self._is_running or not self._interval_ms:
                return
            self._is_running = True
            self._run += 1
            run = self._run
        self._schedule(run)

    def stop(self) -> None:
        """Stop; the beat that is due no longer comes."""
        with self._lock:
            self._is_running = False
            self._run += 1

    def _schedule(self, run: int) -> None:
        self._agenda.after(self._interval_ms / 1000, lambda: self._tick(run))

    def _tick(self, run: int) -> None:
        with self._lock:
            is_current = run == self._run
        if is_current:
            self._beat()
            self._schedule(run)
