"""Small protocols through which lower rooms reach actors; wiring fills them in.

The gateway knows nothing of Pykka: it runs a sandbox job through `SandboxRunner` and rings
`Ringer`s after a commit.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from perlica.domain.cancel import CancelToken
from perlica.domain.ids import OperationId, RowId, SandboxName
from perlica.domain.sandbox import (
    Absence,
    Action,
    ActionOutcome,
    BackendSandbox,
    LinesRead,
    ReadLines,
    SandboxSpec,
)

SANDBOX_EXECUTOR: Final = "sandbox"
"""What `operations.executor` holds where a sandbox's serializer carries an operation out."""

Ringer = Callable[[], None]
"""Wake somebody who reads a table; losing it costs a delay only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """Make the sandbox of a reserved row from the image of that row."""

    spec: SandboxSpec
    image_digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Stop a sandbox; its files stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """Delete a sandbox and prove its absence.

    With `untouched_since_ms` only if it was not used after that time when its turn comes.
    """

    untouched_since_ms: int | None = None


Work = Action | ReadLines | Create | Stop | Delete


class JobKind(StrEnum):
    """What a job does; `sandbox_operations.kind` holds these words."""

    create = "create"
    exec = "exec"
    read = "read"
    write = "write"
    list = "list"
    stop = "stop"
    delete = "delete"


WRITING = frozenset(JobKind) - {JobKind.read, JobKind.list}


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxJob:
    """One operation in or on the sandbox that holds `slot`, on the node it is pinned to.

    `slot` is 0 for what is left of a sandbox that holds none any more. `work` is None for a job
    that is only looked up after a crash, never run again.
    """

    operation: OperationId
    sandbox: RowId
    slot: int
    node: str
    name: SandboxName
    instance: str
    kind: JobKind
    work: Work | None = field(default=None, repr=False)

    @property
    def writes(self) -> bool:
        """Whether it must wait its turn among the writes of its sandbox."""
        return self.kind in WRITING


JobOutcome = ActionOutcome | LinesRead | BackendSandbox | Absence


class SandboxRunner(Protocol):
    """Runs jobs of one sandbox in order; implemented over the serializer actors."""

    def run(self, job: SandboxJob, cancel: CancelToken, *, within_s: float) -> JobOutcome:
        """Wait for the job's end; its operation row is committed when this returns.

        A cancel stops the job; a token that is leaving ends the waiting alone.

        Raises: Cancelled, Refused, Retryable (never started), OutcomeUnknown, Misconfigured.
        """
        ...

    def settle(self, job: SandboxJob, cancel: CancelToken, *, within_s: float) -> JobOutcome:
        """Find out how a job ended that was in hand at a crash; never runs it again.

        A cancel ends the asking and changes nothing. Raises: as `run`; OutcomeUnknown when the
        backend cannot say.
        """
        ...

    def submit(self, job: SandboxJob, *, stops: bool = False) -> None:
        """Hand a job over and return at once; its operation's row tells how it ended.

        A job without work is looked up, with `stops` also stopped if it still runs. Raises:
        Retryable when nobody takes it.
        """
        ...

    def abandon(self, job: SandboxJob) -> None:
        """Take back a queued job that no worker holds any more.

        Raises: StaleState when it was started after all.
        """
        ...

    def acknowledge(self, operation: OperationId) -> None:
        """Its result is stored; the backend may forget the output. Never raises."""
        ...
