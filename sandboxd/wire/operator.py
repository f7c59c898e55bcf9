"""What operators ask for: operations, use, log, garbage. The service needs none of it.

Private to `sandboxd.wire`, which offers all of it under one name.
"""

from typing import Literal

from pydantic import Field

from sandboxd.wire.answers import ErrorCode, OperationPhase
from sandboxd.wire.terms import Digest, Epoch, Name, Operation, Wire


class OperationSummary(Wire):
    """One line of the journal's account. `error` is empty unless it failed."""

    operation: Operation
    kind: str
    sandbox: str
    state: OperationPhase
    error: ErrorCode | Literal[""] = ""
    started_at_ms: int
    finished_at_ms: int | None
    acknowledged: bool


class OperationList(Wire):
    """GET /v1/operations: the newest last, at most a thousand."""

    operations: tuple[OperationSummary, ...]


class SandboxUse(Wire):
    """What a sandbox uses now; all 0 while it is stopped. `cpu_ms` counts since its start."""

    name: Name
    state: str
    memory_bytes: int
    memory_limit_bytes: int
    pids: int
    pids_limit: int
    cpu_ms: int
    disk_used_bytes: int | None
    disk_bytes: int
    running_operations: int


class UseReport(Wire):
    """GET /v1/use. `resident_bytes` is the daemon's own memory."""

    at_ms: int
    resident_bytes: int
    sandboxes: tuple[SandboxUse, ...]


class LogLine(Wire):
    """One record of the daemon's log: ids and facts, never content."""

    at_ms: int
    level: str
    logger: str
    message: str


class LogReport(Wire):
    """GET /v1/log: the newest last, as many as the daemon keeps in memory."""

    lines: tuple[LogLine, ...]


OrphanKind = Literal["disk", "container", "control_group", "mount", "loop", "image_file"]


class Orphan(Wire):
    """Something that belongs to no sandbox and no image. Without `evidence` it is only listed."""

    kind: OrphanKind
    name: str
    size_bytes: int = 0
    evidence: str = ""


class UnusedImage(Wire):
    """An image that no sandbox was made of."""

    digest: Digest
    reference: str
    size_bytes: int
    imported_at_ms: int


class GarbageReport(Wire):
    """GET /v1/garbage."""

    images: tuple[UnusedImage, ...]
    orphans: tuple[Orphan, ...]


class CollectRequest(Wire):
    """POST /v1/garbage -> GarbageCollected. Removes orphans that have evidence, unused images of
    at least that age, and the disks that `disks` names (their instances), whatever the evidence.
    """

    operation: Operation
    epoch: Epoch
    images_older_than_ms: int | None = Field(default=None, ge=0)
    disks: tuple[str, ...] = Field(default=(), max_length=64)
    orphans: bool = True
