"""The node daemon's answers as Perlica's values; the only place that knows both shapes.

Private to `perlica.clients.sandboxd`.
"""

from perlica.domain.errors import OutcomeUnknown
from perlica.domain.ids import SandboxName
from perlica.domain.sandbox import (
    Absence,
    BackendSandbox,
    CommandOutcome,
    FileEntry,
    FileRead,
    FilesListed,
    FileWritten,
    OperationFate,
    OperationLookUp,
    SandboxLimits,
)
from sandboxd import wire


def limits_of(limits: SandboxLimits) -> wire.Limits:
    """The limits as the daemon takes them."""
    return wire.Limits(
        memory_bytes=limits.memory_bytes,
        pids=limits.pids,
        cpu_millis=limits.cpu_millis,
        disk_bytes=limits.disk_bytes,
        nofile=limits.nofile,
    )


def sandbox_of(state: wire.SandboxState) -> BackendSandbox:
    """A sandbox as the backend sees it."""
    return BackendSandbox(
        name=SandboxName(state.name),
        instance=state.instance,
        state=state.state,
        image_digest=state.image_digest,
        disk_bytes=state.disk.size_bytes,
        disk_used_bytes=state.disk.used_bytes,
        reason=state.broken_because,
    )


def command_of(outcome: wire.ExecOutcome) -> CommandOutcome:
    """How a command ended and its raw output.

    An output with a gap that nobody can place is as good as lost: it cannot be looked at whole.
    """
    heads = (outcome.stdout_head_bytes, outcome.stderr_head_bytes)
    if None in heads and (outcome.stdout_truncated or outcome.stderr_truncated):
        lost = {"stdout_base64": "", "stderr_base64": "", "output_lost": True}
        outcome = outcome.model_copy(update=lost)
    return CommandOutcome(
        ended=outcome.ended,
        exit_code=outcome.exit_code,
        signal=outcome.signal,
        stdout=outcome.stdout,
        stderr=outcome.stderr,
        stdout_bytes=outcome.stdout_bytes,
        stderr_bytes=outcome.stderr_bytes,
        duration_ms=outcome.duration_ms,
        stdout_head_bytes=outcome.stdout_head_bytes if outcome.stdout_truncated else None,
        stderr_head_bytes=outcome.stderr_head_bytes if outcome.stderr_truncated else None,
        output_limit_bytes=outcome.output_limit_bytes,
        output_lost=outcome.output_lost,
        out_of_memory=outcome.out_of_memory,
    )


def content_of(answer: wire.FileContent) -> FileRead:
    """A piece of a file, raw."""
    return FileRead(
        size_bytes=answer.size_bytes, offset_bytes=answer.offset, content=answer.content
    )


def listing_of(answer: wire.FileListing) -> FilesListed:
    """The names in a directory."""
    entries = tuple(
        FileEntry(name=e.name, kind=e.type, size_bytes=e.size_bytes, mode=e.mode)
        for e in answer.entries
    )
    return FilesListed(entries=entries, complete=answer.complete)


def written_of(answer: wire.FileWritten) -> FileWritten:
    """The file is durable."""
    return FileWritten(size_bytes=answer.size_bytes, replaced=answer.replaced)


def absence_of(proof: wire.DeletionProof) -> Absence:
    """The proof of absence. Raises OutcomeUnknown when any part is still there."""
    parts = {
        "runtime": proof.runtime_absent,
        "processes": proof.processes_absent,
        "mounts": proof.mounts_absent,
        "loop device": proof.loop_device_absent,
        "files": proof.files_absent,
    }
    left = [part for part, absent in parts.items() if not absent]
    if left:
        raise OutcomeUnknown("sandbox_not_gone", f"still there after deletion: {', '.join(left)}")
    return Absence(
        name=SandboxName(proof.name), instance=proof.instance, checked_at_ms=proof.checked_at_ms
    )


def look_up_of(report: wire.OperationReport) -> OperationLookUp:
    """What became of an operation."""
    match report.state:
        case "unknown":
            return OperationLookUp(fate=OperationFate.not_seen)
        case "started":
            return OperationLookUp(fate=OperationFate.running)
        case "interrupted":
            return OperationLookUp(
                fate=OperationFate.interrupted, reason="the node daemon died meanwhile"
            )
        case "finished" | "output_lost":
            if report.failure is not None:
                return OperationLookUp(fate=OperationFate.failed, reason=report.failure.message)
            return OperationLookUp(
                fate=OperationFate(report.state), outcome=_outcome_of(report.outcome)
            )


def _outcome_of(
    outcome: wire.Outcome | None,
) -> CommandOutcome | BackendSandbox | Absence | FileWritten | None:
    match outcome:
        case wire.ExecOutcome():
            return command_of(outcome)
        case wire.SandboxState():
            return sandbox_of(outcome)
        case wire.DeletionProof():
            return absence_of(outcome)
        case wire.FileWritten():
            return written_of(outcome)
        case wire.GarbageCollected() | None:
            return None
