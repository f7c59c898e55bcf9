"""Outcomes of sandbox actions as text for the model: what ended how, what was read, what is there.

Used for fresh results and for those of operations that a crash interrupted; the text is raw and
still has to be protected.
"""

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
)
from perlica.gateway.tool import ToolResult

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


def _present_command(outcome: CommandOutcome) -> str:
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
    for label, raw, total in (
        ("stdout", outcome.stdout, outcome.stdout_bytes),
        ("stderr", outcome.stderr, outcome.stderr_bytes),
    ):
        if total:
            parts.append(f"{label} ({total} bytes):\n{raw.decode('utf-8', 'replace')}")
    return "\n".join(parts)


def _present_piece(outcome: FileRead) -> str:
    end = outcome.offset_bytes + len(outcome.content)
    text = _read_text(outcome.content)
    if text is None:
        return _binary(outcome.size_bytes)
    more = "" if end >= outcome.size_bytes else f", more from offset_bytes {end}"
    return f"bytes {outcome.offset_bytes} to {end} of {outcome.size_bytes}{more}:\n{text}"


def _present_lines(outcome: LinesRead) -> str:
    text = _read_text(outcome.content)
    if text is None:
        return _binary(outcome.size_bytes)
    if outcome.last_line < outcome.first_line:
        return f"the file has no line {outcome.first_line}, {outcome.size_bytes} bytes"
    more = "the end" if outcome.at_end else f"more from line {outcome.last_line + 1}"
    return f"lines {outcome.first_line} to {outcome.last_line}, {more}:\n{text}"


def _binary(size_bytes: int) -> str:
    return f"binary file, {size_bytes} bytes: not shown"


def _read_text(content: bytes) -> str | None:
    """The bytes as text, None when they are none; a cut character at either end is no fault."""
    if b"\0" in content:
        return None
    text = content.decode("utf-8", "replace")
    if text.count("\ufffd") > max(2, len(text) * _MOST_UNREADABLE):
        return None
    return text


def _present_listing(outcome: FilesListed) -> str:
    lines = [
        f"{e.kind:9} {e.mode & 0o7777:04o} {e.size_bytes:>10} {e.name}" for e in outcome.entries
    ]
    if not outcome.complete:
        lines.append("… more entries are not shown")
    return "\n".join(lines) or "(empty directory)"
