"""Whether a model wrote a tool call as text instead of making one.

Pure; asked by `perlica.runtimes.checks`. The marks of servers and chat templates are a table in
`perlica.runtimes.call_marks`; beside them stands a call as JSON: the whole text, a fence, or an
object at the start of a line.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

from perlica.runtimes.call_marks import CALL_MARKS

_MARKS: Final = re.compile("|".join(f"(?:{mark.pattern})" for mark in CALL_MARKS), re.MULTILINE)
# What no answer holds unless it is a call: a mark and, right behind it, what is to be called.
_MADE: Final = re.compile(
    r"<tool_call>\s*\{\s*\"name\"|<(?:｜DSML｜)?invoke name=\"[\w.-]+\">|\bto=functions\.\w+"
    r"|<[|｜]tool[▁_]call[▁_]begin[|｜]>"
)
_CODE: Final = re.compile(r"^(```+|~~~+)[^\n]*\n.*?(?:^\1|\Z)|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_ARGUMENTS: Final = ("arguments", "parameters", "input", "args", "action_input")
_MOST_OBJECTS: Final = 200
_DECODER: Final = json.JSONDecoder()


def is_call_in_text(text: str, tools: Sequence[str]) -> bool:
    """Whether `text` names one of `tools` and holds a call's marks, or a call of one as JSON; or,
    outside of code, marks with a name in them, whichever tool that is.
    """
    if _MADE.search(_CODE.sub("", text)):
        return True
    if not any(tool in text for tool in tools):
        return False
    if _MARKS.search(text):
        return True
    return any(_is_call(item, tools) for value in _json_values(text) for item in _items(value))


def _json_values(text: str) -> Iterator[object]:
    """The objects and lists that begin a line of `text`, the first of them."""
    tried, end = 0, 0
    for line in re.finditer(r"^[ \t]*(?=[{\[])", text, re.MULTILINE):
        if line.end() < end:
            continue
        tried += 1
        if tried > _MOST_OBJECTS:
            return
        try:
            value, end = _DECODER.raw_decode(text, line.end())
        except (ValueError, RecursionError):
            continue
        yield value


def _items(value: object) -> Sequence[object]:
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        value = value["tool_calls"]
    return value if isinstance(value, list) else [value]


def _is_call(item: object, tools: Sequence[str]) -> bool:
    if not isinstance(item, dict):
        return False
    function = item.get("function")
    inner: dict[str, object] = function if isinstance(function, dict) else item
    names = (inner.get(key) for key in ("name", "tool", "tool_name", "function", "action"))
    given = [inner[key] for key in _ARGUMENTS if key in inner]
    is_named = any(name in tools for name in names)
    return is_named and any(not _is_schema(arguments) for arguments in given)


def _is_schema(arguments: object) -> bool:
    """Whether this describes a tool's parameters instead of giving them: the answer to a question
    about tools.
    """
    return isinstance(arguments, dict) and {"type", "properties"} <= arguments.keys()
