"""Speaks to the daemon as the service does: HTTP over its Unix socket, the models of the wire."""

import http.client
import socket
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from gate.lines import Broken
from sandboxd import wire

_Model = TypeVar("_Model", bound=BaseModel)
_ANSWER_WITHIN_S = 120.0


class Answered(Exception):
    """The daemon answered with an error."""

    def __init__(self, answer: wire.ErrorAnswer) -> None:
        super().__init__(f"{answer.error}: {answer.message}")
        self.answer = answer


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path, within_s: float) -> None:
        super().__init__("sandboxd", timeout=within_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def new_operation() -> wire.OperationId:
    """An operation id that nobody has used."""
    return wire.OperationId(uuid.uuid4().hex)


class Client:
    """One connection for each call."""

    def __init__(self, path: Path, *, within_s: float = _ANSWER_WITHIN_S) -> None:
        self._path = path
        self._within_s = within_s

    def call(
        self, answer: type[_Model], method: str, path: str, request: BaseModel | None = None
    ) -> _Model:
        """Raises: Answered with the daemon's error, OSError when it is not there."""
        body = request.model_dump_json().encode("utf-8") if request is not None else None
        connection = _UnixConnection(self._path, self._within_s)
        try:
            connection.request(method, path, body)
            response = connection.getresponse()
            raw = response.read()
        finally:
            connection.close()
        if response.status != http.HTTPStatus.OK:
            raise Answered(wire.ErrorAnswer.model_validate_json(raw))
        return answer.model_validate_json(raw)

    def health(self) -> wire.HealthReport:
        """What the daemon says of itself and its node."""
        return self.call(wire.HealthReport, "GET", wire.HEALTH_PATH)

    def sandboxes(self) -> tuple[wire.SandboxState, ...]:
        """All sandboxes of the node."""
        return self.call(wire.SandboxList, "GET", wire.SANDBOXES_PATH).sandboxes

    def create(
        self,
        name: str,
        digest: str,
        *,
        limits: Mapping[str, int] | None = None,
        network: wire.Network = "none",
    ) -> "Sandbox":
        """Makes a sandbox with the smallest disk, unless `limits` says otherwise."""
        request = wire.CreateRequest.model_validate(
            {
                "operation": new_operation(),
                "epoch": 1,
                "name": name,
                "image_digest": digest,
                "network": network,
                "limits": {"disk_bytes": wire.MIN_DISK_BYTES} | dict(limits or {}),
            }
        )
        state = self.call(wire.SandboxState, "POST", wire.SANDBOXES_PATH, request)
        return Sandbox(self, state.name, state.instance)


class Sandbox:
    """One sandbox as a caller sees it."""

    def __init__(self, client: Client, name: wire.SandboxName, instance: wire.InstanceId) -> None:
        self.client = client
        self.name = name
        self.instance = instance

    def state(self) -> wire.SandboxState:
        """Its state."""
        return self.client.call(wire.SandboxState, "GET", wire.sandbox_path(self.name))

    def run(self, *argv: str, **fields: object) -> wire.ExecOutcome:
        """Runs a command; `fields` are those of ExecRequest."""
        request = wire.ExecRequest.model_validate(self._identity() | {"argv": argv} | fields)
        return self.client.call(wire.ExecOutcome, "POST", wire.exec_path(self.name), request)

    def says(self, script: str, **fields: object) -> str:
        """What a shell script prints. Raises: Broken when it does not exit with 0."""
        outcome = self.run("/bin/sh", "-c", script, **fields)
        if outcome.exit_code != 0:
            words = (outcome.stdout[-200:] + outcome.stderr[-300:]).decode("utf-8", "replace")
            raise Broken(f"a command in the sandbox {outcome.ended} ({outcome.exit_code}): {words}")
        return outcome.stdout.decode("utf-8", "replace").strip()

    def write(self, path: str, content: bytes, *, mode: int = 0o644) -> None:
        """Writes a file inside."""
        request = wire.WriteFileRequest.model_validate(
            self._identity()
            | {"path": path, "content_base64": wire.encode_bytes(content), "mode": mode}
        )
        self.client.call(wire.FileWritten, "POST", wire.write_file_path(self.name), request)

    def stop(self) -> None:
        """Ends what runs and unmounts it."""
        request = wire.StopRequest.model_validate(self._identity())
        self.client.call(wire.SandboxState, "POST", wire.stop_path(self.name), request)

    def delete(self) -> wire.DeletionProof:
        """Deletes it."""
        request = wire.DeleteRequest.model_validate(self._identity())
        return self.client.call(wire.DeletionProof, "DELETE", wire.sandbox_path(self.name), request)

    def _identity(self) -> dict[str, object]:
        return {"operation": new_operation(), "epoch": 1, "instance": self.instance}
