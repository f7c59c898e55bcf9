"""What the daemon does for each call of the interface, without HTTP.

The HTTP door parses a request and calls one method here; each returns an answer of `sandboxd.wire`
or raises a fault.
"""

import contextlib
import resource
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from sandboxd import __version__
from sandboxd.execution import files
from sandboxd.execution.capture import Room
from sandboxd.execution.command import Observe
from sandboxd.faults import Busy, Refused, Retryable
from sandboxd.runtime.profile import command_configuration
from sandboxd.service.command_outcome import outcome_of
from sandboxd.service.garbage import Garbage
from sandboxd.service.node import Node
from sandboxd.service.operations import Operations, Request
from sandboxd.service.recent import RECENT
from sandboxd.service.registry import Registry
from sandboxd.service.sandbox import Sandbox
from sandboxd.wire import (
    PROTOCOL_VERSION,
    CancelAnswer,
    CollectRequest,
    CreateRequest,
    DeleteRequest,
    DeletionProof,
    ExecOutcome,
    ExecRequest,
    FileContent,
    FileListing,
    FileWritten,
    GarbageCollected,
    GarbageReport,
    HealthReport,
    ImageList,
    ListFilesRequest,
    LogReport,
    NodeCounts,
    OperationId,
    ReadFileRequest,
    SandboxList,
    SandboxName,
    SandboxState,
    StopRequest,
    User,
    UseReport,
    WriteFileRequest,
    decode_bytes,
    size_of_base64,
)

_CANCEL_WITHIN_S = 2.0
_FILE_WITHIN_S = 60.0
_FILE_STDERR_BYTES = 4096


class Service:
    """Thread-safe. `stopping` refuses new work while the daemon ends."""

    def __init__(
        self, node: Node, registry: Registry, operations: Operations, garbage: Garbage
    ) -> None:
        self._garbage = garbage
        self._node = node
        self._registry = registry
        self._operations = operations
        self._counting = threading.Lock()
        self._running = 0
        self._started_at_ms = node.clock_ms()
        self.stopping = threading.Event()

    # ------------------------------------------------------------ looking

    def health(self) -> HealthReport:
        """GET /v1/health."""
        sandboxes = self._registry.all()
        return HealthReport(
            protocol=PROTOCOL_VERSION,
            version=__version__,
            node=self._node.config.node,
            identity=self._node.identity,
            started_at_ms=self._started_at_ms,
            epoch=self._operations.epoch,
            facts=self._node.facts,
            counts=NodeCounts(
                images=len(self._node.catalog.list()),
                sandboxes=len(sandboxes),
                ready=sum(sandbox.is_running for sandbox in sandboxes),
                running_operations=self._running,
                unacknowledged_operations=self._operations.count_unacknowledged(),
            ),
        )

    def images(self) -> ImageList:
        """GET /v1/images."""
        return ImageList(images=self._node.catalog.list())

    def sandboxes(self) -> SandboxList:
        """GET /v1/sandboxes."""
        return SandboxList(sandboxes=tuple(sandbox.state() for sandbox in self._registry.all()))

    def sandbox(self, name: str) -> SandboxState:
        """GET /v1/sandboxes/{name}."""
        return self._registry.find(name).state()

    def use(self) -> UseReport:
        """GET /v1/use."""
        return UseReport(
            at_ms=self._node.clock_ms(),
            resident_bytes=_resident_bytes(),
            sandboxes=tuple(sandbox.use() for sandbox in self._registry.all()),
        )

    def log(self) -> LogReport:
        """GET /v1/log."""
        return LogReport(lines=RECENT.lines())

    def garbage(self) -> GarbageReport:
        """GET /v1/garbage."""
        return self._garbage.report()

    @property
    def streamed_bytes(self) -> int:
        """How much output of one command may be streamed."""
        return self._node.config.bounds.streamed_bytes

    # ------------------------------------------------------------ lifecycle

    def create(self, request: CreateRequest) -> SandboxState:
        """POST /v1/sandboxes."""

        def check() -> str:
            self._registry.check(request)
            return ""

        with self._slot():
            return self._operations.perform(
                _identity("create", request.name, request),
                SandboxState,
                check=check,
                effect=lambda: self._registry.create(request),
            )

    def stop(self, name: SandboxName, request: StopRequest) -> SandboxState:
        """POST /v1/sandboxes/{name}/stop."""

        def effect() -> SandboxState:
            sandbox = self._registry.find(name, request.instance)
            sandbox.stop()
            return sandbox.state()

        with self._slot():
            return self._operations.perform(
                _identity("stop", name, request),
                SandboxState,
                check=lambda: self._registry.find(name, request.instance).instance,
                effect=effect,
            )

    def delete(self, name: SandboxName, request: DeleteRequest) -> DeletionProof:
        """DELETE /v1/sandboxes/{name}."""

        def effect() -> DeletionProof:
            sandbox = self._registry.find(name, request.instance)
            proof = self._registry.delete(sandbox, request.operation)
            self._operations.drop_outputs(lambda instance: instance == sandbox.instance)
            return proof

        with self._slot():
            return self._operations.perform(
                _identity("delete", name, request),
                DeletionProof,
                check=lambda: self._registry.find(name, request.instance).instance,
                effect=effect,
            )

    def collect(self, request: CollectRequest) -> GarbageCollected:
        """POST /v1/garbage."""
        with self._slot():
            return self._operations.perform(
                _identity("collect", "", request),
                GarbageCollected,
                check=lambda: "",
                effect=lambda: self._garbage.collect(request),
            )

    # ------------------------------------------------------------ commands

    def execute(
        self, name: SandboxName, request: ExecRequest, observe: Observe | None = None
    ) -> ExecOutcome:
        """POST /v1/sandboxes/{name}/exec. `observe` sees the output while it comes."""

        def check() -> str:
            bounds = self._node.config.bounds
            if request.timeout_ms > bounds.timeout_ms:
                raise Refused(f"timeout_ms is above this node's {bounds.timeout_ms}")
            if request.output_limit_bytes > bounds.output_bytes:
                raise Refused(f"output_limit_bytes is above this node's {bounds.output_bytes}")
            self._check_environment(request.env)
            return self._registry.find(name, request.instance).instance

        def effect() -> ExecOutcome:
            sandbox = self._registry.find(name, request.instance)
            ended = sandbox.execute(
                request.operation,
                command_configuration(
                    argv=request.argv,
                    env=sandbox.environment | dict(request.env),
                    cwd=request.cwd or sandbox.base.working_dir,
                    user=sandbox.base.user if request.user is None else request.user,
                    nofile=sandbox.record.limits.nofile,
                ),
                stdin=decode_bytes(request.stdin_base64),
                timeout_s=request.timeout_ms / 1000,
                room=Room(request.output_limit_bytes, margin_bytes=request.margin_bytes),
                observe=observe,
            )
            return outcome_of(request, ended)

        with self._slot():
            return self._operations.perform(
                _identity("exec", name, request), ExecOutcome, check=check, effect=effect
            )

    def _check_environment(self, names: Iterable[str]) -> None:
        allowed = self._node.config.environment
        if any(not _is_allowed(name, allowed) for name in names):
            raise Refused(
                "env holds a name that this node does not let in",
                remedy=f"allowed: {', '.join(allowed)} (`environment` in the configuration)",
            )

    def cancel(self, operation: OperationId) -> CancelAnswer:
        """POST /v1/operations/{id}/cancel. Returns when it has ended, or after two seconds."""
        command = self._registry.command_of(operation)
        if command is None:
            return CancelAnswer(operation=operation, state="not_running")
        ended = command.ended.wait(_CANCEL_WITHIN_S)
        return CancelAnswer(operation=operation, state="cancelled" if ended else "ending")

    # ------------------------------------------------------------ files

    def read_file(self, name: SandboxName, request: ReadFileRequest) -> FileContent:
        """POST /v1/sandboxes/{name}/files/read."""
        self._check_file_size(request.limit_bytes)
        argv = files.read_arguments(request.path, request.offset, request.limit_bytes)
        with self._slot():
            self._operations.admit(request.epoch)
            sandbox = self._registry.find(name, request.instance)
            answer = self._run_files(sandbox, argv, limit_bytes=request.limit_bytes)
        return files.content_of(answer, request.offset)

    def list_files(self, name: SandboxName, request: ListFilesRequest) -> FileListing:
        """POST /v1/sandboxes/{name}/files/list."""
        argv = files.list_arguments(request.path, request.limit_entries)
        limit_bytes = (request.limit_entries + 1) * files.ENTRY_BYTES
        with self._slot():
            self._operations.admit(request.epoch)
            sandbox = self._registry.find(name, request.instance)
            answer = self._run_files(sandbox, argv, limit_bytes=limit_bytes)
        return files.listing_of(answer, request.limit_entries)

    def write_file(self, name: SandboxName, request: WriteFileRequest) -> FileWritten:
        """POST /v1/sandboxes/{name}/files/write."""

        def check() -> str:
            self._check_file_size(size_of_base64(request.content_base64))
            return self._registry.find(name, request.instance).instance

        def effect() -> FileWritten:
            sandbox = self._registry.find(name, request.instance)
            argv = files.write_arguments(
                request.path, mode=request.mode, create_parents=request.create_parents
            )
            answer = self._run_files(
                sandbox, argv, stdin=decode_bytes(request.content_base64), limit_bytes=0
            )
            size, replaced = files.written_of(answer)
            return FileWritten(operation=request.operation, size_bytes=size, replaced=replaced)

        with self._slot():
            return self._operations.perform(
                _identity("write", name, request), FileWritten, check=check, effect=effect
            )

    def _check_file_size(self, size_bytes: int) -> None:
        if size_bytes > self._node.config.bounds.file_bytes:
            raise Refused(f"more than this node's {self._node.config.bounds.file_bytes} bytes")

    def _run_files(
        self, sandbox: Sandbox, argv: tuple[str, ...], *, limit_bytes: int, stdin: bytes = b""
    ) -> files.Answer:
        ended = sandbox.execute(
            f"files-{time.monotonic_ns()}-{threading.get_ident()}",
            command_configuration(
                argv=argv, env={}, cwd="/", user=User(), nofile=sandbox.record.limits.nofile
            ),
            stdin=stdin,
            timeout_s=_FILE_WITHIN_S,
            # Capture halves its limit between head and tail; nothing may be cut here.
            room=Room(limit_bytes=2 * (limit_bytes + files.HEADER_BYTES + _FILE_STDERR_BYTES)),
            is_hidden=True,
        )
        if ended.ending == "failed_to_start":
            raise Retryable("the file program could not be started in the sandbox")
        return files.Answer(
            status=-1 if ended.status is None else ended.status,
            stdout=ended.stdout.kept(),
            stderr=ended.stderr.kept(),
        )

    # ------------------------------------------------------------ shared

    @contextlib.contextmanager
    def _slot(self) -> Iterator[None]:
        """One of the places for work; what only looks or cancels needs none."""
        if self.stopping.is_set():
            raise Retryable("the daemon is stopping")
        bound = self._node.config.bounds.running_operations
        with self._counting:
            if self._running >= bound:
                raise Busy(
                    f"{bound} operations are running", remedy="send the same request again later"
                )
            self._running += 1
        try:
            yield
        finally:
            with self._counting:
                self._running -= 1

    def cancel_all(self) -> None:
        """Tells every running command to end."""
        for sandbox in self._registry.all():
            for operation in sandbox.state().running_operations:
                sandbox.cancel(operation)

    @property
    def running_operations(self) -> int:
        """How many slots are taken."""
        return self._running


def _resident_bytes() -> int:
    """The daemon's own memory, see proc_pid_statm(5)."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()


def _is_allowed(name: str, patterns: Iterable[str]) -> bool:
    return any(
        name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern
        for pattern in patterns
    )


def _identity(
    kind: str,
    name: str,
    request: CreateRequest
    | StopRequest
    | DeleteRequest
    | ExecRequest
    | WriteFileRequest
    | CollectRequest,
) -> Request:
    return Request(
        operation=request.operation,
        epoch=request.epoch,
        kind=kind,
        sandbox=name,
        body=request.model_dump_json(),
    )
