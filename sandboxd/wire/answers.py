"""What the daemon answers, errors included.

Private to `sandboxd.wire`, which offers all of it under one name.
"""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import Field

from sandboxd.wire.requests import Limits
from sandboxd.wire.terms import (
    Base64Text,
    Digest,
    Instance,
    Name,
    Network,
    Operation,
    OperationId,
    Wire,
    decode_bytes,
)

ErrorCode = Literal[
    "refused",  # never in this form: say so
    "busy",  # nothing happened; the same request may be sent again later
    "not_found",  # the sandbox, image or operation is not here
    "retryable",  # nothing happened, or it was undone; try again later
    "unknown_outcome",  # something may have happened: look it up, never repeat
    "misconfigured",  # the node cannot do this until somebody changes it
]
HTTP_STATUS_OF_ERROR: Final[Mapping[ErrorCode, int]] = {
    "refused": 409,
    "busy": 429,
    "not_found": 404,
    "retryable": 503,
    "unknown_outcome": 502,
    "misconfigured": 501,
}


class ErrorAnswer(Wire):
    """Every answer other than 2xx. `kernel` holds the kernel's own words where it had some.

    `recorded`: the operation id is used up; sending it again returns this same error.
    """

    error: ErrorCode
    message: str
    remedy: str = ""
    kernel: tuple[str, ...] = ()
    recorded: bool = False


class NodeFacts(Wire):
    """What this node offers; found out at the start of the daemon.

    `file_system`: the type of the one that the state directory lies on, such as "xfs".
    `configuration`: SHA-256 in hexadecimal digits over everything that decides how sandboxes are
    mounted and confined. `code`: the same over the daemon's own files. The three decide whether a
    report of the gate speaks for the node; None comes from a daemon that cannot tell.
    """

    kernel: str
    runtime: str
    runtime_version: str
    cgroup_mode: Literal["hybrid", "v1", "v2"]
    idmapped_layers: bool
    layers_by_descriptor: bool
    outputs_survive_restart: bool
    file_system: str | None = None
    configuration: str | None = None
    code: str | None = None


class NodeCounts(Wire):
    """How much of it is in use."""

    images: int
    sandboxes: int
    ready: int
    running_operations: int
    unacknowledged_operations: int


class HealthReport(Wire):
    """GET /v1/health. `epoch` is the highest one seen.

    `identity` is random and made with the state directory: another one under the same name means
    that the node was installed anew. "" from a daemon older than this field.
    """

    protocol: int
    version: str
    node: str
    identity: str = ""
    started_at_ms: int
    epoch: int
    facts: NodeFacts
    counts: NodeCounts


class HeldImage(Wire):
    """One image that sandboxes can be made of."""

    digest: Digest
    reference: str
    squashfs_sha256: str
    size_bytes: int
    imported_at_ms: int


class ImageList(Wire):
    """GET /v1/images."""

    images: tuple[HeldImage, ...]


SandboxPhase = Literal["creating", "stopped", "ready", "deleting", "broken"]


class DiskUse(Wire):
    """The sandbox's own file system; `used_bytes` is None while it is not mounted."""

    size_bytes: int
    used_bytes: int | None


class SandboxState(Wire):
    """GET /v1/sandboxes/{name}. `broken_because` is empty unless the state is `broken`."""

    kind: Literal["sandbox"] = "sandbox"
    name: Name
    instance: Instance
    state: SandboxPhase
    image_digest: Digest
    created_at_ms: int
    limits: Limits
    network: Network = "none"
    disk: DiskUse
    running_operations: tuple[OperationId, ...] = ()
    broken_because: str = ""


class SandboxList(Wire):
    """GET /v1/sandboxes."""

    sandboxes: tuple[SandboxState, ...]


Ending = Literal["exited", "signalled", "timed_out", "cancelled", "failed_to_start"]


class ExecOutcome(Wire):
    """What became of one command.

    `exit_code` is set when it `exited`, `signal` when it was `signalled`. `stdout_bytes` and
    `stderr_bytes` count everything that was written, also what was cut. With `output_lost` the
    command ended as said but its output is gone (acknowledged, evicted or lost with the daemon).
    `stdout_head_bytes` and `stderr_head_bytes`: how much of what was kept stands in front of what
    was left out; None comes from a record of an older daemon. `output_limit_bytes` and the margins
    are those of the request.
    `failed_to_start`: stderr holds the runtime's words, nothing of the command ran. With
    `out_of_memory` the kernel killed a process of the sandbox for its memory limit meanwhile.
    """

    kind: Literal["exec"] = "exec"
    operation: Operation
    ended: Ending
    exit_code: int | None = None
    signal: int | None = None
    stdout_base64: Base64Text = Field(default="", repr=False)
    stderr_base64: Base64Text = Field(default="", repr=False)
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    stdout_head_bytes: int | None = None
    stderr_head_bytes: int | None = None
    output_limit_bytes: int = 0
    stdout_truncated: bool = False
    stderr_truncated: bool = False
    output_lost: bool = False
    out_of_memory: bool = False
    duration_ms: int = 0

    @property
    def stdout(self) -> bytes:
        """The kept bytes of stdout; when cut, beginning and end, see `stdout_head_bytes`."""
        return decode_bytes(self.stdout_base64)

    @property
    def stderr(self) -> bytes:
        """The kept bytes of stderr."""
        return decode_bytes(self.stderr_base64)


StreamName = Literal["stdout", "stderr"]


class StreamOutput(Wire):
    """One line of a streamed exec. Before `content`, `skipped_bytes` of that stream were left out
    because the caller was slow or the node's bound was reached; the outcome still has both ends.
    """

    kind: Literal["output"] = "output"
    stream: StreamName
    skipped_bytes: int = 0
    content_base64: Base64Text = Field(repr=False)

    @property
    def content(self) -> bytes:
        """The bytes, cut anywhere, also inside a character."""
        return decode_bytes(self.content_base64)


class StreamEnd(Wire):
    """The last line of a streamed exec: what a plain exec would have answered."""

    kind: Literal["end"] = "end"
    outcome: ExecOutcome | None = None
    failure: ErrorAnswer | None = None


StreamLine = Annotated[StreamOutput | StreamEnd, Field(discriminator="kind")]


class DeletionProof(Wire):
    """What was looked at after a deletion, each found gone. One that is not gone is an error."""

    kind: Literal["deletion"] = "deletion"
    operation: Operation
    name: Name
    instance: Instance
    runtime_absent: bool
    processes_absent: bool
    mounts_absent: bool
    loop_device_absent: bool
    files_absent: bool
    checked_at_ms: int


class FileContent(Wire):
    """A piece of a file. `size_bytes` is the whole file's size when it was opened."""

    size_bytes: int
    mode: int
    modified_at_ms: int
    offset: int
    content_base64: Base64Text = Field(repr=False)

    @property
    def content(self) -> bytes:
        """The bytes read."""
        return decode_bytes(self.content_base64)


class FileWritten(Wire):
    """The file is durable under its name. `replaced`: there was one before."""

    kind: Literal["written"] = "written"
    operation: Operation
    size_bytes: int
    replaced: bool


FileType = Literal["file", "directory", "symlink", "fifo", "socket", "device", "other"]


class FileEntry(Wire):
    """One name in a directory. `name` shows undecodable bytes as U+FFFD."""

    name: str = Field(repr=False)
    type: FileType
    size_bytes: int
    mode: int
    uid: int
    gid: int
    modified_at_ms: int


class FileListing(Wire):
    """Entries sorted by name; `complete` is False when the limit cut them."""

    entries: tuple[FileEntry, ...]
    complete: bool


class GarbageCollected(Wire):
    """What a collection removed and what it left, each with the reason."""

    kind: Literal["garbage"] = "garbage"
    operation: Operation
    removed: tuple[str, ...]
    kept: tuple[str, ...]
    freed_bytes: int


OperationPhase = Literal["unknown", "started", "finished", "interrupted", "output_lost"]
Outcome = Annotated[
    ExecOutcome | SandboxState | DeletionProof | FileWritten | GarbageCollected,
    Field(discriminator="kind"),
]


class OperationReport(Wire):
    """GET /v1/operations/{id}.

    unknown: never started here (or forgotten long after it was acknowledged).
    started: runs now. finished: see `outcome`, or `failure` if it failed.
    interrupted: the daemon died meanwhile; nothing of it runs any more and it is never repeated.
    output_lost: a command ended, `outcome` says how, its output is gone.
    """

    operation: Operation
    state: OperationPhase
    sandbox: str = ""
    started_at_ms: int | None = None
    finished_at_ms: int | None = None
    outcome: Outcome | None = None
    failure: ErrorAnswer | None = None


class CancelAnswer(Wire):
    """`cancelled`: it has ended. `ending`: it was told to, and had not after two seconds."""

    operation: Operation
    state: Literal["cancelled", "ending", "not_running"]


class AcknowledgeAnswer(Wire):
    """The output, if any was kept, is gone now."""

    operation: Operation
    acknowledged: bool
