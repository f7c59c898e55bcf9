"""sandbox_exec, sandbox_read, sandbox_write: Low actions inside one sandbox.

Planned from the store's facts, carried out by the sandbox's serializer.
"""

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from perlica.domain.errors import Refused
from perlica.domain.ids import OperationId
from perlica.domain.plan import ActionPlan, JsonValue
from perlica.domain.ports import SANDBOX_EXECUTOR, WRITING, JobKind, SandboxJob
from perlica.domain.sandbox import Action, Command, ListFiles, ReadFile, ReadLines, WriteFile
from perlica.gateway.core.tool import CallContext, Planned, ToolArguments
from perlica.gateway.core.work import Queued
from perlica.gateway.families.sandbox.facts import (
    find_usable,
    identity_of,
    queue_job,
    refuse_writes_while_unknown,
)
from perlica.gateway.families.sandbox.installs import find_installs
from perlica.gateway.families.sandbox.results import present
from perlica.gateway.families.sandbox.settings import SandboxSettings

_QUEUE_MARGIN_S = 60.0
_FILE_WITHIN_S = 60.0
_LINES_AT_ONCE = 200
_EGRESS = "egress"
_SANDBOX = Field(description="Name of the sandbox.")


class ExecArguments(ToolArguments):
    """Arguments of sandbox_exec."""

    sandbox: str = _SANDBOX
    argv: tuple[str, ...] = Field(
        min_length=1,
        max_length=256,
        description='The command as a list of words. For shell syntax use ["/bin/sh","-c","…"].',
    )
    cwd: str | None = Field(
        default=None, description="Working directory, absolute; without it the image's own."
    )
    stdin: str = Field(default="", description="Text given on standard input.")
    timeout_s: int | None = Field(default=None, ge=1, description="Time limit in seconds.")


class ReadArguments(ToolArguments):
    """Arguments of sandbox_read."""

    sandbox: str = _SANDBOX
    path: str = Field(description="Absolute path of a file, or of a directory to list it.")
    directory: bool = Field(default=False, description="True to list a directory.")
    offset_bytes: int = Field(default=0, ge=0, description="Where to begin reading, in bytes.")
    first_line: int | None = Field(
        default=None, ge=1, description="Read whole lines from this one on, counted from 1."
    )
    last_line: int | None = Field(
        default=None, ge=1, description="The last line wanted; without it 200 lines are read."
    )


class WriteArguments(ToolArguments):
    """Arguments of sandbox_write."""

    sandbox: str = _SANDBOX
    path: str = Field(description="Absolute path; missing directories are made.")
    content: str = Field(description="The whole new content, as text.")
    executable: bool = Field(default=False, description="True for a program or script.")


@dataclass(frozen=True, slots=True)
class SandboxExec:
    """Run a command."""

    name: ClassVar[str] = "sandbox_exec"
    description: ClassVar[str] = (
        "Run a command in a sandbox and get its exit code, stdout and stderr. The whole root file"
        " system of the sandbox persists between commands. There is no network, except for the"
        " few names that its node lets through where the sandbox was made with network egress."
    )
    arguments: ClassVar[type[ToolArguments]] = ExecArguments
    settings: SandboxSettings

    def plan(self, arguments: ExecArguments, context: CallContext) -> Planned:
        """See Tool."""
        limit_s = self.settings.exec_within_s
        within_s = min(arguments.timeout_s or limit_s, limit_s)
        command = Command(
            argv=arguments.argv,
            cwd=arguments.cwd,
            stdin=arguments.stdin.encode("utf-8", "surrogatepass"),
            within_ms=within_s * 1000,
            output_limit_bytes=self.settings.output_limit_bytes,
        )
        effect: dict[str, JsonValue] = {
            "argv": list(arguments.argv),
            "stdin": arguments.stdin,
            "within_s": within_s,
        }
        if arguments.cwd is not None:
            effect["cwd"] = arguments.cwd
        action, scope = "sandbox.exec", "sandbox"
        installs = _installs_of(arguments, context)
        if installs:
            action, scope = "dependency.install", "allowed_mirror"
            effect["installs"] = installs
        return _planned(
            context,
            arguments.sandbox,
            action=action,
            scope=scope,
            kind=JobKind.exec,
            effect=effect,
            work=command,
            within_s=within_s,
        )


def _installs_of(arguments: ExecArguments, context: CallContext) -> list[JsonValue]:
    """The tools with which a command installs through the mirrors that its sandbox may reach.

    Without a way out nothing can be fetched: what installs then installs what lies there already.
    """
    if find_usable(context, arguments.sandbox).network != _EGRESS:
        return []
    return list(find_installs(arguments.argv, arguments.stdin))


@dataclass(frozen=True, slots=True)
class SandboxRead:
    """Read a file or list a directory."""

    name: ClassVar[str] = "sandbox_read"
    description: ClassVar[str] = (
        "Read a text file of a sandbox, whole, by lines or by bytes, or list a directory. Long"
        " files are read in pieces; a binary file is only named with its size."
    )
    arguments: ClassVar[type[ToolArguments]] = ReadArguments
    settings: SandboxSettings

    def plan(self, arguments: ReadArguments, context: CallContext) -> Planned:
        """See Tool."""
        effect: dict[str, JsonValue] = {"path": arguments.path, "directory": arguments.directory}
        if arguments.offset_bytes:
            effect["offset_bytes"] = arguments.offset_bytes
        work = _reading(arguments, self.settings.read_limit_bytes)
        if isinstance(work, ReadLines):
            effect |= {"first_line": work.first_line, "last_line": work.last_line}
        return _planned(
            context,
            arguments.sandbox,
            action="sandbox.read",
            kind=JobKind.list if arguments.directory else JobKind.read,
            effect=effect,
            work=work,
            within_s=_FILE_WITHIN_S,
        )


def _reading(arguments: ReadArguments, limit_bytes: int) -> ListFiles | ReadFile | ReadLines:
    """What is to be read. Raises: Refused where the arguments contradict each other."""
    first, last = arguments.first_line, arguments.last_line
    by_lines = first is not None or last is not None
    if sum((arguments.directory, by_lines, arguments.offset_bytes > 0)) > 1:
        raise Refused(
            "bad_arguments", "give only one of: directory, offset_bytes, first_line/last_line"
        )
    if arguments.directory:
        return ListFiles(path=arguments.path)
    if not by_lines:
        return ReadFile(
            path=arguments.path, offset_bytes=arguments.offset_bytes, limit_bytes=limit_bytes
        )
    first = first or 1
    last = last or first + _LINES_AT_ONCE - 1
    if last < first:
        raise Refused("bad_arguments", "last_line must not be smaller than first_line")
    return ReadLines(path=arguments.path, first_line=first, last_line=last, limit_bytes=limit_bytes)


@dataclass(frozen=True, slots=True)
class SandboxWrite:
    """Write a whole file."""

    name: ClassVar[str] = "sandbox_write"
    description: ClassVar[str] = (
        "Write a text file in a sandbox, whole and atomically. A file that is replaced keeps its"
        " owner and mode; a symbolic link is written through."
    )
    arguments: ClassVar[type[ToolArguments]] = WriteArguments
    settings: SandboxSettings

    def plan(self, arguments: WriteArguments, context: CallContext) -> Planned:
        """See Tool."""
        mode = 0o755 if arguments.executable else None
        content = arguments.content.encode("utf-8", "surrogatepass")
        limit_bytes = self.settings.read_limit_bytes
        if len(content) > limit_bytes:
            raise Refused(
                "too_large",
                f"{len(content)} bytes at once are too many, the limit is {limit_bytes};"
                " write it in pieces with a command",
            )
        work = WriteFile(path=arguments.path, content=content, mode=mode)
        return _planned(
            context,
            arguments.sandbox,
            action="sandbox.write",
            kind=JobKind.write,
            effect={"path": arguments.path, "content": arguments.content}
            | ({} if mode is None else {"mode": mode}),
            work=work,
            within_s=_FILE_WITHIN_S,
        )


def _planned(
    context: CallContext,
    sandbox: str,
    *,
    action: str,
    kind: JobKind,
    effect: dict[str, JsonValue],
    work: Action | ReadLines,
    within_s: float,
    scope: str = "sandbox",
) -> Planned:
    row = find_usable(context, sandbox)
    if kind in WRITING:
        refuse_writes_while_unknown(context, row)
    plan = ActionPlan(
        action=action,
        origin=context.origin,
        identity="sandboxd",
        target=identity_of(row),
        scope=scope,
        effect=effect,
        destination=f"sandbox:{row.name}",
        expected=kind.value,
        policy_version=context.policy_version,
    )

    def prepare(operation: OperationId) -> SandboxJob:
        return queue_job(context, operation, row, kind=kind, work=work)

    return Planned(
        plan=plan,
        work=Queued(
            executor=SANDBOX_EXECUTOR,
            prepare=prepare,
            present=lambda outcome: present(row.name, outcome),
            within_s=within_s + _QUEUE_MARGIN_S,
        ),
    )
