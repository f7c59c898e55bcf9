"""The HTTP door: a WSGI application that maps addresses to the service's methods.

Who calls comes from the kernel (SO_PEERCRED) or from the verified client certificate, never from a
header. Bodies are bounded, parsed by the closed models of `sandboxd.wire`, and never appear in an
error or in the log.
"""

import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from sandboxd import wire
from sandboxd.config import Role
from sandboxd.faults import Fault, NotFound, OutcomeUnknown, Refused
from sandboxd.service.operations import Operations
from sandboxd.service.service import Service
from sandboxd.service.streaming import Feed

_log = logging.getLogger(__name__)
_NAME = r"(?P<name>[a-z][a-z0-9-]{0,30}[a-z0-9])"
_OPERATION = r"(?P<operation>[A-Za-z0-9][A-Za-z0-9_.-]{7,63})"
_MAX_EXPLAINED = 5
_EXEC = re.compile(f"{re.escape(wire.SANDBOXES_PATH)}/{_NAME}/exec")
PEER_NAMES = "sandboxd.peer_names"
"""Where the TLS door puts the DNS names of the verified client certificate."""

_Environ = Mapping[str, Any]
_StartResponse = Callable[[str, list[tuple[str, str]]], Any]
_Identify = Callable[[_Environ], Role]
_Handler = Callable[[Any, bytes], BaseModel]
_Model = TypeVar("_Model", bound=BaseModel)


class Application:
    """Callable by a WSGI server. `identify` tells the caller's role, or refuses him."""

    def __init__(self, service: Service, operations: Operations, *, identify: _Identify) -> None:
        self._service = service
        self._identify = identify
        self._routes = [
            (method, re.compile(pattern), handler)
            for method, pattern, handler in _routes(service, operations)
        ]

    def __call__(self, environ: _Environ, start_response: _StartResponse) -> Iterable[bytes]:
        """Answers one request."""
        began = time.monotonic()
        try:
            self._check_role(environ)
            if environ.get("HTTP_ACCEPT") == wire.STREAM_TYPE:
                lines = self._stream(environ)
                start_response("200 OK", [("Content-Type", wire.STREAM_TYPE)])
                return lines
            answer: BaseModel = self._dispatch(environ)
            status = 200
        except Exception as error:  # noqa: BLE001 (the last line of defence; text may hold content)
            fault = _explain(error)
            answer = fault.answer()
            status = wire.HTTP_STATUS_OF_ERROR[fault.code]
        raw = answer.model_dump_json().encode("utf-8")
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(raw)))]
        start_response(f"{status} {HTTPStatus(status).phrase}", headers)
        passed_ms = (time.monotonic() - began) * 1000
        _log.debug("%s: %d in %.1f ms", environ["REQUEST_METHOD"], status, passed_ms)
        return [raw]

    def _check_role(self, environ: _Environ) -> None:
        if self._identify(environ) != "observer":
            return
        if environ["REQUEST_METHOD"] != "GET":
            raise Refused("an observer may only look", remedy="call as the service")
        if environ["PATH_INFO"].startswith(f"{wire.OPERATIONS_PATH}/"):
            raise Refused("an observer sees no output of commands", remedy="call as the service")

    def _dispatch(self, environ: _Environ) -> BaseModel:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        for wanted, pattern, handler in self._routes:
            if wanted == method and (match := pattern.fullmatch(path)):
                return handler(match, _body_of(environ))
        raise NotFound("there is no such address, or not with this method")

    def _stream(self, environ: _Environ) -> Iterator[bytes]:
        match = _EXEC.fullmatch(environ["PATH_INFO"])
        if match is None or environ["REQUEST_METHOD"] != "POST":
            raise Refused("only the output of a command can be streamed")
        name = wire.SandboxName(match["name"])
        request = _parse(wire.ExecRequest, _body_of(environ))
        feed = Feed(limit_bytes=self._service.streamed_bytes)
        feed.run(lambda observe: self._service.execute(name, request, observe), _explain)
        feed.begin()
        return feed.lines()


def identify_user(allowed_uids: tuple[int, ...]) -> _Identify:
    """For a Unix socket: the kernel says who the peer is. Listed users speak for the service."""
    allowed = frozenset(allowed_uids)

    def identify(environ: _Environ) -> Role:
        uid = environ.get("X_REMOTE_UID", "")
        if not uid.isdigit() or int(uid) not in allowed:
            raise Refused(
                f"user {uid or 'unknown'} may not use sandboxd",
                remedy="add it to allowed_uids in the configuration",
            )
        return "service"

    return identify


def identify_certificate(roles: Mapping[str, Role]) -> _Identify:
    """For TLS: the one DNS name of the client's certificate, bound to one role."""

    def identify(environ: _Environ) -> Role:
        names = environ.get(PEER_NAMES, ())
        if len(names) != 1 or names[0] not in roles:
            raise Refused(
                f"the certificate of {' and '.join(names) or 'nobody'} may not use sandboxd",
                remedy="add its one DNS name to [tls.clients] in the configuration",
            )
        return roles[names[0]]

    return identify


def _explain(error: Exception) -> Fault:
    if isinstance(error, Fault):
        return error
    _log.error("internal error: %s at %s", type(error).__name__, _place_of(error))
    return OutcomeUnknown("the daemon failed inside", remedy="see the log of sandboxd")


def _body_of(environ: _Environ) -> bytes:
    length = environ.get("CONTENT_LENGTH") or "0"
    if environ.get("HTTP_TRANSFER_ENCODING") or not length.isdigit():
        raise Refused("a body must come with Content-Length")
    if int(length) > wire.MAX_REQUEST_BYTES:
        raise Refused(f"the body is larger than {wire.MAX_REQUEST_BYTES} bytes")
    body: bytes = environ["wsgi.input"].read(int(length))
    if len(body) != int(length):
        raise Refused("the body ended early")
    return body


def _parse(model: type[_Model], body: bytes) -> _Model:
    """Raises: Refused naming fields and rules, never values."""
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False, include_context=False)
        found = [
            f"{'.'.join(str(part) for part in p['loc']) or 'body'}: {p['msg']}" for p in problems
        ]
        raise Refused("; ".join(found[:_MAX_EXPLAINED])) from None


def _routes(service: Service, operations: Operations) -> list[tuple[str, str, _Handler]]:
    sandboxes, boxes = re.escape(wire.SANDBOXES_PATH), re.escape(wire.SANDBOXES_PATH) + "/" + _NAME
    operation = re.escape(wire.OPERATIONS_PATH) + "/" + _OPERATION

    def of_sandbox(
        act: Callable[[wire.SandboxName, _Model], BaseModel], model: type[_Model]
    ) -> _Handler:
        return lambda match, body: act(match["name"], _parse(model, body))

    return [
        ("POST", f"{boxes}/exec", of_sandbox(service.execute, wire.ExecRequest)),
        ("POST", f"{boxes}/files/read", of_sandbox(service.read_file, wire.ReadFileRequest)),
        ("POST", f"{boxes}/files/write", of_sandbox(service.write_file, wire.WriteFileRequest)),
        ("POST", f"{boxes}/files/list", of_sandbox(service.list_files, wire.ListFilesRequest)),
        ("POST", f"{boxes}/stop", of_sandbox(service.stop, wire.StopRequest)),
        ("DELETE", boxes, of_sandbox(service.delete, wire.DeleteRequest)),
        ("GET", boxes, lambda match, _: service.sandbox(match["name"])),
        ("POST", sandboxes, lambda _, body: service.create(_parse(wire.CreateRequest, body))),
        ("GET", sandboxes, lambda *_: service.sandboxes()),
        ("GET", operation, lambda match, _: operations.report(match["operation"])),
        ("POST", f"{operation}/cancel", lambda match, _: service.cancel(match["operation"])),
        ("POST", f"{operation}/ack", lambda match, _: operations.acknowledge(match["operation"])),
        ("GET", re.escape(wire.OPERATIONS_PATH), lambda *_: operations.summaries()),
        ("GET", re.escape(wire.USE_PATH), lambda *_: service.use()),
        ("GET", re.escape(wire.LOG_PATH), lambda *_: service.log()),
        ("GET", re.escape(wire.GARBAGE_PATH), lambda *_: service.garbage()),
        (
            "POST",
            re.escape(wire.GARBAGE_PATH),
            lambda _, body: service.collect(_parse(wire.CollectRequest, body)),
        ),
        ("GET", re.escape(wire.HEALTH_PATH), lambda *_: service.health()),
        ("GET", re.escape(wire.IMAGES_PATH), lambda *_: service.images()),
    ]


def _place_of(error: BaseException) -> str:
    """File and line of the innermost frame."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else "unknown place"
