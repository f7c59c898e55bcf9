"""One thread that does things later: delayed frames, late answers, heartbeats.

The stand-in puts short, non-blocking callables here; they run in order of their due time.
"""

import heapq
import itertools
import threading
import time
from collections.abc import Callable


class Agenda:
    """Runs callables after a delay, until it is stopped."""

    def __init__(self) -> None:
        """Start the thread."""
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="napcat-agenda", daemon=True)
        self._thread.start()

    def after(self, delay_s: float, what: Callable[[], None]) -> None:
        """Run `what` in `delay_s` seconds; forgotten when the agenda stops first."""
        with self._changed:
            heapq.heappush(self._due, (time.monotonic() + delay_s, next(self._numbers), what))
            self._changed.notify()

    def stop(self) -> None:
        """Drop what is left and end the thread."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while (what := self._next()) is not None:
            what()

    def _next(self) -> Callable[[], None] | None:
        with self._changed:
            while not self._stopped:
                wait_s = self._due[0][0] - time.monotonic() if self._due else None
                if wait_s is not None and wait_s <= 0:
                    return heapq.heappop(self._due)[2]
                self._changed.wait(wait_s)
            return None
