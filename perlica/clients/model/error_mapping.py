"""What an HTTP status, or an error inside a stream, means for the caller.

Used by `perlica.clients.model.exchange`. The provider's words are only compared with known ones,
never passed on: they were seen to repeat keys and requests (docs/facts/models.md).
"""

import json
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Final, NoReturn

from perlica.clients.model.attempt_failure import AttemptFailure, read_retry_after_s
from perlica.clients.model.errors import (
    BY_STATUS,
    ERRORS,
    MEANINGS,
    TRUER,
    Meaning,
    Where,
)
from perlica.domain.errors import Misconfigured, Refused

MAX_ERROR_BYTES: Final = 16_384
_OVERLOADED: Final = 529
_MAY_PASS: Final = frozenset({408, 409, 425, 429})
_CODE_FIELDS: Final = ("code", "type", "status", "error_code", "reason")
_TOO_LONG: Final = "model_context_too_long"


def judge_status(
    status: int, headers: Mapping[str, str], body: bytes, *, needs_retry_after: bool
) -> NoReturn:
    """Raise what a status other than 200 means.

    `needs_retry_after`: a 429 without a `Retry-After` is a spend limit and not worth repeating
    (Anthropic).

    Raises: AttemptFailure, Refused or Misconfigured.
    """
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        raise Misconfigured("model_redirected", f"the model's address redirects (HTTP {status})")
    known = _find_meaning(body.decode("utf-8", "replace"))
    if status in BY_STATUS:
        code, meaning = BY_STATUS[status]
        if known is not None and known[0] in TRUER[status]:
            code, meaning = known
        _raise(code, meaning, f"HTTP {status}")
    is_limit = status == HTTPStatus.TOO_MANY_REQUESTS and (
        known is None or known[0] == "model_rate_limited"
    )
    if is_limit and needs_retry_after and read_retry_after_s(headers) is None:
        raise Misconfigured("model_spend_limit", "the account's spend limit is reached (HTTP 429)")
    if known is not None and known[1].kind is None:
        raise AttemptFailure(known[0], f"{known[1].text} (HTTP {status})", wait_s=_wait_s(headers))
    is_ours = HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
    # llama.cpp answers 500 to a conversation that is too long: that will not pass.
    if known is not None and (is_ours or known[0] == _TOO_LONG):
        _raise(*known, f"HTTP {status}")
    if is_ours and status not in _MAY_PASS:
        _raise("model_request_refused", _REFUSED, f"HTTP {status}")
    raise _failure(status, headers)


def judge_stream_error(error: object) -> NoReturn:
    """Raise what an error object inside a 200 stream means; what is not known may pass.

    Raises: AttemptFailure, Refused or Misconfigured.
    """
    try:
        raw = json.dumps(error, ensure_ascii=False)[:MAX_ERROR_BYTES]
    except (ValueError, RecursionError):
        raw = ""
    known = _meaning_of(raw, error)
    if known is not None and known[1].kind is None:
        raise AttemptFailure(known[0], f"{known[1].text} (in the stream)")
    if known is not None:
        _raise(*known, "in the stream")
    if '"invalid_request_error"' in raw.lower():
        _raise("model_request_refused", _REFUSED, "in the stream")
    raise AttemptFailure("model_stream_error", "the model's stream ended with an error")


_REFUSED: Final = Meaning(kind=Refused, text="the provider refuses the request")


def _raise(code: str, meaning: Meaning, how: str) -> NoReturn:
    kind = meaning.kind or Refused
    raise kind(code, f"{meaning.text} ({how})")


def _wait_s(headers: Mapping[str, str]) -> float:
    return read_retry_after_s(headers) or 0.0


def _failure(status: int, headers: Mapping[str, str]) -> AttemptFailure:
    wait_s = _wait_s(headers)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return AttemptFailure(
            "model_rate_limited", "the provider limits the rate (HTTP 429)", wait_s=wait_s
        )
    if status in {HTTPStatus.SERVICE_UNAVAILABLE, _OVERLOADED}:
        text = f"the provider is overloaded (HTTP {status})"
        return AttemptFailure("model_overloaded", text, wait_s=wait_s)
    text = f"the provider cannot answer now (HTTP {status})"
    return AttemptFailure("model_server_error", text, wait_s=wait_s)


def _find_meaning(text: str) -> tuple[str, Meaning] | None:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    return _meaning_of(text, value)


def _meaning_of(text: str, value: object) -> tuple[str, Meaning] | None:
    """The first row that fits: codes of `value` before words of `text`."""
    lower = text.lower()
    found = {
        Where.code: frozenset(_codes(value)),
        Where.base_resp: frozenset(_base_resp(value)),
    }
    for row in ERRORS:
        is_said = row.saying in (lower if row.where is Where.words else found[row.where])
        if is_said:
            return row.means, MEANINGS[row.means]
    return None


def _objects(value: object) -> Iterator[dict[str, object]]:
    """The error object and what it is wrapped in: a list (Gemini), `error`, `detail`."""
    first = value[0] if isinstance(value, list) and value else value
    for _ in range(3):
        if not isinstance(first, dict):
            return
        yield first
        first = first.get("error") or first.get("detail")


def _codes(value: object) -> Iterator[str]:
    for one in _objects(value):
        for name in _CODE_FIELDS:
            code = one.get(name)
            if isinstance(code, str | int) and not isinstance(code, bool):
                yield str(code)[:80].lower()


def _base_resp(value: object) -> Iterator[str]:
    for one in _objects(value):
        reply = one.get("base_resp")
        if isinstance(reply, dict):
            yield str(reply.get("status_code"))[:80]
