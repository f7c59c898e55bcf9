"""Outcomes of sandbox actions as text for the model: what ended how, what was read, what is there.

Used for fresh results and for those of operations that a crash interrupted. What is only a piece of
an output or of a file is protected here, together with what stands around it, and cut afterwards;
other text is raw and still has to be protected.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from perlica.domain.ports import JobOutcome
from perlica.domain.sandbox import (
    Absence,
    BackendSandbox,
    CommandOutcome,
    FileRead,
    FilesListed,
    FileWritten,
    LinesRead,
    Surroundings,
)
from perlica.gateway.core.work import ToolResult
from perlica.protection import Channel, Piece, Protected, Stretch, join, protect, protect_pieces

_MOST_UNREADABLE: Final = 0.1
"""Of a text in UTF-8 at most this share of the characters may be broken; else it is binary."""


def present(sandbox: str, outcome: JobOutcome) -> ToolResult:
    """The outcome of an action as text for the model."""
    source = f"sandbox:{sandbox}"
    match outcome:
        case CommandOutcome():
            failed = outcome.ended != "exited" or outcome.exit_code != 0
            return ToolResult(text=_present_command(outcome), source=source, failed=failed)
        case FileRead():
            return ToolResult(text=_present_piece(outcome), source=source)
        case LinesRead():
            return ToolResult(text=_present_lines(outcome), source=source)
        case FilesListed():
            return ToolResult(text=_present_listing(outcome), source=source)
        case FileWritten():
            verb = "replaced" if outcome.replaced else "created"
            return ToolResult(text=f"{verb}, {outcome.size_bytes} bytes", source=source)
        case BackendSandbox():
            return ToolResult(text=f"sandbox {sandbox} is {outcome.state}", source=source)
        case Absence():
            return ToolResult(text=f"sandbox {sandbox} is deleted", source=source)


def _present_command(outcome: CommandOutcome) -> Protected:
    ending = {
        "exited": f"exit code {outcome.exit_code}",
        "signalled": f"ended by signal {outcome.signal}",
        "timed_out": "stopped: time limit reached",
        "cancelled": "stopped: cancelled",
        "failed_to_start": "could not be started",
    }.get(outcome.ended, outcome.ended)
    parts = [f"{ending}, {outcome.duration_ms} ms"]
    if outcome.out_of_memory:
        parts.append("a process was killed meanwhile: the sandbox reached its memory limit")
    if outcome.output_lost:
        parts.append("its output was lost with the node daemon; it is not run again")
    streams = [
        _Stream("stdout", outcome.stdout, outcome.stdout_bytes, outcome.stdout_head_bytes),
        _Stream("stderr", outcome.stderr, outcome.stderr_bytes, outcome.stderr_head_bytes),
    ]
    streams = [stream for stream in streams if stream.total_bytes]
    stretches = [stream.stretches(outcome.output_limit_bytes) for stream in streams]
    found = iter(protect_pieces([s for of_one in stretches for s in of_one], Channel.TOOL_RESULT))
    shown = [
        (stream, [piece for _ in of_one for piece in next(found)])
        for stream, of_one in zip(streams, stretches, strict=True)
    ]
    return _join("\n".join(parts), *(part for stream, of in shown for part in stream.words(of)))


@dataclass(frozen=True, slots=True)
class _Stream:
    """What is kept of one output; `head_bytes` of it stand in front of what is missing."""

    label: str
    kept: bytes
    total_bytes: int
    head_bytes: int | None

    def stretches(self, limit_bytes: int) -> list[Stretch]:
        """What has to be looked at together, and what of it is shown."""
        size = len(self.kept)
        if not limit_bytes or self.total_bytes <= limit_bytes:
            return [Stretch(data=self.kept, shown=((0, size),))]
        head, tail = limit_bytes // 2, limit_bytes - limit_bytes // 2
        gap = self.head_bytes
        if gap is None:
            return [Stretch(data=self.kept, shown=((0, head), (size - tail, size)))]
        front, back = self.kept[:gap], self.kept[gap:]
        return [
            Stretch(data=front, shown=((0, min(head, gap)),)),
            Stretch(data=back, shown=((max(0, len(back) - tail), len(back)),), is_cut=True),
        ]

    def words(self, pieces: list[Piece]) -> Iterator[str | Protected]:
        """The shown pieces under their title, with a line between them that says what is not."""
        yield f"\n{self.label} ({self.total_bytes} bytes):\n"
        first, *last = (piece.protected for piece in pieces)
        yield first
        for piece in last:
            yield f"\n[... the middle of {self.total_bytes} bytes is left out ...]\n"
            yield piece


def _join(*parts: str | Protected) -> Protected:
    """All of it as one text, looked at once more as a whole."""
    every = (p if isinstance(p, Protected) else protect(p, Channel.TOOL_RESULT) for p in parts)
    return join(every, "")


def _cut(content: bytes, around: Surroundings) -> Piece:
    """A piece of a file, looked at together with what stands around it."""
    begin = len(around.before)
    whole = Stretch(
        data=around.before + content + around.behind,
        shown=((begin, begin + len(content)),),
        is_cut=around.is_cut,
    )
    ((piece,),) = protect_pieces([whole], Channel.TOOL_RESULT)
    return piece


def _present_piece(outcome: FileRead) -> str | Protected:
    if not _is_text(outcome.content):
        return _binary(outcome.size_bytes)
    piece = _cut(outcome.content, outcome.around)
    begin = outcome.offset_bytes
    end = begin + piece.end - len(outcome.around.before)
    if end <= begin:  # Nothing but a part of one character: the next read must get on.
        end = begin + len(outcome.content)
    more = "" if end >= outcome.size_bytes else f", more from offset_bytes {end}"
    head = f"bytes {begin} to {end} of {outcome.size_bytes}{more}:\n"
    return _join(head, piece.protected)


def _present_lines(outcome: LinesRead) -> str | Protected:
    if not _is_text(outcome.content):
        return _binary(outcome.size_bytes)
    if outcome.last_line < outcome.first_line:
        return f"the file has no line {outcome.first_line}, {outcome.size_bytes} bytes"
    more = "the end" if outcome.at_end else f"more from line {outcome.last_line + 1}"
    head = f"lines {outcome.first_line} to {outcome.last_line}, {more}:\n"
    return _join(head, _cut(outcome.content, outcome.around).protected)


def _binary(size_bytes: int) -> str:
    return f"binary file, {size_bytes} bytes: not shown"


def _is_text(content: bytes) -> bool:
    """Whether the bytes can be shown; a cut character at either end is no fault."""
    if b"\0" in content:
        return False
    text = content.decode("utf-8", "replace")
    return text.count("\ufffd") <= max(2, len(text) * _MOST_UNREADABLE)


def _present_listing(outcome: FilesListed) -> str:
    lines = [
        f"{e.kind:9} {e.mode & 0o7777:04o} {e.size_bytes:>10} {e.name}" for e in outcome.entries
    ]
    if not outcome.complete:
        lines.append("… more entries are not shown")
    return "\n".join(lines) or "(empty directory)"
