"""What both APIs' requests are made of: texts taken out of their seal, arguments, JSON bytes.

A text whose scan did not end is never sent: the request is refused instead.
"""

import json
from collections.abc import Mapping

from perlica.conversation import SentCall
from perlica.domain.errors import Refused
from perlica.domain.plan import JsonValue
from perlica.protection import Protected


def open_text(protected: Protected) -> str:
    """The text that may leave. Raises: Refused when its scan did not end."""
    if not protected.is_usable:
        raise Refused(
            "protection_incomplete", "a text for the model could not be scanned to its end"
        )
    return protected.content


def read_arguments(call: SentCall) -> dict[str, JsonValue]:
    """The call's arguments as they are replayed: `{}` for anything that is no JSON object.

    Python reads NaN, and 1e999 as infinity, which no request could hold: those are none either.
    """
    try:
        arguments = json.loads(open_text(call.arguments))
        json.dumps(arguments, allow_nan=False)
    except (ValueError, RecursionError):
        return {}
    return arguments if isinstance(arguments, dict) else {}


def encode_json(value: Mapping[str, JsonValue]) -> bytes:
    """Compact UTF-8 JSON; a lone surrogate, which UTF-8 cannot hold, becomes `?`."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "replace")
