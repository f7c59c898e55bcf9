"""Which command a line means that is none: another sign before it, capitals, a slip of the finger.

Used by the grammar for lines that are no command in its one form. Nothing that is found here is
ever carried out: whoever typed it is told how the command is typed.
"""

import difflib
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from perlica.commands.names import CommandName

_DOTS: Final = frozenset(".。")
"""After NFKC, which makes a full stop of the full-width and the one-dot forms."""
_SIGNS: Final = frozenset("/\\!、,·•‧∙⋅・")
"""What other programs begin commands with, and what lies beside the dot on a keyboard."""
_WORD: Final = re.compile(r"[a-z][a-z0-9_-]*")
_FOREIGN: Final = re.compile(r"[^\W\d_]+")
_ENDS: Final = re.compile(r"\s|$")
_GOES_ON: Final = re.compile(r"[\w./-]")
_CLOSE: Final = 0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """What a line seems to mean.

    `name` is None for a dot word that is no command, and `resembles` then the one that it is close
    to. `rest` is what follows the word; `is_marked` says that a sign stood before it, so that it
    was hardly ordinary talk.
    """

    name: CommandName | None
    resembles: CommandName | None = None
    rest: str = field(default="", repr=False)
    is_marked: bool = True


def find_meant(shown: str, names: Mapping[str, CommandName]) -> Meant | None:
    """What a line of visible signs means; None when it is talk."""
    plain = unicodedata.normalize("NFKC", shown).strip().lower()
    first, rest = plain[:1], plain[1:]
    if first in _DOTS:
        return _behind_dot(first, rest, names)
    if first and unicodedata.category(first)[0] in "PS":
        return _named(rest, names, is_marked=first in _SIGNS)
    return _named(plain, names, is_marked=False)


def _behind_dot(dot: str, rest: str, names: Mapping[str, CommandName]) -> Meant | None:
    """`.Status`, `. status`, `..status`, `.status。`, `.aprove …`, `.gitignore`, `.状态`."""
    word = _WORD.match(rest.removeprefix(dot).lstrip())
    name = names.get(word.group()) if word else None
    if word is not None and name is not None:
        return Meant(name=name)
    word = _WORD.match(rest)
    if word is None:
        foreign = _FOREIGN.match(rest) if dot == "." else None
        return Meant(name=None, resembles=_closest(foreign.group(), names)) if foreign else None
    resembles = _closest(word.group(), names)
    is_whole = _ENDS.match(rest, word.end()) is not None
    return Meant(name=None, resembles=resembles) if is_whole or resembles else None


def _named(rest: str, names: Mapping[str, CommandName], *, is_marked: bool) -> Meant | None:
    """A command's name without its dot, when it is not the beginning of something longer."""
    word = _WORD.match(rest)
    name = names.get(word.group()) if word else None
    if word is None or name is None or _GOES_ON.match(rest, word.end()):
        return None
    return Meant(name=name, rest=rest[word.end() :], is_marked=is_marked)


def _closest(word: str, names: Mapping[str, CommandName]) -> CommandName | None:
    begun = next((name for known, name in names.items() if word.startswith(known)), None)
    close = difflib.get_close_matches(word, names, n=1, cutoff=_CLOSE)
    return begun or (names[close[0]] if close else None)
