"""JSON as NapCat's JavaScript reads and writes it: the edge between frames and Python values.

Source: docs/facts/napcat.md (JSON5, numbers above 2^53 rounded, lone surrogates kept as escapes).
"""

import json
import math

import json5

LARGEST_EXACT_INTEGER = 2**53
LONGEST_JSON5_CHARS = 65_536
"""The JSON5 reader is slow; longer texts must be plain JSON, which is all that clients send."""


class BadJson(ValueError):
    """The text is neither JSON nor JSON5."""


def encode(value: object) -> str:
    """Text as `JSON.stringify` gives it: compact, not ASCII-only, lone surrogates escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def decode(text: str) -> object:
    """Read JSON or JSON5; every number is a double, so big integers come back rounded.

    Raises:
        BadJson: the text is neither.
    """
    try:
        value: object = json.loads(text, parse_int=_integer, parse_float=_number)
    except (ValueError, RecursionError) as error:
        if len(text) > LONGEST_JSON5_CHARS:
            raise BadJson("not JSON") from error
    else:
        return value
    try:
        value = json5.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadJson("neither JSON nor JSON5") from error
    return value


def _integer(digits: str) -> int | None:
    if len(digits) <= len(str(LARGEST_EXACT_INTEGER)) - 1:
        return int(digits)
    number = float(digits)
    return int(number) if math.isfinite(number) else None


def _number(digits: str) -> int | float | None:
    number = float(digits)
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() else number
