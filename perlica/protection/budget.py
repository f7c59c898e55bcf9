"""Bounds of one scan: time, size, depth and number of findings.

The scanner asks between rules and matches. A bound that is hit raises, and the entry turns that
into
`scan_incomplete`: a scan that was not finished must never look like a clean one.
"""

import time
from dataclasses import dataclass
from typing import Final

UNIT_BYTES: Final = 128 * 1024
OVERLAP_BYTES: Final = 8 * 1024
MAX_VALUE_BYTES: Final = 64 * 1024 * 1024
DEADLINE_S: Final = 0.25
"""Processor time one unit may take: a busy machine must not withhold a message."""
DEADLINE_WALL_S: Final = 10.0
MAX_DECODE_DEPTH: Final = 4
MAX_DECODED_BYTES: Final = 1024 * 1024
MAX_VIEW_BYTES: Final = 4 * 1024 * 1024
MAX_FINDINGS: Final = 2000


class ScanIncomplete(Exception):
    """A bound was hit; what was scanned so far must not be used."""


@dataclass(slots=True)
class Budget:
    """What one unit may still spend: until when by processor time and by the clock."""

    deadline_s: float
    deadline_wall_s: float
    decoded_bytes_left: int = MAX_DECODED_BYTES
    view_bytes_left: int = MAX_VIEW_BYTES
    findings_left: int = MAX_FINDINGS

    @classmethod
    def start(cls, allowed_s: float = DEADLINE_S) -> "Budget":
        """Return a full budget that ends after `allowed_s` of this thread's processor time."""
        return cls(
            deadline_s=time.thread_time() + allowed_s,
            deadline_wall_s=time.monotonic() + DEADLINE_WALL_S,
        )

    def check(self) -> None:
        """Raise when the time is up."""
        if time.thread_time() > self.deadline_s or time.monotonic() > self.deadline_wall_s:
            raise ScanIncomplete("deadline")

    def spend_decoded(self, count: int) -> None:
        """Take `count` bytes of decoded content."""
        self.decoded_bytes_left -= count
        if self.decoded_bytes_left < 0:
            raise ScanIncomplete("decoded size")
        self.check()

    def spend_view(self, count: int) -> None:
        """Take `count` bytes of derived views."""
        self.view_bytes_left -= count
        if self.view_bytes_left < 0:
            raise ScanIncomplete("view size")

    def spend_finding(self) -> None:
        """Take one finding."""
        self.findings_left -= 1
        if self.findings_left < 0:
            raise ScanIncomplete("findings")
