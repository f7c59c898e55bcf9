"""Keeps equal lines from filling the log: the first is written, the next are only counted.

What was counted is told by a line of its own once the period is over.
"""

import logging
from collections import OrderedDict
from dataclasses import dataclass

from perlica.app.logs.lines import ID_FIELDS
from perlica.domain.clock import monotonic_s

MAX_KEYS = 256

_MEASURES = {"count", "deleted", "duration_ms", "free_bytes", "message_row", "retry_in_s", "rows"}
TELLING_FIELDS = tuple(name for name in ID_FIELDS if name not in _MEASURES)
"""Lines that differ in one of these are different lines; a flood differs only in the others."""

_Key = tuple[str, int, str, str]


@dataclass(slots=True, kw_only=True)
class _Seen:
    """When a line was first written, and the last record that was not."""

    since_s: float
    count: int = 0
    last: logging.LogRecord | None = None


class RepeatGate:
    """Decides which records are written now. Not thread-safe: its handler holds a lock."""

    def __init__(self, within_s: float) -> None:
        """Count equal lines for `within_s` seconds; with 0 everything passes."""
        self._within_s = within_s
        self._seen: OrderedDict[_Key, _Seen] = OrderedDict()

    def admit(self, record: logging.LogRecord, event: str) -> bool:
        """Whether the record is the first of its kind in the period."""
        if self._within_s <= 0:
            return True
        key = _key_of(record, event)
        seen = self._seen.get(key)
        if seen is None:
            self._seen[key] = _Seen(since_s=monotonic_s())
            return True
        seen.count += 1
        seen.last = record
        return False

    def take_counted(self, *, everything: bool = False) -> list[logging.LogRecord]:
        """Records to write for periods that are over, each with `repeated` set; forgets them."""
        counted: list[logging.LogRecord] = []
        over_s = monotonic_s() - self._within_s
        while self._seen:
            seen = next(iter(self._seen.values()))
            if not everything and seen.since_s > over_s and len(self._seen) <= MAX_KEYS:
                break
            self._seen.popitem(last=False)
            if seen.last is not None:
                seen.last.__dict__["repeated"] = seen.count
                counted.append(seen.last)
        return counted


def _key_of(record: logging.LogRecord, event: str) -> _Key:
    kind = record.exc_info[0] if record.exc_info else None
    told = "|".join(str(record.__dict__.get(name, "")) for name in TELLING_FIELDS)
    return record.name, record.levelno, event, f"{kind.__qualname__ if kind else ''}|{told}"
