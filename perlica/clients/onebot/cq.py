"""CQ strings: the second form in which NapCat can be configured to deliver messages.

Turns a string into the segments that the array form would have held.
"""

import re
from collections.abc import Iterator
from typing import Any

_CODE = re.compile(r"\[CQ:([A-Za-z0-9_.-]{1,64})((?:,[^\[\]]*)?)\]")


def unescape(text: str) -> str:
    """Undo CQ escaping once; `&amp;` last, so that `&amp;#91;` stays the text `&#91;`."""
    if "&" not in text:
        return text
    for escaped, plain in (("&#91;", "["), ("&#93;", "]"), ("&#44;", ","), ("&amp;", "&")):
        text = text.replace(escaped, plain)
    return text


def split_codes(message: str) -> Iterator[dict[str, Any]]:
    """Yield `{"type", "data"}` for each text and each `[CQ:…]` in order; broken codes are text."""
    end = 0
    for code in _CODE.finditer(message):
        if code.start() > end:
            yield _text_segment(message[end : code.start()])
        yield {"type": code[1], "data": _parameters(code[2])}
        end = code.end()
    if end < len(message):
        yield _text_segment(message[end:])


def _text_segment(escaped: str) -> dict[str, Any]:
    return {"type": "text", "data": {"text": unescape(escaped)}}


def _parameters(source: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in source.split(",") if part)
    return {key: unescape(value) for key, _, value in pairs}
