"""What happened, numbered: the chat page reads on from the last number it saw.

The stand-in publishes; tests that wait for something wait on the same condition.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

Found = TypeVar("Found")
KEPT_ENTRIES = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One change; `number` grows by one."""

    number: int
    kind: str
    fields: dict[str, Any]


class Feed:
    """The latest changes and a bell for those who wait."""

    def __init__(self) -> None:
        """Begin empty and open."""
        self._bell = threading.Condition()
        self._entries: list[Entry] = []
        self._last = 0
        self._rings = 0
        self._is_closed = False

    @property
    def last(self) -> int:
        """The number of the latest entry, 0 before the first."""
        with self._bell:
            return self._last

    @property
    def is_closed(self) -> bool:
        """Whether nothing will come any more."""
        with self._bell:
            return self._is_closed

    def publish(self, kind: str, fields: dict[str, Any]) -> None:
        """Add an entry and wake everybody."""
        with self._bell:
            self._last += 1
            self._entries.append(Entry(number=self._last, kind=kind, fields=fields))
            del self._entries[:-KEPT_ENTRIES]
            self._ring()

    def ring(self) -> None:
        """Wake everybody who waits for something that is no entry."""
        with self._bell:
            self._ring()

    def close(self) -> None:
        """Wake everybody for the last time."""
        with self._bell:
            self._is_closed = True
            self._ring()

    def wait_after(self, number: int, within_s: float) -> tuple[Entry, ...]:
        """Entries above `number`; empty when none came in time or the feed closed."""
        with self._bell:
            self._bell.wait_for(lambda: self._is_closed or self._last > number, within_s)
            return tuple(entry for entry in self._entries if entry.number > number)

    def wait_until(self, look: Callable[[], Found | None], within_s: float) -> Found | None:
        """Call `look` after every change until it finds something, at most `within_s` seconds.

        `look` runs without the feed's lock, so it may take the lock of those who publish.
        """
        deadline = time.monotonic() + within_s
        while True:
            with self._bell:
                seen = self._rings
            if (found := look()) is not None or self.is_closed:
                return found
            if not self._wait_for_ring(seen, deadline - time.monotonic()):
                return None

    def _wait_for_ring(self, seen: int, within_s: float) -> bool:
        with self._bell:
            return self._bell.wait_for(lambda: self._rings != seen, within_s)

    def _ring(self) -> None:
        self._rings += 1
        self._bell.notify_all()
