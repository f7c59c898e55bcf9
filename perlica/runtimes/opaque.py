"""What a scan must see of the bytes that a runtime wants back unchanged.

`session_events.opaque` keeps them over a restart; `perlica.session.transcript` has them scanned
before that. Whichever runtime wrote them, it is the bytes that are read, not what it says of them.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

from perlica.domain.nesting import is_too_deep
from perlica.domain.plan import JsonValue

CIPHERTEXT: Final[Mapping[str, str]] = {
    "thought_signature": "Gemini",
    "signature": "Anthropic and OpenRouter",
    "data": "OpenRouter: reasoning.encrypted; Anthropic: redacted_thinking",
    "encrypted_content": "OpenAI through OpenRouter",
}
"""Members that hold a signature or ciphertext: no text of a person or a model."""

_TEXTS: Final = ("text", "summary", "thinking")
_ENCODED: Final = re.compile(r"[A-Za-z0-9+/_-]*={0,2}", re.ASCII)
_CIPHER: Final = re.compile(r"[A-Za-z0-9+/_-]{128,}={0,2}", re.ASCII)


def read_opaque(opaque: bytes | None) -> tuple[JsonValue, ...]:
    """What a scan must look at: all but signatures and ciphertext.

    The whole with its keys, which may say what a value is; then its texts as one, for a stream may
    divide anything between two of them; then each of them alone, short signatures too.

    Raises: ValueError for bytes that are no JSON, hold a key twice (a reader drops one unseen), or
    are nested so deep that no scan is sure of its end.
    """
    if not opaque:
        return ()
    try:
        value = json.loads(opaque, object_pairs_hook=_refuse_twice)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    if is_too_deep(value):
        raise ValueError("nested too deep")
    if not value:
        return ()
    return ({"opaque": _without_ciphertext("", value)}, "".join(_flow(value)), *_texts("", value))


def _refuse_twice(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key stands twice")
    return members


def _without_ciphertext(name: str, value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: _without_ciphertext(key, member) for key, member in value.items()}
    if isinstance(value, list):
        return [_without_ciphertext(name, member) for member in value]
    is_cipher = isinstance(value, str) and name in CIPHERTEXT and _ENCODED.fullmatch(value)
    return "" if is_cipher else value


def _flow(value: object) -> Iterator[str]:
    """What is read on from part to part."""
    if isinstance(value, list):
        for member in value:
            yield from _flow(member)
    elif isinstance(value, dict):
        for name, member in value.items():
            if isinstance(member, str) and name in _TEXTS:
                yield member
            yield from _flow(member)


def _texts(name: str, value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, member in value.items():
            yield key
            yield from _texts(key, member)
    elif isinstance(value, list):
        for member in value:
            yield from _texts(name, member)
    elif isinstance(value, str) and not (name in CIPHERTEXT and _CIPHER.fullmatch(value)):
        yield value
