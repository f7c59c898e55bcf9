"""Bytes that a provider wants back unchanged: what a scan must look at in them.

They are JSON of the runtime's own, kept in `session_events.opaque`. Pure.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

from perlica.domain.plan import JsonValue

CIPHERTEXT: Final[Mapping[str, str]] = {
    "thought_signature": "Gemini",
    "signature": "Anthropic and OpenRouter",
    "data": "OpenRouter: reasoning.encrypted; Anthropic: redacted_thinking",
    "encrypted_content": "OpenAI through OpenRouter",
}
"""Members that hold a signature or ciphertext: no text of a person or a model."""

READ_ON: Final = ("text", "summary", "thinking")
"""Members whose text a stream may divide: it is read on from part to part."""
_ENCODED: Final = re.compile(r"[A-Za-z0-9+/_-]*={0,2}", re.ASCII)
_CIPHER: Final = re.compile(r"[A-Za-z0-9+/_-]{128,}={0,2}", re.ASCII)


def read_opaque(opaque: bytes | None) -> tuple[JsonValue, ...]:
    """What a scan must look at, of either API's bytes: all but signatures and ciphertext.

    The whole with its keys, which may say what a value is; then its texts as one, for a stream may
    divide anything between two of them; then each of them alone, short signatures too.
    """
    value = json.loads(opaque) if opaque else None
    if not value:
        return ()
    return ({"opaque": _without_ciphertext("", value)}, "".join(_flow(value)), *_texts("", value))


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
            if isinstance(member, str) and name in READ_ON:
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
