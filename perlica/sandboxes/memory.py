"""A sandbox backend in memory: a small file system and a handful of commands, for tests.

It obeys the same contract suite as the node daemon (tests/contract); nothing of it is a claim about
containment or persistence. Commands: echo, cat, sleep, true, false, `sh -c` of those.
"""

import shlex
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from perlica.domain.cancel import CancelToken
from perlica.domain.clock import monotonic_s, now_ms
from perlica.domain.errors import OutcomeUnknown, PerlicaError, Refused
from perlica.domain.ids import OperationId, SandboxName
from perlica.domain.sandbox import (
    Absence,
    Action,
    ActionOutcome,
    BackendSandbox,
    Command,
    CommandOutcome,
    FileEntry,
    FileRead,
    FilesListed,
    FileWritten,
    HeldImage,
    ListFiles,
    NodeSurvey,
    OperationFate,
    OperationLookUp,
    ReadFile,
    SandboxSpec,
    WriteFile,
)

_Outcome = ActionOutcome | BackendSandbox | Absence


@dataclass(slots=True)
class _Held:
    sandbox: BackendSandbox
    files: dict[str, bytes] = field(default_factory=dict)


@dataclass(slots=True)
class MemoryBackend:
    """Sandboxes that live as long as this object; safe to use from several threads."""

    node: str = "test-node"
    identity: str = "in-memory"
    image_digests: tuple[str, ...] = ("sha256:" + "0" * 64,)
    _held: dict[SandboxName, _Held] = field(default_factory=dict)
    _done: dict[OperationId, _Outcome | PerlicaError] = field(default_factory=dict)
    _running: set[OperationId] = field(default_factory=set)
    _cancels: dict[OperationId, CancelToken] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def current_image(self) -> tuple[str, ...]:
        """See SandboxBackend."""
        return self.image_digests

    def create(
        self, operation: OperationId, spec: SandboxSpec, image_digest: str
    ) -> BackendSandbox:
        """See SandboxBackend."""

        def make() -> BackendSandbox:
            if spec.name in self._held:
                raise Refused("name_taken", "a sandbox of that name exists")
            if image_digest not in self.image_digests:
                raise Refused("no_such_image", "the image is not on this node")
            made = BackendSandbox(
                name=spec.name,
                instance=f"{len(self._done):032x}",
                state="ready",
                image_digest=image_digest,
                disk_bytes=spec.limits.disk_bytes,
                disk_used_bytes=0,
            )
            self._held[spec.name] = _Held(made)
            return made

        made = self._once(operation, make)
        if not isinstance(made, BackendSandbox):
            raise Refused("other_operation", "this operation id did something else")
        return made

    def inspect(self, name: SandboxName) -> BackendSandbox | None:
        """See SandboxBackend."""
        with self._lock:
            held = self._held.get(name)
            return held.sandbox if held else None

    def execute(
        self,
        operation: OperationId,
        *,
        name: SandboxName,
        instance: str,
        action: Action,
        cancel: CancelToken,
    ) -> ActionOutcome:
        """See SandboxBackend."""
        with self._lock:
            files = self._exact(name, instance).files
        if isinstance(action, ReadFile | ListFiles):
            return _look(files, action)
        with self._lock:
            own = self._cancels.setdefault(operation, CancelToken())
        with cancel.on_cancel(own.set):
            outcome = self._once(operation, lambda: _act(files, action, own), locked=False)
        if isinstance(outcome, BackendSandbox | Absence):
            raise Refused("other_operation", "this operation id did something else")
        return outcome

    def stop(self, operation: OperationId, name: SandboxName, instance: str) -> BackendSandbox:
        """See SandboxBackend."""

        def halt() -> BackendSandbox:
            held = self._exact(name, instance)
            held.sandbox = _with_state(held.sandbox, "stopped")
            return held.sandbox

        stopped = self._once(operation, halt)
        if not isinstance(stopped, BackendSandbox):
            raise Refused("other_operation", "this operation id did something else")
        return stopped

    def delete(self, operation: OperationId, name: SandboxName, instance: str) -> Absence:
        """See SandboxBackend."""

        def destroy() -> Absence:
            self._exact(name, instance)
            del self._held[name]
            return Absence(name=name, instance=instance, checked_at_ms=now_ms())

        gone = self._once(operation, destroy)
        if not isinstance(gone, Absence):
            raise Refused("other_operation", "this operation id did something else")
        return gone

    def cancel(self, operation: OperationId) -> None:
        """See SandboxBackend."""
        with self._lock:
            own = self._cancels.get(operation)
        if own is not None:
            own.set()

    def look_up(self, operation: OperationId) -> OperationLookUp:
        """See SandboxBackend."""
        with self._lock:
            if operation in self._running:
                return OperationLookUp(fate=OperationFate.running)
            outcome = self._done.get(operation)
        if outcome is None:
            return OperationLookUp(fate=OperationFate.not_seen)
        if isinstance(outcome, PerlicaError):
            return OperationLookUp(fate=OperationFate.failed, reason=outcome.text)
        return OperationLookUp(fate=OperationFate.finished, outcome=outcome)

    def acknowledge(self, operation: OperationId) -> None:
        """See SandboxBackend; nothing is kept that would have to go."""

    def reconcile(self) -> tuple[BackendSandbox, ...]:
        """See SandboxBackend."""
        with self._lock:
            return tuple(held.sandbox for held in self._held.values())

    def survey(self) -> NodeSurvey:
        """See SandboxBackend."""
        return NodeSurvey(
            node=self.node,
            identity=self.identity,
            images=tuple(HeldImage(digest=d, reference="") for d in self.image_digests),
            sandboxes=self.reconcile(),
        )

    def _exact(self, name: SandboxName, instance: str) -> _Held:
        held = self._held.get(name)
        if held is None:
            raise Refused("not_found", "there is no such sandbox")
        if held.sandbox.instance != instance:
            raise Refused("other_instance", "the sandbox of that name is another one")
        return held

    def _once(
        self, operation: OperationId, work: Callable[[], _Outcome], *, locked: bool = True
    ) -> _Outcome:
        """Run `work` under its operation id at most once; a second call gets the recorded end."""
        with self._lock:
            done = self._done.get(operation)
            if isinstance(done, PerlicaError):
                raise done
            if done is not None:
                return done
            if operation in self._running:
                raise OutcomeUnknown("running", "this operation runs now")
            self._running.add(operation)
        try:
            if locked:
                with self._lock:
                    outcome = work()
            else:
                outcome = work()
        except PerlicaError as error:
            with self._lock:
                self._done[operation] = error
            raise
        finally:
            with self._lock:
                self._running.discard(operation)
        with self._lock:
            self._done[operation] = outcome
        return outcome


def _with_state(sandbox: BackendSandbox, state: str) -> BackendSandbox:
    return BackendSandbox(
        name=sandbox.name,
        instance=sandbox.instance,
        state=state,
        image_digest=sandbox.image_digest,
        disk_bytes=sandbox.disk_bytes,
        disk_used_bytes=sandbox.disk_used_bytes,
    )


def _look(files: dict[str, bytes], action: ReadFile | ListFiles) -> ActionOutcome:
    if isinstance(action, ListFiles):
        prefix = action.path.rstrip("/") + "/"
        names = sorted(p.removeprefix(prefix) for p in files if p.startswith(prefix))
        entries = tuple(
            FileEntry(name=n, kind="file", size_bytes=len(files[prefix + n]), mode=0o644)
            for n in names[: action.limit_entries]
        )
        return FilesListed(entries=entries, complete=len(names) <= action.limit_entries)
    content = files.get(action.path)
    if content is None:
        raise Refused("no_such_file", "there is no such file")
    piece = content[action.offset_bytes : action.offset_bytes + action.limit_bytes]
    return FileRead(size_bytes=len(content), offset_bytes=action.offset_bytes, content=piece)


def _act(files: dict[str, bytes], action: Action, cancel: CancelToken) -> ActionOutcome:
    match action:
        case WriteFile():
            replaced = action.path in files
            files[action.path] = action.content
            return FileWritten(size_bytes=len(action.content), replaced=replaced)
        case Command():
            return _run(files, action, cancel)
        case _:
            raise Refused("bad_request", "not an action that changes anything")


def _run(files: dict[str, bytes], command: Command, cancel: CancelToken) -> CommandOutcome:
    argv = list(command.argv)
    if argv[:2] in (["/bin/sh", "-c"], ["sh", "-c"]):
        argv = shlex.split(argv[2])
    began_s = monotonic_s()
    ended, code, out, error = "exited", 0, b"", b""
    match argv:
        case ["echo", *words]:
            out = " ".join(words).encode() + b"\n"
        case ["cat", path] if path in files:
            out = files[path]
        case ["cat", path]:
            code, error = 1, f"cat: {path}: No such file or directory\n".encode()
        case ["sleep", seconds]:
            within_s = min(float(seconds), command.within_ms / 1000)
            if cancel.wait(within_s):
                ended, code = "cancelled", 0
            elif float(seconds) > within_s:
                ended = "timed_out"
        case ["true"]:
            pass
        case ["false"]:
            code = 1
        case _:
            ended, code, error = "failed_to_start", 127, b"not found\n"
    return CommandOutcome(
        ended=ended,
        exit_code=code if ended == "exited" else None,
        signal=None,
        stdout=_kept(out, command),
        stderr=_kept(error, command),
        stdout_bytes=len(out),
        stderr_bytes=len(error),
        stdout_head_bytes=_head_bytes(out, command),
        stderr_head_bytes=_head_bytes(error, command),
        output_limit_bytes=command.output_limit_bytes,
        duration_ms=int((monotonic_s() - began_s) * 1000),
    )


def _kept(raw: bytes, command: Command) -> bytes:
    """Beginning and end with a margin each, as the node daemon keeps them."""
    head = _head_bytes(raw, command)
    return raw if head is None else raw[:head] + raw[-(head + command.output_limit_bytes % 2) :]


def _head_bytes(raw: bytes, command: Command) -> int | None:
    head = command.output_limit_bytes // 2 + command.margin_bytes
    return head if len(raw) > command.output_limit_bytes + 2 * command.margin_bytes else None
