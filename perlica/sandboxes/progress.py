"""Progress of a running command, from its output as it comes.

Used by the job's performer where the backend streams. What is kept is a count and one line. The
line is cut out of the end of its stream after that end was protected together with a margin in
front of it; what follows a gap, or the beginning of what is kept, is margin and never shown.
"""

from dataclasses import dataclass, field
from typing import Final

from perlica.domain.clock import monotonic_s
from perlica.domain.errors import PerlicaError
from perlica.domain.ids import OperationId
from perlica.protection import Channel, Protected, Stretch, protect, protect_pieces, truncate
from perlica.stores.database import Database
from perlica.stores.progress import ProgressStore

EVERY_S: Final = 2.0
SHOWN_BYTES: Final = 32 * 1024
"""A line is looked for in so much of the end of a stream."""
TAIL_MARGIN_BYTES: Final = 64 * 1024
"""Kept in front of that; smaller than a result's, because it is looked at every two seconds."""
LINE_CODE_POINTS: Final = 400


@dataclass(slots=True)
class StreamTail:
    """The end of one stream. `is_cut`: something stands, or stood, in front of what is kept."""

    kept: bytes = b""
    is_cut: bool = False

    def take(self, content: bytes, missing_bytes: int) -> None:
        """Add a piece; behind a gap everything begins anew."""
        if missing_bytes:
            self.kept, self.is_cut = b"", True
        self.kept += content
        surplus = len(self.kept) - SHOWN_BYTES - TAIL_MARGIN_BYTES
        if surplus > 0:
            self.kept, self.is_cut = self.kept[surplus:], True

    def last_line(self) -> Protected:
        """The last whole line, protected; "" while none of it may be shown."""
        nothing = protect("", Channel.TOOL_RESULT)
        end = self.kept.rfind(b"\n") + 1
        margin = TAIL_MARGIN_BYTES if self.is_cut else 0
        text = self.kept[:end].rstrip()
        begin = max(text.rfind(b"\n") + 1, text.rfind(b"\r") + 1, margin)
        if begin >= len(text):
            return nothing
        stretch = Stretch(data=self.kept, shown=((begin, len(text)),), is_cut=self.is_cut)
        ((piece,),) = protect_pieces([stretch], Channel.TOOL_RESULT)
        return truncate(piece.protected, LINE_CODE_POINTS)


@dataclass(slots=True, kw_only=True)
class OutputWatch:
    """Takes pieces of output in the worker's thread and notes how far it is, now and then."""

    database: Database
    operation: OperationId
    every_s: float = EVERY_S
    _bytes: int = 0
    _tails: dict[str, StreamTail] = field(default_factory=dict)
    _next_s: float = field(default_factory=monotonic_s)

    def take(self, stream: str, content: bytes, missing_bytes: int = 0) -> None:
        """One piece of stdout or stderr. Never raises: progress is no reason to lose a command.

        `missing_bytes` of that stream stood in front of it. The streams are kept apart: pieces of
        the one between those of the other would hide what they divide.
        """
        self._bytes += missing_bytes + len(content)
        tail = self._tails.setdefault(stream, StreamTail())
        tail.take(content, missing_bytes)
        if monotonic_s() < self._next_s:
            return
        self._next_s = monotonic_s() + self.every_s
        try:
            with self.database.transaction():
                line = tail.last_line()
                ProgressStore(self.database).note(self.operation, self._bytes, line)
        except PerlicaError:
            return
