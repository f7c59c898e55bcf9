"""A sandbox backend in another process than the service, so that its effects survive a kill.

The test's process serves a `MemoryBackend` on a Unix socket and counts what was really done; the
service's process has a `FarBackend`, which obeys the same contract suite.
"""

import pickle
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Self

from perlica.domain import errors
from perlica.domain.cancel import CancelToken
from perlica.domain.ids import OperationId, SandboxName
from perlica.domain.sandbox import (
    Absence,
    Action,
    ActionOutcome,
    BackendSandbox,
    Command,
    ListFiles,
    NodeSurvey,
    OperationFate,
    OperationLookUp,
    ReadFile,
    SandboxSpec,
    WriteFile,
)
from perlica.sandboxes.contract import SandboxBackend
from perlica.sandboxes.memory import MemoryBackend

Around = Callable[[str], AbstractContextManager[None]]
"""Something to be done around an effect, by its label."""

_LENGTH = struct.Struct("!I")
_MUTATING = frozenset({"create", "execute", "stop", "delete"})
_ANSWER_WITHIN_S = 60.0


class BackendServer:
    """Serves one backend; `effects` counts what was done, by what it was."""

    def __init__(self, path: Path, backend: SandboxBackend | None = None) -> None:
        self.backend = backend or MemoryBackend()
        self.path = path
        self.effects: Counter[str] = Counter()
        self._cancels: dict[OperationId, CancelToken] = {}
        self._lock = threading.Lock()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen(32)
        self._thread = threading.Thread(target=self._serve, name="far-backend", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)
        for cancel in list(self._cancels.values()):
            cancel.set()

    def _serve(self) -> None:
        while True:
            try:
                line, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(line,), daemon=True).start()

    def _answer(self, line: socket.socket) -> None:
        with line:
            try:
                name, given = _receive(line)
            except (EOFError, OSError):
                return
            try:
                answer = ("ok", self._do(name, given))
            except errors.PerlicaError as error:
                answer = ("error", (type(error).__name__, error.code, error.text))
            try:
                _send(line, answer)
            except OSError:
                return

    def _do(self, name: str, given: dict[str, Any]) -> object:
        if name == "cancel":
            with self._lock:
                token = self._cancels.setdefault(given["operation"], CancelToken())
            token.set()
            return None
        if name not in _MUTATING:
            return getattr(self.backend, name)(**given)
        self._count(name, given)
        if name == "execute":
            with self._lock:
                token = self._cancels.setdefault(given["operation"], CancelToken())
            given = {**given, "cancel": token}
        return getattr(self.backend, name)(**given)

    def _count(self, name: str, given: dict[str, Any]) -> None:
        """Only what is new and changes something: a repeated operation id does nothing."""
        if isinstance(given.get("action"), ReadFile | ListFiles):
            return
        with self._lock:
            if self.backend.look_up(given["operation"]).fate is OperationFate.not_seen:
                self.effects[_say(name, given)] += 1


def _nothing_around(_label: str) -> AbstractContextManager[None]:
    return nullcontext()


class FarBackend:
    """The service's end: one connection for each call, the contract's errors and no others."""

    def __init__(self, path: Path, around: Around = _nothing_around) -> None:
        self._path = path
        self._around = around

    def current_image(self) -> tuple[str, ...]:
        images: tuple[str, ...] = self._ask("current_image")
        return images

    def create(
        self, operation: OperationId, spec: SandboxSpec, image_digest: str
    ) -> BackendSandbox:
        with self._around("backend:create"):
            made: BackendSandbox = self._ask(
                "create", operation=operation, spec=spec, image_digest=image_digest
            )
        return made

    def inspect(self, name: SandboxName) -> BackendSandbox | None:
        found: BackendSandbox | None = self._ask("inspect", name=name)
        return found

    def execute(
        self,
        operation: OperationId,
        *,
        name: SandboxName,
        instance: str,
        action: Action,
        cancel: CancelToken,
    ) -> ActionOutcome:
        with (
            self._around(f"backend:{_kind(action)}"),
            cancel.on_cancel(lambda: self.cancel(operation)),
        ):
            outcome: ActionOutcome = self._ask(
                "execute", operation=operation, name=name, instance=instance, action=action
            )
        return outcome

    def stop(self, operation: OperationId, name: SandboxName, instance: str) -> BackendSandbox:
        with self._around("backend:stop"):
            stopped: BackendSandbox = self._ask(
                "stop", operation=operation, name=name, instance=instance
            )
        return stopped

    def delete(self, operation: OperationId, name: SandboxName, instance: str) -> Absence:
        with self._around("backend:delete"):
            gone: Absence = self._ask("delete", operation=operation, name=name, instance=instance)
        return gone

    def cancel(self, operation: OperationId) -> None:
        self._ask("cancel", operation=operation)

    def look_up(self, operation: OperationId) -> OperationLookUp:
        found: OperationLookUp = self._ask("look_up", operation=operation)
        return found

    def acknowledge(self, operation: OperationId) -> None:
        with self._around("backend:acknowledge"):
            self._ask("acknowledge", operation=operation)

    def reconcile(self) -> tuple[BackendSandbox, ...]:
        everything: tuple[BackendSandbox, ...] = self._ask("reconcile")
        return everything

    def survey(self) -> NodeSurvey:
        seen: NodeSurvey = self._ask("survey")
        return seen

    def _ask(self, method: str, /, **given: object) -> Any:
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
                line.settimeout(_ANSWER_WITHIN_S)
                line.connect(str(self._path))
                _send(line, (method, given))
                kind, answer = _receive(line)
        except (OSError, EOFError) as error:
            raise errors.OutcomeUnknown("backend_gone", "the backend is gone") from error
        if kind == "ok":
            return answer
        kind_of_error, code, text = answer
        raise getattr(errors, kind_of_error)(code, text)


def _kind(action: Action) -> str:
    return {"Command": "exec", "WriteFile": "write"}.get(type(action).__name__, "read")


def _say(name: str, given: dict[str, Any]) -> str:
    """An effect in words, such as `write main /root/a`."""
    if name == "create":
        return f"create {given['spec'].name}"
    action = given.get("action")
    if isinstance(action, WriteFile):
        return f"write {given['name']} {action.path}"
    if isinstance(action, Command):
        return f"exec {given['name']} {' '.join(action.argv)}"
    return f"{name} {given['name']}"


def _send(line: socket.socket, value: object) -> None:
    body = pickle.dumps(value)
    line.sendall(_LENGTH.pack(len(body)) + body)


def _receive(line: socket.socket) -> Any:
    (length,) = _LENGTH.unpack(_read(line, _LENGTH.size))
    return pickle.loads(_read(line, length))


def _read(line: socket.socket, length: int) -> bytes:
    body = b""
    while len(body) < length:
        piece = line.recv(length - len(body))
        if not piece:
            raise EOFError
        body += piece
    return body
