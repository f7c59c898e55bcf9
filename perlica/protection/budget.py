"""Bounds of one scan: steps of work, time, size, depth and number of findings.

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
STEPS: Final = 4000
STEPS_FOR_EACH_KIB: Final = 600
"""Work that one unit may cost: matches read, escapes undone, values judged. Logs and manifests
cost 20 to 120 for each KiB, a table of nothing but names 400; the same text costs the same on
every machine."""
MOST_STEPS_OF_A_MESSAGE: Final = 14_000
"""What people type is short: more work than this, about 0.1 s, is a trap."""
DEADLINE_S: Final = 2.0
"""Processor time one unit may take, should its steps be dear: a busy machine withholds nothing."""
DEADLINE_WALL_S: Final = 30.0
_STEPS_BETWEEN_LOOKS: Final = 64
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
    steps_left: int
    decoded_bytes_left: int = MAX_DECODED_BYTES
    view_bytes_left: int = MAX_VIEW_BYTES
    findings_left: int = MAX_FINDINGS

    @classmethod
    def start(cls, size_bytes: int, *, most_steps: int | None = None) -> "Budget":
        """Return a full budget for a unit of that size; its clocks run from now on."""
        steps = STEPS + STEPS_FOR_EACH_KIB * (size_bytes // 1024)
        return cls(
            deadline_s=time.thread_time() + DEADLINE_S,
            deadline_wall_s=time.monotonic() + DEADLINE_WALL_S,
            steps_left=steps if most_steps is None else min(steps, most_steps),
        )

    def check(self) -> None:
        """Look at the clock. Raises: ScanIncomplete when the time is up."""
        if time.thread_time() > self.deadline_s or time.monotonic() > self.deadline_wall_s:
            raise ScanIncomplete("deadline")

    def spend(self, steps: int) -> None:
        """Take some steps of work, and look at the clocks now and then.

        Raises: ScanIncomplete when the work allowed is used up.
        """
        before = self.steps_left
        self.steps_left = before - steps
        if self.steps_left < 0:
            raise ScanIncomplete("steps")
        if before // _STEPS_BETWEEN_LOOKS != self.steps_left // _STEPS_BETWEEN_LOOKS:
            self.check()

    def spend_decoded(self, count: int) -> None:
        """Take `count` bytes of decoded content.

        Raises: ScanIncomplete when too much was decoded.
        """
        self.decoded_bytes_left -= count
        if self.decoded_bytes_left < 0:
            raise ScanIncomplete("decoded size")
        self.check()

    def spend_view(self, count: int) -> None:
        """Take `count` bytes of derived views.

        Raises: ScanIncomplete when there are too many views.
        """
        self.view_bytes_left -= count
        if self.view_bytes_left < 0:
            raise ScanIncomplete("view size")

    def spend_finding(self) -> None:
        """Take one finding.

        Raises: ScanIncomplete when there are too many findings.
        """
        self.findings_left -= 1
        if self.findings_left < 0:
            raise ScanIncomplete("findings")
