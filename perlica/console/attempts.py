"""How often an address may fail to log in before it has to wait.

Tokens have 256 random bits and cannot be guessed; the limit keeps guessing from costing anything.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from perlica.domain.clock import monotonic_s

MAX_ADDRESSES: Final = 4_096


@dataclass(slots=True)
class _Failures:
    since_s: float
    count: int = 0


class Attempts:
    """Failures by address, within the last `wait_s` seconds."""

    def __init__(self, *, most: int, wait_s: float) -> None:
        """After `most` failures an address waits until `wait_s` after the first of them."""
        self._most = most
        self._wait_s = wait_s
        self._lock = threading.Lock()
        self._failures: OrderedDict[str, _Failures] = OrderedDict()

    def left_s(self, address: str) -> float:
        """Seconds that the address has to wait, 0 when it may try."""
        with self._lock:
            failures = self._current(address)
            if failures is None or failures.count < self._most:
                return 0.0
            return failures.since_s + self._wait_s - monotonic_s()

    def note_failure(self, address: str) -> None:
        """Count a failure."""
        with self._lock:
            failures = self._current(address) or _Failures(since_s=monotonic_s())
            failures.count += 1
            self._failures[address] = failures
            while len(self._failures) > MAX_ADDRESSES:
                self._failures.popitem(last=False)

    def note_success(self, address: str) -> None:
        """Forget an address's failures."""
        with self._lock:
            self._failures.pop(address, None)

    def _current(self, address: str) -> _Failures | None:
        failures = self._failures.get(address)
        if failures is not None and monotonic_s() >= failures.since_s + self._wait_s:
            del self._failures[address]
            return None
        return failures
