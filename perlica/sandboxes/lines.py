"""Whole lines of a file out of pieces of it, so that no backend needs to know about lines.

Used by the job's performer for `ReadLines`; reads as much of the file as it takes to count.
"""

from dataclasses import dataclass, field

from perlica.domain.errors import Refused
from perlica.domain.sandbox import LinesRead, ReadFile, ReadLines, Surroundings
from perlica.sandboxes.ranges import PIECE_BYTES, ReadPiece, read_range


@dataclass(slots=True)
class _Collector:
    """Lines as they come by; `line` is the one that the next byte belongs to.

    `begins_at` is the byte that the first wanted line begins with, `taken_bytes` what came by.
    """

    wanted: ReadLines
    line: int = 1
    kept: list[bytes] = field(default_factory=list)
    kept_bytes: int = 0
    last_line: int = 0
    open_piece: bytes = b""
    is_full: bool = False
    begins_at: int = 0
    taken_bytes: int = 0

    def take(self, piece: bytes) -> None:
        """Go through a piece; stops taking when the lines or the room are used up."""
        *whole, rest = (self.open_piece + piece).split(b"\n")
        at = self.taken_bytes - len(self.open_piece)
        for text in whole:
            self._keep(text + b"\n")
            self.line += 1
            at += len(text) + 1
            if self.line == self.wanted.first_line:
                self.begins_at = at
        self.taken_bytes += len(piece)
        is_wanted = self.line >= self.wanted.first_line
        if is_wanted and len(rest) > self.wanted.limit_bytes - self.kept_bytes:
            self._keep(rest)
        # Of a line that is not wanted only its being there counts.
        self.open_piece = rest if is_wanted else rest[:1]

    def end(self) -> None:
        """The file is over; a last line may have no line end."""
        if self.open_piece:
            self._keep(self.open_piece)
            self.line += 1

    @property
    def is_done(self) -> bool:
        """Whether nothing more of the file is wanted."""
        return self.is_full or self.line > self.wanted.last_line

    def _keep(self, text: bytes) -> None:
        if self.is_full or not self.wanted.first_line <= self.line <= self.wanted.last_line:
            return
        room = self.wanted.limit_bytes - self.kept_bytes
        if len(text) > room:
            if not self.kept:
                raise Refused(
                    "line_too_long",
                    f"line {self.line} is longer than {self.wanted.limit_bytes} bytes; read it by"
                    " offset_bytes",
                )
            self.is_full = True
            return
        self.kept.append(text)
        self.kept_bytes += len(text)
        self.last_line = self.line


def read_lines(wanted: ReadLines, read: ReadPiece) -> LinesRead:
    """The wanted lines. Raises: Refused for a line that is too long or lies too far behind."""
    collector = _Collector(wanted)
    offset, size, at_end = 0, 0, False
    while not collector.is_done and not at_end:
        if offset >= wanted.scan_bytes:
            raise Refused(
                "too_far", f"line {wanted.first_line} is not in the first {wanted.scan_bytes} bytes"
            )
        piece = read(ReadFile(path=wanted.path, offset_bytes=offset, limit_bytes=PIECE_BYTES))
        size = piece.size_bytes
        offset += len(piece.content)
        at_end = not piece.content or offset >= size
        collector.take(piece.content)
    if at_end:
        collector.end()
    last_line = max(collector.last_line, wanted.first_line - 1)
    whole = ReadFile(
        path=wanted.path, offset_bytes=collector.begins_at, limit_bytes=collector.kept_bytes
    )
    # Read once more, with what stands around it: what is shown is what was looked at.
    found = read_range(whole, read) if collector.kept_bytes else None
    return LinesRead(
        size_bytes=size,
        first_line=wanted.first_line,
        last_line=last_line,
        at_end=at_end and collector.line - 1 <= last_line,
        content=found.content if found else b"",
        around=found.around if found else Surroundings(),
    )
