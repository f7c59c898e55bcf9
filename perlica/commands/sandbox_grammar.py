"""The rest of a line behind `.sbx`, `.image`, `.orphans` and `.node`.

Called by the grammar with the plain words of the rest and with the rest as it was written, out of
which a person's own words are taken.
"""

import re
from collections.abc import Mapping, Sequence

from perlica.commands.names import Mistake
from perlica.domain.sandbox import NAME_PATTERN

Read = Mapping[str, str] | Mistake

_NODE = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?")
_DIGEST = re.compile(r"(sha256:)?[0-9a-f]{12,64}")
_NUMBER = re.compile(r"[0-9]{1,9}")
_NAMED = frozenset({"show", "ops", "stop", "delete", "describe"})


def read_sbx(words: Sequence[str], rest: str) -> Read:
    """{action: list}, {action: show|ops|stop|delete, name}, {action: describe, name, purpose}."""
    action = words[0].lower() if words else "list"
    if action == "list":
        return Mistake.too_many_words if len(words) > 1 else {"action": action}
    if action not in _NAMED:
        return Mistake.unknown_word
    if len(words) == 1:
        return Mistake.needs_name
    name = words[1].lower()
    if not NAME_PATTERN.fullmatch(name):
        return Mistake.bad_name
    if action == "describe":
        return _with_text({"action": action, "name": name}, "purpose", rest, behind=2)
    return Mistake.too_many_words if words[2:] else {"action": action, "name": name}


def read_image(words: Sequence[str], rest: str) -> Read:
    """{action: show|retry}, {action: intro, introduction}, {action: switch, digest[, …]}."""
    action = words[0].lower() if words else "show"
    match action:
        case "show" | "retry":
            return Mistake.too_many_words if words[1:] else {"action": action}
        case "intro":
            return _with_text({"action": action}, "introduction", rest, behind=1)
        case "switch":
            return _read_switch(words, rest)
        case _:
            return Mistake.unknown_word


def _read_switch(words: Sequence[str], rest: str) -> Read:
    if len(words) == 1 or not _DIGEST.fullmatch(words[1].lower()):
        return Mistake.bad_digest
    read = {"action": "switch", "digest": words[1].lower()}
    return read if len(words) == 2 else _with_text(read, "introduction", rest, behind=2)  # noqa: PLR2004


def read_orphans(words: Sequence[str], _rest: str) -> Read:
    """{action: list}, {action: delete, number}."""
    action = words[0].lower() if words else "list"
    if action == "list":
        return Mistake.too_many_words if len(words) > 1 else {"action": action}
    if action != "delete":
        return Mistake.unknown_word
    if len(words) == 1 or not _NUMBER.fullmatch(words[1]):
        return Mistake.bad_number
    return Mistake.too_many_words if words[2:] else {"action": action, "number": words[1]}


def read_node(words: Sequence[str], _rest: str) -> Read:
    """{action: list}, {action: writeoff, name}."""
    action = words[0].lower() if words else "list"
    if action == "list":
        return Mistake.too_many_words if len(words) > 1 else {"action": action}
    if action != "writeoff":
        return Mistake.unknown_word
    if len(words) == 1:
        return Mistake.needs_name
    name = words[1].lower()
    if not _NODE.fullmatch(name):
        return Mistake.bad_name
    return Mistake.too_many_words if words[2:] else {"action": action, "name": name}


def _with_text(read: dict[str, str], key: str, rest: str, *, behind: int) -> Read:
    """The words of a person behind so many words of ours."""
    text = rest.split(maxsplit=behind)[behind:]
    return {**read, key: text[0].rstrip()} if text else Mistake.needs_text
