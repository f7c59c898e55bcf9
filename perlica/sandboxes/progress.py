"""Progress of a running command, from its output as it comes.

Used by the job's performer where the backend streams. What is kept is a count and one line; the
line is cut out of the end of the output after all of that end was protected together, so that a
credential over several lines is seen whole.
"""

from dataclasses import dataclass, field
from typing import Final

from perlica.domain.clock import monotonic_s
from perlica.domain.errors import PerlicaError
from perlica.domain.ids import OperationId
from perlica.protection import Channel, Protected, protect, restore, truncate
from perlica.stores.database import Database
from perlica.stores.progress import ProgressStore

EVERY_S: Final = 2.0
TAIL_BYTES: Final = 32 * 1024
LINE_CODE_POINTS: Final = 400


@dataclass(slots=True, kw_only=True)
class OutputWatch:
    """Takes pieces of output in the worker's thread and notes how far it is, now and then."""

    database: Database
    operation: OperationId
    every_s: float = EVERY_S
    _bytes: int = 0
    _tail: bytes = b""
    _next_s: float = field(default_factory=monotonic_s)

    def take(self, _stream: str, content: bytes) -> None:
        """One piece of stdout or stderr. Never raises: progress is no reason to lose a command."""
        self._bytes += len(content)
        self._tail = (self._tail + content)[-TAIL_BYTES:]
        if monotonic_s() < self._next_s:
            return
        self._next_s = monotonic_s() + self.every_s
        try:
            with self.database.transaction():
                line = last_line(self._tail)
                ProgressStore(self.database).note(self.operation, self._bytes, line)
        except PerlicaError:
            return


def last_line(tail: bytes) -> Protected:
    """The last whole line of the end of an output, protected; "" while there is none."""
    whole, line_end, _ = tail.rpartition(b"\n")
    text = protect((whole + line_end).decode("utf-8", "replace"), Channel.TOOL_RESULT)
    lines = text.content.strip().splitlines()
    line = restore(
        lines[-1] if lines else "", text.status.value, text.policy_version, text.finding_count
    )
    return truncate(line, LINE_CODE_POINTS)
