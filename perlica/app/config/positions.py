"""Line numbers of keys in a TOML text; the standard reader keeps none.

Only ever used on a text that `tomllib` accepted, so this walks statements without judging them.
"""

import re

_BLANK = re.compile(r"[ \t\r\n]*(?:#[^\n]*\n?[ \t\r\n]*)*")
_STRING = re.compile(
    r'''
    """ (?:\\.|[^\\])*? """+        # basic, over several lines
    | '{3} .*? '{3,}             # literal, over several lines
    | " (?:\\.|[^"\\\n])* "
    | ' [^'\n]* '
    ''',
    re.DOTALL | re.VERBOSE,
)
_PART = re.compile(r"""[ \t]*(?:"((?:\\.|[^"\\\n])*)"|'([^'\n]*)'|([A-Za-z0-9_-]+))[ \t]*""")

KeyPath = tuple[str, ...]


def locate_keys(text: str) -> dict[KeyPath, int]:
    """The line (from 1) of every section header and key; keys of inline tables are left out."""
    found: dict[KeyPath, int] = {}
    section: KeyPath = ()
    at = _skip_blank(text, 0)
    while at < len(text):
        line = text.count("\n", 0, at) + 1
        if text[at] == "[":
            depth = 2 if text.startswith("[[", at) else 1
            section, at = _read_path(text, at + depth)
            path = section
        else:
            keys, at = _read_path(text, at)
            path = section + keys
        for length in range(1, len(path) + 1):
            found.setdefault(path[:length], line)
        at = _skip_blank(text, _end_of_statement(text, at))
    return found


def line_of(positions: dict[KeyPath, int], path: KeyPath) -> int | None:
    """The line of a key or of the nearest thing around it, None when not even that is there."""
    for length in range(len(path), 0, -1):
        line = positions.get(path[:length])
        if line is not None:
            return line
    return None


def _skip_blank(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _read_path(text: str, at: int) -> tuple[KeyPath, int]:
    parts: list[str] = []
    while part := _PART.match(text, at):
        parts.append(next(group for group in part.groups() if group is not None))
        at = part.end()
        if not text.startswith(".", at):
            break
        at += 1
    return tuple(parts), at


def _end_of_statement(text: str, at: int) -> int:
    """Where the line ends that closes the value beginning at `at` (strings and lists may span)."""
    depth = 0
    while at < len(text):
        character = text[at]
        if character in "\"'":
            string = _STRING.match(text, at)
            at = string.end() if string else at + 1
            continue
        if character == "#":
            at = _end_of_line(text, at)
            continue
        if character == "\n" and depth <= 0:
            return at
        depth += (character in "[{") - (character in "]}")
        at += 1
    return at


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end
