"""Asks the running daemon over its Unix socket, as an operator on the node."""

import http.client
import socket
import uuid
from http import HTTPStatus
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from sandboxd import wire
from sandboxd.faults import Fault, Misconfigured, OutcomeUnknown, fault_of

_ANSWER_WITHIN_S = 60.0
_Answer = TypeVar("_Answer", bound=BaseModel)


def ask(
    path: Path,
    answer: type[_Answer],
    address: str,
    request: BaseModel | None = None,
    *,
    within_s: float = _ANSWER_WITHIN_S,
) -> _Answer:
    """GET `address`, or POST `request` to it. Raises: the daemon's fault, Misconfigured."""
    connection = http.client.HTTPConnection("sandboxd", timeout=within_s)
    connection.sock = socket.socket(socket.AF_UNIX)
    body = None if request is None else request.model_dump_json().encode("utf-8")
    try:
        connection.sock.settimeout(within_s)
        connection.sock.connect(str(path))
        connection.request("GET" if body is None else "POST", address, body)
        response = connection.getresponse()
        raw = response.read()
    except OSError as error:
        raise Misconfigured(
            f"no daemon answers on {path} ({error.strerror or type(error).__name__})",
            remedy="start it (sandboxd serve), or give --socket or --config",
        ) from error
    except http.client.HTTPException as error:
        raise OutcomeUnknown(f"the daemon's answer broke off ({type(error).__name__})") from error
    finally:
        connection.close()
    if response.status != HTTPStatus.OK:
        raise _fault_in(raw)
    return answer.model_validate_json(raw)


def _fault_in(raw: bytes) -> Fault:
    return fault_of(wire.ErrorAnswer.model_validate_json(raw))


def new_operation() -> wire.OperationId:
    """An id for a request of an operator."""
    return wire.OperationId(f"operator-{uuid.uuid4().hex}")
