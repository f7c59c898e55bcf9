"""Reading single values out of OneBot frames, which nobody vouches for.

Every other module of this package reads frames through these.
"""

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

Frame: TypeAlias = Mapping[str, Any]
"""A decoded JSON object as NapCat sent it: raw, never logged, never stored."""

_WHOLE = re.compile(r"-?[0-9]{1,19}", re.ASCII)
_LARGEST = 2**63 - 1
_MS_FROM = 10**11
_LATEST_MS = 10**14


def whole_number(value: object) -> int | None:
    """The value as an int if it is an int or a digit string of at most 63 bits, else None.

    NapCat gave ids as either over its versions (S09); booleans and fractions are neither.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        if not _WHOLE.fullmatch(value):
            return None
        value = int(value)
    if isinstance(value, int) and -_LARGEST <= value <= _LARGEST:
        return value
    return None


def positive_number(value: object) -> int | None:
    """The value as an int above zero (a group or an account), else None."""
    number = whole_number(value)
    return number if number is not None and number > 0 else None


def required(number: int | None, field_name: str) -> int:
    """The number.

    Raises: ValueError when there is none; the text names the field and never its value.
    """
    if number is None:
        raise ValueError(f"{field_name} is missing or no whole number")
    return number


def text_of(value: object) -> str:
    """The value if it is text, a number as its digits, else ''."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _LARGEST:
        return str(value)
    return ""


def time_ms(value: object) -> int:
    """A OneBot time as milliseconds UTC: seconds, or milliseconds above 10^11.

    Raises: ValueError when it is no plausible time.
    """
    number = required(positive_number(value), "time")
    number = number if number > _MS_FROM else number * 1000
    if number > _LATEST_MS:
        raise ValueError("time is out of range")
    return number
