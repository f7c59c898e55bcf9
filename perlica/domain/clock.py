"""The only door to time: wall time as integer milliseconds UTC, waiting by monotonic seconds."""

import time


def now_ms() -> int:
    """Wall time in milliseconds since 1970-01-01 UTC."""
    return time.time_ns() // 1_000_000


def monotonic_s() -> float:
    """Seconds of a clock that never goes back; for waiting and durations only."""
    return time.monotonic()
