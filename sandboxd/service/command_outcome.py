"""How a command ended, as the interface tells it."""

from sandboxd.execution.command import Ended
from sandboxd.wire import ExecOutcome, ExecRequest, encode_bytes


def outcome_of(request: ExecRequest, ended: Ended) -> ExecOutcome:
    """The answer to `request`, with what was kept of its output."""
    status = ended.status
    return ExecOutcome(
        operation=request.operation,
        ended=ended.ending,
        exit_code=status if ended.ending == "exited" else None,
        signal=-status if status is not None and ended.ending == "signalled" else None,
        stdout_base64=encode_bytes(ended.stdout.kept()),
        stderr_base64=encode_bytes(ended.stderr.kept()),
        stdout_bytes=ended.stdout.total_bytes,
        stderr_bytes=ended.stderr.total_bytes,
        stdout_head_bytes=ended.stdout.head_bytes,
        stderr_head_bytes=ended.stderr.head_bytes,
        output_limit_bytes=request.output_limit_bytes,
        stdout_truncated=ended.stdout.is_truncated,
        stderr_truncated=ended.stderr.is_truncated,
        duration_ms=ended.duration_ms,
        out_of_memory=ended.out_of_memory,
    )
