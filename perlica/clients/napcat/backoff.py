"""How long to wait before the next attempt: full jitter, so that nobody retries in step.

Used by the link for connections and by the outbox for messages that were not sent.
"""

import random


class Backoff:
    """Doubles its bound from `first_s` to `cap_s`; each wait is drawn from zero to the bound."""

    def __init__(self, first_s: float, cap_s: float) -> None:
        """Start at the first bound."""
        self._first_s = first_s
        self._cap_s = cap_s
        self._attempts = 0

    def next_s(self) -> float:
        """Seconds to wait now; the bound doubles."""
        bound_s = bound_after(self._attempts, self._first_s, self._cap_s)
        self._attempts += 1
        return random.uniform(0, bound_s)  # noqa: S311 - spreads load, guards nothing

    def reset(self) -> None:
        """Begin again at the first bound."""
        self._attempts = 0


def bound_after(attempts: int, first_s: float, cap_s: float) -> float:
    """The longest wait after so many failed attempts, in seconds."""
    return min(cap_s, first_s * 2.0 ** min(attempts, 30))
