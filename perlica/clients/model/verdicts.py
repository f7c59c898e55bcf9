"""What an HTTP status, or an error inside a stream, means for the caller.

Used by `perlica.clients.model.exchange`. The provider's words are only compared with known ones,
never passed on: they were seen to repeat keys and requests (facts/models.md §2).
"""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final, NoReturn

from perlica.clients.model.setback import Setback, read_retry_after_s
from perlica.domain.errors import Misconfigured, PerlicaError, Refused

MAX_ERROR_BYTES: Final = 16_384
_OVERLOADED: Final = 529
_MAY_PASS: Final = frozenset({408, 409, 425, 429})

_BY_WORDS: Final[tuple[tuple[tuple[str, ...], type[PerlicaError], str, str], ...]] = (
    (
        ("context_length", "maximum context", "prompt is too long", "context window"),
        Refused,
        "model_context_too_long",
        "the conversation is longer than the model can read",
    ),
    (
        ("content_filter", "data_inspection", "content exists risk", "content_policy", "high risk"),
        Refused,
        "model_content_refused",
        "the provider's content filter refused the conversation",
    ),
    (
        ("reasoning_content",),
        Misconfigured,
        "model_dialect",
        "the provider wants its thinking replayed: set the model's dialect",
    ),
    (
        ("max_completion_tokens", "'max_tokens'"),
        Misconfigured,
        "model_max_tokens_field",
        "the provider names the answer's limit otherwise: set max_tokens_field, or lower the limit",
    ),
    (
        ("insufficient_quota", "exceeded_current_quota", "credit balance", "insufficient balance",
         "billing", "arrearage", "suspended"),
        Misconfigured,
        "model_balance",
        "the account has no balance or quota left",
    ),
    (
        ("model_not_found", "model not exist", "does not exist", "invalid model", "unknown model"),
        Misconfigured,
        "model_name",
        "the provider does not know the model's name",
    ),
)  # fmt: skip

_BY_STATUS: Final[Mapping[int, tuple[type[PerlicaError], str, str]]] = {
    401: (Misconfigured, "model_key_rejected", "the provider rejects the model's key"),
    402: (Misconfigured, "model_balance", "the account has no balance or quota left"),
    403: (
        Misconfigured,
        "model_forbidden",
        "the key may not use this model, or its limit is reached",
    ),
    404: (Misconfigured, "model_not_found", "the address or the model's name does not exist"),
    413: (Refused, "model_request_too_large", "the conversation is larger than the provider takes"),
}


def judge_status(
    status: int, headers: Mapping[str, str], body: bytes, *, needs_retry_after: bool
) -> NoReturn:
    """Raise what a status other than 200 means.

    `needs_retry_after`: a 429 without a `Retry-After` is a spend limit and not worth repeating
    (Anthropic).

    Raises: Setback, Refused or Misconfigured.
    """
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        raise Misconfigured("model_redirected", f"the model's address redirects (HTTP {status})")
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status < HTTPStatus.MULTIPLE_CHOICES:
        raise _setback(status, headers)
    if status in _BY_STATUS:
        kind, code, text = _BY_STATUS[status]
        raise kind(code, f"{text} (HTTP {status})")
    words = _known_words(body)
    if status in _MAY_PASS:
        if words is not None and words[0] is Misconfigured:
            raise words[0](words[1], f"{words[2]} (HTTP {status})")
        is_limit = status == HTTPStatus.TOO_MANY_REQUESTS
        if is_limit and needs_retry_after and read_retry_after_s(headers) is None:
            raise Misconfigured(
                "model_spend_limit", "the account's spend limit is reached (HTTP 429)"
            )
        raise _setback(status, headers)
    kind, code, text = words or (
        Refused,
        "model_request_refused",
        "the provider refuses the request",
    )
    raise kind(code, f"{text} (HTTP {status})")


def judge_stream_error(error: object) -> NoReturn:
    """Raise what an error object inside a 200 stream means; what is not known may pass.

    Raises: Setback, Refused or Misconfigured.
    """
    raw = json.dumps(error, ensure_ascii=False)[:MAX_ERROR_BYTES].lower()
    known = _find_words(raw)
    if known is not None:
        raise known[0](known[1], f"{known[2]} (in the stream)")
    if any(word in raw for word in ("authentication_error", "permission_error", "not_found_error")):
        raise Misconfigured(
            "model_key_rejected", "the provider rejects key or model (in the stream)"
        )
    if '"invalid_request_error"' in raw:
        raise Refused("model_request_refused", "the provider refuses the request (in the stream)")
    raise Setback("model_stream_error", "the model's stream ended with an error")


def _setback(status: int, headers: Mapping[str, str]) -> Setback:
    wait_s = read_retry_after_s(headers) or 0.0
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return Setback(
            "model_rate_limited", "the provider limits the rate (HTTP 429)", wait_s=wait_s
        )
    if status in {HTTPStatus.SERVICE_UNAVAILABLE, _OVERLOADED}:
        text = f"the provider is overloaded (HTTP {status})"
        return Setback("model_overloaded", text, wait_s=wait_s)
    text = f"the provider cannot answer now (HTTP {status})"
    return Setback("model_server_error", text, wait_s=wait_s)


def _known_words(body: bytes) -> tuple[type[PerlicaError], str, str] | None:
    return _find_words(body.decode("utf-8", "replace").lower())


def _find_words(text: str) -> tuple[type[PerlicaError], str, str] | None:
    for words, kind, code, meaning in _BY_WORDS:
        if any(word in text for word in words):
            return kind, code, meaning
    return None
