"""sandbox_exec, sandbox_read, sandbox_write: Low actions inside one sandbox.

Planned from the store's facts, carried out by the sandbox's serializer.
"""

from typing import ClassVar

from pydantic import Field

from perlica.domain.ids import OperationId
from perlica.domain.plan import ActionPlan, JsonValue
from perlica.domain.ports import WRITING, JobKind, JobOutcome, SandboxJob
from perlica.domain.sandbox import (
    Absence,
    Action,
    BackendSandbox,
    Command,
    CommandOutcome,
    FileRead,
    FilesListed,
    FileWritten,
    ListFiles,
    ReadFile,
    WriteFile,
)
from perlica.gateway.sandbox_facts import (
    find_usable,
    identity_of,
    queue_job,
    refuse_writes_while_unknown,
)
from perlica.gateway.tool import CallContext, InSandbox, Planned, ToolArguments, ToolResult

_QUEUE_MARGIN_S = 60.0
_FILE_WITHIN_S = 60.0
_ENVIRONMENT = (
    ("HOME", "/root"),
    ("LANG", "C.UTF-8"),
    ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
)
_SANDBOX = Field(description="Name of the sandbox.")


class ExecArguments(ToolArguments):
    """Arguments of sandbox_exec."""

    sandbox: str = _SANDBOX
    argv: tuple[str, ...] = Field(
        min_length=1,
        max_length=256,
        description='The command as a list of words. For shell syntax use ["/bin/sh","-c","…"].',
    )
    cwd: str = Field(default="/", description="Working directory, absolute.")
    stdin: str = Field(default="", description="Text given on standard input.")
    timeout_s: int | None = Field(default=None, ge=1, description="Time limit in seconds.")


class ReadArguments(ToolArguments):
    """Arguments of sandbox_read."""

    sandbox: str = _SANDBOX
    path: str = Field(description="Absolute path of a file, or of a directory to list it.")
    directory: bool = Field(default=False, description="True to list a directory.")
    offset_bytes: int = Field(default=0, ge=0, description="Where to begin reading.")


class WriteArguments(ToolArguments):
    """Arguments of sandbox_write."""

    sandbox: str = _SANDBOX
    path: str = Field(description="Absolute path; missing directories are made.")
    content: str = Field(description="The whole new content, as text.")
    executable: bool = Field(default=False, description="True for a program or script.")


class SandboxExec:
    """Run a command."""

    name: ClassVar[str] = "sandbox_exec"
    description: ClassVar[str] = (
        "Run a command in a sandbox and get its exit code, stdout and stderr. The whole root file"
        " system of the sandbox persists between commands. There is no network."
    )
    arguments: ClassVar[type[ToolArguments]] = ExecArguments

    def plan(self, arguments: ExecArguments, context: CallContext) -> Planned:
        """See Tool."""
        limit_s = context.settings.exec_within_s
        within_s = min(arguments.timeout_s or limit_s, limit_s)
        command = Command(
            argv=arguments.argv,
            cwd=arguments.cwd,
            environment=_ENVIRONMENT,
            stdin=arguments.stdin.encode("utf-8", "surrogatepass"),
            within_ms=within_s * 1000,
            output_limit_bytes=context.settings.output_limit_bytes,
        )
        effect: dict[str, JsonValue] = {
            "argv": list(arguments.argv),
            "cwd": arguments.cwd,
            "stdin": arguments.stdin,
            "within_s": within_s,
        }
        return _planned(
            context,
            arguments.sandbox,
            action="sandbox.exec",
            kind=JobKind.exec,
            effect=effect,
            work=command,
            within_s=within_s,
        )


class SandboxRead:
    """Read a file or list a directory."""

    name: ClassVar[str] = "sandbox_read"
    description: ClassVar[str] = (
        "Read a text file of a sandbox, or list a directory. Long files are read in pieces."
    )
    arguments: ClassVar[type[ToolArguments]] = ReadArguments

    def plan(self, arguments: ReadArguments, context: CallContext) -> Planned:
        """See Tool."""
        work: Action = (
            ListFiles(path=arguments.path)
            if arguments.directory
            else ReadFile(
                path=arguments.path,
                offset_bytes=arguments.offset_bytes,
                limit_bytes=context.settings.read_limit_bytes,
            )
        )
        return _planned(
            context,
            arguments.sandbox,
            action="sandbox.read",
            kind=JobKind.list if arguments.directory else JobKind.read,
            effect={
                "path": arguments.path,
                "directory": arguments.directory,
                "offset_bytes": arguments.offset_bytes,
            },
            work=work,
            within_s=_FILE_WITHIN_S,
        )


class SandboxWrite:
    """Write a whole file."""

    name: ClassVar[str] = "sandbox_write"
    description: ClassVar[str] = (
        "Write a text file in a sandbox, whole and atomically; an existing file is replaced."
    )
    arguments: ClassVar[type[ToolArguments]] = WriteArguments

    def plan(self, arguments: WriteArguments, context: CallContext) -> Planned:
        """See Tool."""
        mode = 0o755 if arguments.executable else 0o644
        work = WriteFile(
            path=arguments.path,
            content=arguments.content.encode("utf-8", "surrogatepass"),
            mode=mode,
        )
        return _planned(
            context,
            arguments.sandbox,
            action="sandbox.write",
            kind=JobKind.write,
            effect={"path": arguments.path, "content": arguments.content, "mode": mode},
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
    work: Action,
    within_s: float,
) -> Planned:
    row = find_usable(context, sandbox)
    if kind in WRITING:
        refuse_writes_while_unknown(context, row)
    plan = ActionPlan(
        action=action,
        origin=context.origin,
        identity="sandboxd",
        target=identity_of(row),
        scope="sandbox",
        effect=effect,
        destination=f"sandbox:{row.name}",
        expected=kind.value,
        policy_version=context.settings.policy_version,
    )

    def prepare(operation: OperationId) -> SandboxJob:
        return queue_job(context, operation, row, kind=kind, work=work)

    return Planned(
        plan=plan,
        work=InSandbox(
            prepare=prepare,
            present=lambda outcome: present(row.name, outcome),
            within_s=within_s + _QUEUE_MARGIN_S,
        ),
    )


def present(sandbox: str, outcome: JobOutcome) -> ToolResult:
    """The outcome of an action as text for the model."""
    source = f"sandbox:{sandbox}"
    match outcome:
        case CommandOutcome():
            failed = outcome.ended != "exited" or outcome.exit_code != 0
            return ToolResult(text=_present_command(outcome), source=source, failed=failed)
        case FileRead():
            return ToolResult(text=_present_file(outcome), source=source)
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
    if outcome.output_lost:
        parts.append("its output was lost with the node daemon; it is not run again")
    for label, raw, total in (
        ("stdout", outcome.stdout, outcome.stdout_bytes),
        ("stderr", outcome.stderr, outcome.stderr_bytes),
    ):
        if total:
            parts.append(f"{label} ({total} bytes):\n{raw.decode('utf-8', 'replace')}")
    return "\n".join(parts)


def _present_file(outcome: FileRead) -> str:
    end = outcome.offset_bytes + len(outcome.content)
    where = f"bytes {outcome.offset_bytes} to {end} of {outcome.size_bytes}"
    if b"\0" in outcome.content:
        return f"binary file, {outcome.size_bytes} bytes: not shown"
    return f"{where}:\n{outcome.content.decode('utf-8', 'replace')}"


def _present_listing(outcome: FilesListed) -> str:
    lines = [
        f"{e.kind:9} {e.mode & 0o7777:04o} {e.size_bytes:>10} {e.name}" for e in outcome.entries
    ]
    if not outcome.complete:
        lines.append("… more entries are not shown")
    return "\n".join(lines) or "(empty directory)"
