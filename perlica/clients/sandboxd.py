"""The door to the node daemon: `SandboxBackend` over HTTP, on a Unix socket or with mutual TLS.

Used by the serializer's workers; each call opens its own connection, so a cancel on a second one
never waits behind a long command.
"""

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from perlica.clients import sandboxd_values as values
from perlica.clients.sandboxd_transport import (
    OnOutput,
    TlsAddress,
    TlsConnection,
    UnixConnection,
    context_of,
    describe,
    exchange,
    follow,
)
from perlica.domain.cancel import CancelToken
from perlica.domain.clock import monotonic_s
from perlica.domain.errors import Misconfigured, OutcomeUnknown, PerlicaError, Refused, Retryable
from perlica.domain.ids import OperationId, SandboxName
from perlica.domain.sandbox import (
    Absence,
    Action,
    ActionOutcome,
    BackendSandbox,
    Command,
    CommandOutcome,
    HeldImage,
    ListFiles,
    NodeSurvey,
    OperationLookUp,
    ReadFile,
    SandboxSpec,
    WriteFile,
)
from sandboxd import wire

__all__ = ["SandboxdClient", "SandboxdSettings", "TlsAddress"]

ADMITTED_FOR_S = 30.0
_CONTROL_WITHIN_S = 10.0
_CANCEL_AGAIN_S = 0.05
_LIFECYCLE_WITHIN_S = 120.0
_ANSWER_MARGIN_S = 15.0

_Answer = TypeVar("_Answer", bound=wire.Wire)


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxdSettings:
    """Where the daemon listens and which epoch of the service's database speaks to it.

    `node` is the name that the daemon must answer to; "" takes any. With `tls` the socket path is
    not used. `admit` looks at the daemon's report before anything runs in a sandbox, again after
    ADMITTED_FOR_S, and raises Misconfigured when the node may not be used.
    """

    socket_path: Path
    epoch: int
    node: str = ""
    tls: TlsAddress | None = None
    admit: Callable[[wire.HealthReport], None] | None = None


class SandboxdClient:
    """A backend on one node. Safe to use from several threads at once."""

    def __init__(self, settings: SandboxdSettings) -> None:
        """Keep the settings; nothing is opened before the first call."""
        self._settings = settings
        self._context = None if settings.tls is None else context_of(settings.tls)
        self._admitted_until_s = 0.0

    # --- the contract ---------------------------------------------------------------------

    def health(self) -> wire.HealthReport:
        """The daemon's own report. Raises Misconfigured when it speaks another protocol."""
        report = self._read("GET", wire.HEALTH_PATH, wire.HealthReport)
        if report.protocol != wire.PROTOCOL_VERSION:
            raise Misconfigured(
                "sandboxd_protocol",
                f"sandboxd speaks protocol {report.protocol}, not {wire.PROTOCOL_VERSION}",
                remedy="install the same version of perlica and sandboxd",
            )
        return report

    def current_image(self) -> tuple[str, ...]:
        """See SandboxBackend."""
        images = self._read("GET", wire.IMAGES_PATH, wire.ImageList)
        return tuple(image.digest for image in images.images)

    def create(
        self, operation: OperationId, spec: SandboxSpec, image_digest: str
    ) -> BackendSandbox:
        """See SandboxBackend. Only on the node that the spec names."""
        self._check_node(spec.node)
        self._admit()
        request = _build(
            wire.CreateRequest,
            operation=operation,
            epoch=self._settings.epoch,
            name=spec.name,
            image_digest=image_digest,
            limits=values.limits_of(spec.limits),
            network=spec.network,
        )
        answer = self._mutate("POST", wire.SANDBOXES_PATH, request, wire.SandboxState)
        return values.sandbox_of(answer)

    def inspect(self, name: SandboxName) -> BackendSandbox | None:
        """See SandboxBackend."""
        try:
            state = self._read("GET", wire.sandbox_path(name), wire.SandboxState)
        except Refused as error:
            if error.code == "not_found":
                return None
            raise
        return values.sandbox_of(state)

    def execute(
        self,
        operation: OperationId,
        *,
        name: SandboxName,
        instance: str,
        action: Action,
        cancel: CancelToken,
    ) -> ActionOutcome:
        """See SandboxBackend; a cancel goes to the daemon on a connection of its own."""
        cancel.check()
        self._admit()
        with self._cancelling(operation, cancel):
            match action:
                case Command():
                    return self._run_command(operation, name, instance, action)
                case ReadFile():
                    return self._read_file(name, instance, action)
                case ListFiles():
                    return self._list_files(name, instance, action)
                case WriteFile():
                    return self._write_file(operation, name, instance, action)

    def stream_command(
        self,
        operation: OperationId,
        *,
        name: SandboxName,
        instance: str,
        action: Command,
        cancel: CancelToken,
        on_output: OnOutput,
    ) -> CommandOutcome:
        """Run a command as `execute` does, and hand on its output while it comes.

        `on_output` gets "stdout" or "stderr", raw bytes, cut anywhere, and how many bytes of that
        stream are missing in front of them. The daemon skips what a slow listener does not take;
        the outcome holds both ends all the same.

        Raises: Retryable when it was never started, OutcomeUnknown when its end was not heard.
        """
        cancel.check()
        self._admit()
        request = self._exec_request(operation, instance, action)
        within_s = action.within_ms / 1000 + _ANSWER_MARGIN_S
        with self._cancelling(operation, cancel):
            connection = self._connection(within_s)
            try:
                connection.connect()
            except OSError as error:
                raise Retryable("sandboxd_unreachable", describe(error)) from error
            try:
                outcome = follow(connection, wire.exec_path(name), request, on_output)
            except (OSError, http.client.HTTPException) as error:
                raise OutcomeUnknown("sandboxd_gone", describe(error)) from error
            finally:
                connection.close()
        return values.command_of(outcome)

    def stop(self, operation: OperationId, name: SandboxName, instance: str) -> BackendSandbox:
        """See SandboxBackend."""
        request = self._stamped(wire.StopRequest, operation=operation, instance=instance)
        state = self._mutate("POST", wire.stop_path(name), request, wire.SandboxState)
        return values.sandbox_of(state)

    def delete(self, operation: OperationId, name: SandboxName, instance: str) -> Absence:
        """See SandboxBackend. A proof with any part still there is an unknown outcome."""
        request = self._stamped(wire.DeleteRequest, operation=operation, instance=instance)
        proof = self._mutate("DELETE", wire.sandbox_path(name), request, wire.DeletionProof)
        return values.absence_of(proof)

    def look_up(self, operation: OperationId) -> OperationLookUp:
        """See SandboxBackend."""
        report = self._read("GET", wire.operation_path(operation), wire.OperationReport)
        return values.look_up_of(report)

    def acknowledge(self, operation: OperationId) -> None:
        """See SandboxBackend; best effort, the daemon bounds what it keeps anyway."""
        self._read("POST", wire.acknowledge_path(operation), wire.AcknowledgeAnswer)

    def cancel(self, operation: OperationId) -> None:
        """End a running operation: freeze, kill, thaw on the node."""
        self._read("POST", wire.cancel_path(operation), wire.CancelAnswer)

    def reconcile(self) -> tuple[BackendSandbox, ...]:
        """See SandboxBackend."""
        listed = self._read("GET", wire.SANDBOXES_PATH, wire.SandboxList)
        return tuple(values.sandbox_of(state) for state in listed.sandboxes)

    def survey(self) -> NodeSurvey:
        """See SandboxBackend; the identity is that of the daemon's state directory."""
        report = self._check_node(self._settings.node)
        images = self._read("GET", wire.IMAGES_PATH, wire.ImageList).images
        return NodeSurvey(
            node=report.node,
            identity=report.identity,
            images=tuple(HeldImage(digest=i.digest, reference=i.reference) for i in images),
            sandboxes=self.reconcile(),
        )

    def _check_node(self, node: str) -> wire.HealthReport:
        """Who answers. Raises: Misconfigured when it is another node than `node`."""
        report = self.health()
        answering = report.node
        if node and answering != node:
            raise Misconfigured(
                "sandboxd_other_node",
                f"sandboxd answers as node {answering}, not {node}",
                remedy="let the node's name in [sandbox] be the daemon's own",
            )
        return report

    def _admit(self) -> None:
        """Raises: Misconfigured when the node is not one that may run anything; Retryable."""
        admit = self._settings.admit
        if admit is None or monotonic_s() < self._admitted_until_s:
            return
        admit(self.health())
        self._admitted_until_s = monotonic_s() + ADMITTED_FOR_S

    # --- actions --------------------------------------------------------------------------

    def _stamped(self, model: type[_Answer], **fields: object) -> _Answer:
        return _build(model, epoch=self._settings.epoch, **fields)

    def _exec_request(
        self, operation: OperationId, instance: str, action: Command
    ) -> wire.ExecRequest:
        return self._stamped(
            wire.ExecRequest,
            operation=operation,
            instance=instance,
            argv=action.argv,
            cwd=action.cwd,
            env=dict(action.environment),
            stdin_base64=wire.encode_bytes(action.stdin),
            timeout_ms=action.within_ms,
            output_limit_bytes=action.output_limit_bytes,
            margin_bytes=min(action.margin_bytes, wire.MAX_MARGIN_BYTES),
        )

    def _run_command(
        self, operation: OperationId, name: SandboxName, instance: str, action: Command
    ) -> ActionOutcome:
        request = self._exec_request(operation, instance, action)
        within_s = action.within_ms / 1000 + _ANSWER_MARGIN_S
        answer = self._mutate(
            "POST", wire.exec_path(name), request, wire.ExecOutcome, within_s=within_s
        )
        return values.command_of(answer)

    def _read_file(self, name: SandboxName, instance: str, action: ReadFile) -> ActionOutcome:
        request = self._stamped(
            wire.ReadFileRequest,
            instance=instance,
            path=action.path,
            offset=action.offset_bytes,
            limit_bytes=action.limit_bytes,
        )
        answer = self._read("POST", wire.read_file_path(name), wire.FileContent, request)
        return values.content_of(answer)

    def _list_files(self, name: SandboxName, instance: str, action: ListFiles) -> ActionOutcome:
        request = self._stamped(
            wire.ListFilesRequest,
            instance=instance,
            path=action.path,
            limit_entries=action.limit_entries,
        )
        answer = self._read("POST", wire.list_files_path(name), wire.FileListing, request)
        return values.listing_of(answer)

    def _write_file(
        self, operation: OperationId, name: SandboxName, instance: str, action: WriteFile
    ) -> ActionOutcome:
        request = self._stamped(
            wire.WriteFileRequest,
            operation=operation,
            instance=instance,
            path=action.path,
            content_base64=wire.encode_bytes(action.content),
            mode=action.mode,
            create_parents=action.create_parents,
        )
        answer = self._mutate("POST", wire.write_file_path(name), request, wire.FileWritten)
        return values.written_of(answer)

    # --- transport ------------------------------------------------------------------------

    @contextmanager
    def _cancelling(self, operation: OperationId, cancel: CancelToken) -> Iterator[None]:
        """While the block runs, a cancel of it goes to the daemon."""
        ended = threading.Event()
        try:
            with cancel.on_cancel(lambda: self._cancel_quietly(operation, ended)):
                yield
        finally:
            ended.set()

    def _cancel_quietly(self, operation: OperationId, ended: threading.Event) -> None:
        """Until the daemon has heard it: a cancel can overtake the request that it is about."""
        while not ended.is_set():
            try:
                answer = self._read("POST", wire.cancel_path(operation), wire.CancelAnswer)
            except PerlicaError:
                return  # the call that runs it reports how it ended, or runs into its own deadline
            if answer.state != "not_running":
                return
            ended.wait(_CANCEL_AGAIN_S)

    def _connection(self, within_s: float) -> http.client.HTTPConnection:
        tls, context = self._settings.tls, self._context
        if tls is None or context is None:
            return UnixConnection(self._settings.socket_path, within_s)
        return TlsConnection(tls, context, within_s)

    def _read(
        self, method: str, path: str, answer: type[_Answer], request: wire.Wire | None = None
    ) -> _Answer:
        """A call without lasting effect: every failure of the way is Retryable."""
        connection = self._connection(_CONTROL_WITHIN_S)
        try:
            return exchange(connection, method, path, answer=answer, request=request)
        except (OSError, http.client.HTTPException) as error:
            raise Retryable("sandboxd_unreachable", describe(error)) from error
        finally:
            connection.close()

    def _mutate(
        self,
        method: str,
        path: str,
        request: wire.Wire,
        answer: type[_Answer],
        *,
        within_s: float = _LIFECYCLE_WITHIN_S,
    ) -> _Answer:
        """A call with an effect: once connected, a failure of the way leaves it unknown."""
        connection = self._connection(within_s)
        try:
            connection.connect()
        except OSError as error:
            raise Retryable("sandboxd_unreachable", describe(error)) from error
        try:
            return exchange(connection, method, path, answer=answer, request=request)
        except (OSError, http.client.HTTPException) as error:
            raise OutcomeUnknown("sandboxd_gone", describe(error)) from error
        finally:
            connection.close()


def _build(model: type[_Answer], **fields: object) -> _Answer:
    """A request, or Refused where the daemon would not take it anyway."""
    try:
        return model(**fields)
    except ValidationError as error:
        names = sorted({str(e["loc"][0]) if e["loc"] else "request" for e in error.errors()})
        text = f"the sandbox takes no such request: {', '.join(names)}"
        raise Refused("bad_request", text) from None
