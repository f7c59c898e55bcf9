"""HTTP to the node daemon: connections over a Unix socket or mutual TLS, requests, streams, errors.

Private to `perlica.clients.sandboxd`.
"""

import http.client
import json
import socket
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from perlica.domain.errors import Misconfigured, OutcomeUnknown, PerlicaError, Refused, Retryable
from sandboxd import wire

OnOutput = Callable[[str, bytes, int], None]
"""Gets the stream's name, a piece of it, and how many bytes are missing in front of the piece."""

_MAX_ANSWER_BYTES = 48 * 1024 * 1024

_Answer = TypeVar("_Answer", bound=wire.Wire)
_LINES: TypeAdapter[wire.StreamOutput | wire.StreamEnd] = TypeAdapter(wire.StreamLine)
_ERRORS: Mapping[str, type[PerlicaError]] = {
    "refused": Refused,
    "not_found": Refused,
    "busy": Retryable,
    "retryable": Retryable,
    "unknown_outcome": OutcomeUnknown,
    "misconfigured": Misconfigured,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsAddress:
    """A daemon on another machine: its address, the name that its certificate must show, the
    authority of both sides, and the service's own certificate and key (PEM files).
    """

    host: str
    port: int
    server_name: str
    authority: Path
    certificate: Path
    key: Path


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket, with a deadline for every read."""

    def __init__(self, path: Path, within_s: float) -> None:
        super().__init__("sandboxd", timeout=within_s)
        self._path = path

    def connect(self) -> None:
        """Connects within the deadline."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


class TlsConnection(http.client.HTTPConnection):
    """HTTP over mutual TLS 1.3; the server must show its name, not only any certificate."""

    def __init__(self, address: TlsAddress, context: ssl.SSLContext, within_s: float) -> None:
        super().__init__(address.host, address.port, timeout=within_s)
        self._server_name = address.server_name
        self._context = context

    def connect(self) -> None:
        """Connects, then shakes hands; both within the deadline."""
        super().connect()
        self.sock = self._context.wrap_socket(self.sock, server_hostname=self._server_name)


def context_of(address: TlsAddress) -> ssl.SSLContext:
    """For TlsConnection. Raises Misconfigured when a file cannot be used."""
    try:
        context = ssl.create_default_context(cafile=address.authority)
        context.load_cert_chain(address.certificate, address.key)
    except OSError as error:  # ssl.SSLError is one.
        raise Misconfigured(
            "sandboxd_certificate",
            f"a certificate or key for sandboxd cannot be used ({type(error).__name__})",
            remedy="give readable PEM files whose key and certificate belong together",
        ) from error
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    return context


def describe(error: Exception) -> str:
    """What to tell about a failure of the way; never the bytes that came."""
    return f"the node daemon did not answer ({type(error).__name__})"


def exchange(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    *,
    answer: type[_Answer],
    request: wire.Wire | None,
) -> _Answer:
    """One request and its answer. Raises the daemon's error, OSError, HTTPException."""
    body = request.model_dump_json().encode() if request is not None else None
    headers = {"Content-Type": "application/json"} if body is not None else {}
    connection.request(method, path, body=body, headers=headers)
    response = connection.getresponse()
    raw = response.read(_MAX_ANSWER_BYTES + 1)
    if len(raw) > _MAX_ANSWER_BYTES:
        raise http.client.HTTPException("answer too large")
    if not HTTPStatus.OK <= response.status < HTTPStatus.MULTIPLE_CHOICES:
        raise _error_of(response.status, raw)
    try:
        return answer.model_validate_json(raw)
    except ValidationError:
        raise http.client.HTTPException("answer of another shape") from None


def follow(
    connection: http.client.HTTPConnection,
    path: str,
    request: wire.ExecRequest,
    on_output: OnOutput,
) -> wire.ExecOutcome:
    """Reads the lines of a streamed exec to its end.

    Raises: HTTPException when the stream ends before its last line.
    """
    headers = {"Content-Type": "application/json", "Accept": wire.STREAM_TYPE}
    connection.request("POST", path, body=request.model_dump_json().encode(), headers=headers)
    response = connection.getresponse()
    if response.status != HTTPStatus.OK:
        raise _error_of(response.status, response.read(_MAX_ANSWER_BYTES))
    while line := response.readline(_MAX_ANSWER_BYTES):
        try:
            piece = _LINES.validate_json(line)
        except ValidationError:
            raise http.client.HTTPException("a line of another shape") from None
        if isinstance(piece, wire.StreamOutput):
            on_output(piece.stream, piece.content, piece.skipped_bytes)
        elif piece.outcome is not None:
            return piece.outcome
        elif piece.failure is not None:
            raise _error_in(piece.failure)
    raise http.client.HTTPException("the stream ended early")


def _error_of(status: int, raw: bytes) -> PerlicaError:
    try:
        answer = wire.ErrorAnswer.model_validate(json.loads(raw))
    except (ValidationError, ValueError):
        return OutcomeUnknown("sandboxd_error", f"the node daemon answered {status}")
    return _error_in(answer)


def _error_in(answer: wire.ErrorAnswer) -> PerlicaError:
    return _ERRORS[answer.error](answer.error, answer.message, remedy=answer.remedy)
