"""Sandboxes as values: names, limits, states, and what an action inside one gave.

The backend contract that speaks in them is `perlica.sandboxes.contract`.
"""

import re
from dataclasses import dataclass, field
from enum import StrEnum

from perlica.domain.errors import Refused
from perlica.domain.ids import SandboxName

MAX_SANDBOXES = 3
IDLE_MS_AT_MOST = 7 * 86_400_000
"""A sandbox that was not used for seven days is deleted; a configuration may only shorten this."""
MARGIN_BYTES = 128 * 1024
"""What is read beyond each end of a piece of foreign text, so that content protection sees what the
cut would divide; none of it is shown."""
NAME_PATTERN = re.compile(r"[a-z][a-z0-9-]{0,30}[a-z0-9]", re.ASCII)


class SandboxState(StrEnum):
    """Rows in the first five occupy one of the three slots (`stopped` too: its disk exists)."""

    creating = "creating"
    ready = "ready"
    stopped = "stopped"
    deleting = "deleting"
    unconfirmed = "unconfirmed"
    deleted = "deleted"
    lost = "lost"


OCCUPYING = frozenset(
    {
        SandboxState.creating,
        SandboxState.ready,
        SandboxState.stopped,
        SandboxState.deleting,
        SandboxState.unconfirmed,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxImage:
    """The one global image: reference, manifest digest (`sha256:…`), introduction, revision."""

    reference: str
    digest: str
    introduction: str
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxLimits:
    """Finite limits of one sandbox."""

    memory_bytes: int
    pids: int
    cpu_millis: int
    disk_bytes: int
    nofile: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSpec:
    """What a sandbox is created from; the image is the global one, never chosen here.

    Name, node, limits, network and the time without a use after which it is deleted (`idle_ms`)
    stay for its life.
    """

    name: SandboxName
    purpose: str
    node: str
    limits: SandboxLimits
    network: str = "none"
    idle_ms: int = IDLE_MS_AT_MOST


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command inside a sandbox: argv, never a shell unless argv names one.

    Environment and directory begin with those of the image; `cwd` None is its WorkingDir.
    """

    argv: tuple[str, ...] = field(repr=False)
    cwd: str | None = None
    environment: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    stdin: bytes = field(default=b"", repr=False)
    within_ms: int = 60_000
    output_limit_bytes: int = 65_536
    margin_bytes: int = MARGIN_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFile:
    """A piece of a regular file inside a sandbox."""

    path: str = field(repr=False)
    offset_bytes: int = 0
    limit_bytes: int = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFiles:
    """The names in one directory inside a sandbox."""

    path: str = field(repr=False)
    limit_entries: int = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteFile:
    """A whole file, written atomically inside a sandbox.

    Without a `mode` a file that is replaced keeps its own; a new one gets 0644.
    """

    path: str = field(repr=False)
    content: bytes = field(repr=False)
    mode: int | None = None
    create_parents: bool = True


Action = Command | ReadFile | ListFiles | WriteFile


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLines:
    """Whole lines of a file, counted from 1; made of several `ReadFile`.

    At most `limit_bytes` are given back, and lines are looked for in the first `scan_bytes`.
    """

    path: str = field(repr=False)
    first_line: int
    last_line: int
    limit_bytes: int
    scan_bytes: int = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What stands before and behind a piece of a file: only to be looked at, never shown.

    `is_cut`: in front of `before` stands something that nobody has read.
    """

    before: bytes = field(default=b"", repr=False)
    behind: bytes = field(default=b"", repr=False)
    is_cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRead:
    """Raw bytes of a file: protect before anything else. `size_bytes` is the whole file's."""

    size_bytes: int
    offset_bytes: int
    content: bytes = field(repr=False)
    around: Surroundings = Surroundings()


@dataclass(frozen=True, slots=True, kw_only=True)
class LinesRead:
    """Raw lines of a file: protect before anything else.

    `last_line` is the last one in `content` (`first_line - 1` when there is none); with `at_end`
    the file has no line behind it.
    """

    size_bytes: int
    first_line: int
    last_line: int
    at_end: bool
    content: bytes = field(repr=False)
    around: Surroundings = Surroundings()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """One name in a directory."""

    name: str = field(repr=False)
    kind: str
    size_bytes: int
    mode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesListed:
    """Entries sorted by name; `complete` is False where the limit cut them."""

    entries: tuple[FileEntry, ...]
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FileWritten:
    """The file is durable under its name."""

    size_bytes: int
    replaced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandOutcome:
    """How a command ended and what it printed (raw: protect before anything else).

    `ended` is exited | signalled | timed_out | cancelled | failed_to_start; `stdout_bytes` and
    `stderr_bytes` are the true totals. Of an output longer than `output_limit_bytes` half of that
    is to be shown from either end (all of it where the limit is 0); more is kept, so that what the
    cut divides is seen. `stdout_head_bytes` and `stderr_head_bytes` say how much of it stands in
    front of what is missing, None that nothing is.
    `out_of_memory`: the kernel killed a process of the sandbox for its memory limit meanwhile.
    """

    ended: str
    exit_code: int | None
    signal: int | None
    stdout: bytes = field(repr=False)
    stderr: bytes = field(repr=False)
    stdout_bytes: int
    stderr_bytes: int
    duration_ms: int
    stdout_head_bytes: int | None = None
    stderr_head_bytes: int | None = None
    output_limit_bytes: int = 0
    output_lost: bool = False
    out_of_memory: bool = False


ActionOutcome = CommandOutcome | FileRead | FilesListed | FileWritten


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldImage:
    """An image that sandboxes can be made of on a node."""

    digest: str
    reference: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendSandbox:
    """A sandbox as its backend sees it; `state` is creating|stopped|ready|deleting|broken."""

    name: SandboxName
    instance: str
    state: str
    image_digest: str
    disk_bytes: int
    disk_used_bytes: int | None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSurvey:
    """One good look at a node: who answered, and everything that it holds.

    `identity` changes when the node is installed anew; "" where the backend cannot tell.
    """

    node: str
    identity: str
    images: tuple[HeldImage, ...]
    sandboxes: tuple[BackendSandbox, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """The proof that a sandbox is gone: every part was looked for and not found."""

    name: SandboxName
    instance: str
    checked_at_ms: int


class OperationFate(StrEnum):
    """What a backend says became of an operation."""

    not_seen = "not_seen"
    running = "running"
    finished = "finished"
    failed = "failed"
    interrupted = "interrupted"
    output_lost = "output_lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationLookUp:
    """A backend's answer about an operation; `outcome` where it finished and is still held."""

    fate: OperationFate
    outcome: ActionOutcome | BackendSandbox | Absence | None = field(default=None, repr=False)
    reason: str = ""


def check_name(name: str) -> SandboxName:
    """The name, if it is one.

    Raises: Refused when it is not lower-case letters, digits and inner hyphens, at most 32 long.
    """
    if not NAME_PATTERN.fullmatch(name):
        raise Refused(
            "bad_sandbox_name",
            "a sandbox name is 2 to 32 lower-case letters, digits, inner hyphens; a letter first",
        )
    return SandboxName(name)
