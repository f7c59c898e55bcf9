"""The HTTP door: a WSGI application that maps addresses to the service's methods.

The peer's user id comes from the kernel (SO_PEERCRED), never from a header. Bodies are bounded,
parsed by the closed models of `sandboxd.wire`, and never appear in an error or in the log.
"""

import logging
import re
import time
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from sandboxd import wire
from sandboxd.faults import Fault, NotFound, OutcomeUnknown, Refused
from sandboxd.service.operations import Operations
from sandboxd.service.service import Service

_log = logging.getLogger(__name__)
_NAME = r"(?P<name>[a-z][a-z0-9-]{0,30}[a-z0-9])"
_OPERATION = r"(?P<operation>[A-Za-z0-9][A-Za-z0-9_.-]{7,63})"
_MAX_EXPLAINED = 5

_Environ = Mapping[str, Any]
_StartResponse = Callable[[str, list[tuple[str, str]]], Any]
_Handler = Callable[[Any, bytes], BaseModel]
_Model = TypeVar("_Model", bound=BaseModel)


class Application:
    """Callable by a WSGI server."""

    def __init__(
        self, service: Service, operations: Operations, *, allowed_uids: tuple[int, ...]
    ) -> None:
        self._allowed_uids = frozenset(allowed_uids)
        self._routes = [
            (method, re.compile(pattern), handler)
            for method, pattern, handler in _routes(service, operations)
        ]

    def __call__(self, environ: _Environ, start_response: _StartResponse) -> Iterable[bytes]:
        """Answers one request."""
        began = time.monotonic()
        answer: BaseModel
        try:
            self._check_peer(environ)
            answer = self._dispatch(environ)
            status = 200
        except Fault as fault:
            answer = fault.answer()
            status = wire.HTTP_STATUS_OF_ERROR[fault.code]
        except Exception as error:  # noqa: BLE001 (the last line of defence; text may hold content)
            _log.error("internal error: %s at %s", type(error).__name__, _place_of(error))
            unknown = OutcomeUnknown("the daemon failed inside", remedy="see the log of sandboxd")
            answer = unknown.answer()
            status = wire.HTTP_STATUS_OF_ERROR[unknown.code]
        raw = answer.model_dump_json().encode("utf-8")
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(raw)))]
        start_response(f"{status} {HTTPStatus(status).phrase}", headers)
        passed_ms = (time.monotonic() - began) * 1000
        _log.debug("%s: %d in %.1f ms", environ["REQUEST_METHOD"], status, passed_ms)
        return [raw]

    def _check_peer(self, environ: _Environ) -> None:
        uid = environ.get("X_REMOTE_UID", "")
        if not uid.isdigit() or int(uid) not in self._allowed_uids:
            raise Refused(
                f"user {uid or 'unknown'} may not use sandboxd",
                remedy="add it to allowed_uids in the configuration",
            )

    def _dispatch(self, environ: _Environ) -> BaseModel:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        for wanted, pattern, handler in self._routes:
            if wanted == method and (match := pattern.fullmatch(path)):
                return handler(match, _body_of(environ))
        raise NotFound("there is no such address, or not with this method")


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
        ("GET", re.escape(wire.HEALTH_PATH), lambda *_: service.health()),
        ("GET", re.escape(wire.IMAGES_PATH), lambda *_: service.images()),
    ]


def _place_of(error: BaseException) -> str:
    """File and line of the innermost frame."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else "unknown place"
