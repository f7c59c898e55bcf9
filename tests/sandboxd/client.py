"""A caller of the daemon as the service is one: HTTP over the Unix socket, models of the wire."""

import http.client
import socket
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Protocol, TypeVar

from pydantic import BaseModel, TypeAdapter

from sandboxd import wire

Model = TypeVar("Model", bound=BaseModel)
WITHIN_S = 30.0


class Answered(Exception):
    """The daemon answered with an error."""

    def __init__(self, answer: wire.ErrorAnswer) -> None:
        super().__init__(f"{answer.error}: {answer.message}")
        self.answer = answer


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("sandboxd", timeout=WITHIN_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def new_id() -> wire.OperationId:
    return wire.OperationId(uuid.uuid4().hex)


class Client:
    """One connection for each call. `epoch` goes out with every mutating request."""

    def __init__(self, path: Path, *, epoch: int = 1) -> None:
        self.path = path
        self.epoch = epoch

    def send(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        connection = _UnixConnection(self.path)
        try:
            connection.request(method, path, body or None)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def call(
        self, answer: type[Model], method: str, path: str, request: BaseModel | None = None
    ) -> Model:
        body = request.model_dump_json().encode("utf-8") if request is not None else b""
        status, raw = self.send(method, path, body)
        if status != 200:
            raise Answered(wire.ErrorAnswer.model_validate_json(raw))
        return answer.model_validate_json(raw)

    def health(self) -> wire.HealthReport:
        return self.call(wire.HealthReport, "GET", wire.HEALTH_PATH)

    def images(self) -> tuple[wire.HeldImage, ...]:
        return self.call(wire.ImageList, "GET", wire.IMAGES_PATH).images

    def sandboxes(self) -> tuple[wire.SandboxState, ...]:
        return self.call(wire.SandboxList, "GET", wire.SANDBOXES_PATH).sandboxes

    def create(
        self, name: str, image: str, *, limits: Mapping[str, int] | None = None, **fields: object
    ) -> wire.SandboxState:
        limits = {"disk_bytes": wire.MIN_DISK_BYTES} | dict(limits or {})
        given = {"operation": new_id(), "epoch": self.epoch, "name": name, "image_digest": image}
        request = wire.CreateRequest.model_validate(given | fields | {"limits": limits})
        return self.call(wire.SandboxState, "POST", wire.SANDBOXES_PATH, request)

    def report(self, operation: str) -> wire.OperationReport:
        return self.call(wire.OperationReport, "GET", wire.operation_path(operation))

    def cancel(self, operation: str) -> wire.CancelAnswer:
        return self.call(wire.CancelAnswer, "POST", wire.cancel_path(operation))

    def acknowledge(self, operation: str) -> wire.AcknowledgeAnswer:
        return self.call(wire.AcknowledgeAnswer, "POST", wire.acknowledge_path(operation))


class Stream:
    """An exec whose lines are read one by one."""

    def __init__(self, path: Path, address: str, request: wire.ExecRequest) -> None:
        self._connection = _UnixConnection(path)
        body = request.model_dump_json().encode("utf-8")
        self._connection.request("POST", address, body, {"Accept": wire.STREAM_TYPE})
        self._response = self._connection.getresponse()
        if self._response.status != 200:
            raw = self._response.read()
            self.close()
            raise Answered(wire.ErrorAnswer.model_validate_json(raw))

    def __iter__(self) -> Iterator[wire.StreamOutput | wire.StreamEnd]:
        lines: TypeAdapter[wire.StreamOutput | wire.StreamEnd] = TypeAdapter(wire.StreamLine)
        try:
            for line in self._response:
                yield lines.validate_json(line)
        finally:
            self.close()

    def close(self) -> None:
        self._connection.close()


class Box:
    """One sandbox as a caller sees it."""

    def __init__(self, client: Client, state: wire.SandboxState) -> None:
        self.client = client
        self.name = state.name
        self.instance = state.instance

    def state(self) -> wire.SandboxState:
        return self.client.call(wire.SandboxState, "GET", wire.sandbox_path(self.name))

    def run(self, *argv: str, **fields: object) -> wire.ExecOutcome:
        given = {"operation": new_id(), "epoch": self.client.epoch, "instance": self.instance}
        request = wire.ExecRequest.model_validate(given | {"argv": argv} | fields)
        return self.client.call(wire.ExecOutcome, "POST", wire.exec_path(self.name), request)

    def shell(self, script: str, **fields: object) -> wire.ExecOutcome:
        return self.run("/bin/sh", "-c", script, **fields)

    def stream(self, script: str, **fields: object) -> "Stream":
        """The same as `shell`, with the output while it comes."""
        given = {"operation": new_id(), "epoch": self.client.epoch, "instance": self.instance}
        argv = ("/bin/sh", "-c", script)
        request = wire.ExecRequest.model_validate(given | {"argv": argv} | fields)
        return Stream(self.client.path, wire.exec_path(self.name), request)

    def says(self, script: str) -> str:
        """stdout of a script that must succeed."""
        outcome = self.shell(script)
        assert outcome.exit_code == 0, (outcome.ended, outcome.stderr)
        return outcome.stdout.decode("utf-8").strip()

    def stop(self, **fields: object) -> wire.SandboxState:
        return self._change(wire.StopRequest, wire.SandboxState, wire.stop_path, "POST", fields)

    def delete(self, **fields: object) -> wire.DeletionProof:
        return self._change(
            wire.DeleteRequest, wire.DeletionProof, wire.sandbox_path, "DELETE", fields
        )

    def _change(
        self,
        kind: type[BaseModel],
        answer: type[Model],
        path: Callable[[str], str],
        method: str,
        fields: dict[str, object],
    ) -> Model:
        given = {"operation": new_id(), "epoch": self.client.epoch, "instance": self.instance}
        return self.client.call(
            answer, method, path(self.name), kind.model_validate(given | fields)
        )

    def write(self, path: str, content: bytes, **fields: object) -> wire.FileWritten:
        given = {
            "operation": new_id(),
            "epoch": self.client.epoch,
            "instance": self.instance,
            "path": path,
            "content_base64": wire.encode_bytes(content),
        }
        request = wire.WriteFileRequest.model_validate(given | fields)
        return self.client.call(wire.FileWritten, "POST", wire.write_file_path(self.name), request)

    def read(self, path: str, **fields: object) -> wire.FileContent:
        given = {"epoch": self.client.epoch, "instance": self.instance, "path": path}
        request = wire.ReadFileRequest.model_validate(given | fields)
        return self.client.call(wire.FileContent, "POST", wire.read_file_path(self.name), request)

    def list(self, path: str, **fields: object) -> wire.FileListing:
        given = {"epoch": self.client.epoch, "instance": self.instance, "path": path}
        request = wire.ListFilesRequest.model_validate(given | fields)
        return self.client.call(wire.FileListing, "POST", wire.list_files_path(self.name), request)


class MakeBox(Protocol):
    """Creates a sandbox; it is deleted after the test."""

    def __call__(self, name: str = "box", *, limits: Mapping[str, int] | None = None) -> Box: ...


class Refusal(Protocol):
    """The error that the daemon answers when `act` is tried."""

    def __call__(self, act: Callable[[], object]) -> wire.ErrorAnswer: ...
