"""What a caller sends. Each class names its address and its answer.

Private to `sandboxd.wire`, which offers all of it under one name.
"""

from collections.abc import Mapping

from pydantic import Field, model_validator

from sandboxd.wire.terms import (
    MAX_ARGUMENT_BYTES,
    MAX_ARGUMENTS,
    MAX_ARGUMENTS_BYTES,
    MAX_ENVIRONMENT,
    MAX_FILE_BYTES,
    MAX_LISTED_ENTRIES,
    MAX_MARGIN_BYTES,
    MAX_OUTPUT_BYTES,
    MAX_STDIN_BYTES,
    MAX_TIMEOUT_MS,
    MIN_DISK_BYTES,
    AbsolutePath,
    Base64Text,
    Digest,
    Epoch,
    Instance,
    Name,
    Network,
    NumericId,
    Operation,
    Wire,
    size_of_base64,
)


class Limits(Wire):
    """What one sandbox may use. `cpu_millis` are thousandths of a core."""

    memory_bytes: int = Field(default=512 * 1024 * 1024, ge=16 * 1024 * 1024)
    pids: int = Field(default=256, ge=8, le=65536)
    cpu_millis: int = Field(default=1000, ge=50, le=256_000)
    disk_bytes: int = Field(default=1024 * 1024 * 1024, ge=MIN_DISK_BYTES)
    nofile: int = Field(default=1024, ge=64, le=1_048_576)


class CreateRequest(Wire):
    """POST /v1/sandboxes -> SandboxState. The sandbox is on disk before the answer is sent."""

    operation: Operation
    epoch: Epoch
    name: Name
    image_digest: Digest
    limits: Limits = Limits()
    network: Network = "none"
    """egress: through the node's own allow-list of names and ports, at HTTP_PROXY."""


class User(Wire):
    """Numeric ids inside the sandbox; names are never resolved on the node."""

    uid: NumericId = 0
    gid: NumericId = 0


class ExecRequest(Wire):
    """POST .../exec -> ExecOutcome. One command, no shell unless `argv` names one.

    A stopped sandbox is mounted and started first. `output_limit_bytes` holds for stdout and for
    stderr, each for itself; of longer output the beginning and the end are kept, half of the limit
    and `margin_bytes` of each, one behind the other. The margins are there to be looked at, so that
    what a cut divides can be recognised; they are not for showing. Sent with
    `Accept: application/x-ndjson` the answer is a stream of StreamLine while the command runs.
    """

    operation: Operation
    epoch: Epoch
    instance: Instance
    argv: tuple[str, ...] = Field(min_length=1, max_length=MAX_ARGUMENTS, repr=False)
    cwd: AbsolutePath | None = Field(default=None, repr=False)
    """None: the WorkingDir of the image."""
    env: Mapping[str, str] = Field(default_factory=dict, max_length=MAX_ENVIRONMENT, repr=False)
    user: User | None = None
    """None: the User of the image."""
    stdin_base64: Base64Text = Field(default="", repr=False)
    timeout_ms: int = Field(default=60_000, ge=1, le=MAX_TIMEOUT_MS)
    output_limit_bytes: int = Field(default=256 * 1024, ge=2, le=MAX_OUTPUT_BYTES)
    margin_bytes: int = Field(default=0, ge=0, le=MAX_MARGIN_BYTES)

    @model_validator(mode="after")
    def _fits_into_execve(self) -> "ExecRequest":
        words = [*self.argv, *(f"{key}={value}" for key, value in self.env.items())]
        sizes = [len(word.encode("utf-8", "surrogateescape")) + 1 for word in words]
        if max(sizes) > MAX_ARGUMENT_BYTES or sum(sizes) > MAX_ARGUMENTS_BYTES:
            raise ValueError("argv and env are longer than execve takes")
        if any("\0" in word for word in words):
            raise ValueError("argv and env must not contain NUL bytes")
        if any(not key or "=" in key for key in self.env):
            raise ValueError("names of env must not be empty or contain '='")
        if size_of_base64(self.stdin_base64) > MAX_STDIN_BYTES:
            raise ValueError(f"stdin must be at most {MAX_STDIN_BYTES} bytes")
        return self


class StopRequest(Wire):
    """POST .../stop -> SandboxState. Ends what runs and unmounts; files stay."""

    operation: Operation
    epoch: Epoch
    instance: Instance


class DeleteRequest(Wire):
    """DELETE /v1/sandboxes/{name} -> DeletionProof."""

    operation: Operation
    epoch: Epoch
    instance: Instance


class ReadFileRequest(Wire):
    """POST .../files/read -> FileContent. Reads a regular file inside the sandbox."""

    epoch: Epoch
    instance: Instance
    path: AbsolutePath = Field(repr=False)
    offset: int = Field(default=0, ge=0, le=2**53 - 1)
    limit_bytes: int = Field(default=256 * 1024, ge=1, le=MAX_FILE_BYTES)


class WriteFileRequest(Wire):
    """POST .../files/write -> FileWritten. Whole file, atomic: temporary, fsync, rename, fsync."""

    operation: Operation
    epoch: Epoch
    instance: Instance
    path: AbsolutePath = Field(repr=False)
    content_base64: Base64Text = Field(repr=False, max_length=(MAX_FILE_BYTES + 2) // 3 * 4)
    mode: int | None = Field(default=None, ge=0, le=0o777)
    """None: the mode of the file that is replaced, 0644 for a new one."""
    create_parents: bool = False


class ListFilesRequest(Wire):
    """POST .../files/list -> FileListing. One directory, not its subdirectories."""

    epoch: Epoch
    instance: Instance
    path: AbsolutePath = Field(repr=False)
    limit_entries: int = Field(default=1000, ge=1, le=MAX_LISTED_ENTRIES)
