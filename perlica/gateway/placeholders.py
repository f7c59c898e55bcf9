"""Placeholders among what a call would do: they mark where a credential was, and are no content.

The gateway asks this of every plan but those that only read our own tables. A placeholder in a
file, a command or its input would be written in place of the very thing that it stands for.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from perlica.domain.errors import Refused
from perlica.domain.plan import ActionPlan, JsonValue
from perlica.protection.rules import is_kind

CODE: Final = "placeholder"
"""The code of the refusal; the audit keeps it, and the task's last message asks for it."""

_MARKED: Final = re.compile(r"⟦\s*凭\s*据[^⟧\n]{0,80}⟧?")
_IMITATED: Final = re.compile(r"[\[〔【<{(「《]\s*凭据\s*:\s*([A-Za-z0-9_]{2,40})\s*:\s*\d{1,5}")
_INVISIBLE: Final = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
_TEXT: Final = (
    "{where} holds the placeholder {name}. It marks where the service replaced a credential and is"
    " no content: written anywhere, it would stand in place of the real value, which nobody here"
    " has. To change a file that holds a credential, change its other lines with a command and"
    " leave that line alone; where a new value will do, make one inside the sandbox. Tell the"
    " member what was replaced: he should recall the message, change the credential, and not send"
    " it here again."
)


def refuse_placeholders(plan: ActionPlan) -> None:
    """Raises: Refused when the target or an effect of the plan holds a placeholder."""
    for where, text in (*_texts(dict(plan.target), "target"), *_texts(dict(plan.effect), "")):
        name = find_placeholder(text)
        if name is not None:
            raise Refused(CODE, _TEXT.format(where=where, name=name))


def find_placeholder(text: str) -> str | None:
    """The first placeholder in a text, or what a model makes of one when it copies it badly."""
    if "凭" not in text:
        return None
    plain = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))
    marked = _MARKED.search(plain)
    if marked is not None:
        return marked.group()
    for imitated in _IMITATED.finditer(plain):
        if is_kind(imitated.group(1).lower()):
            return imitated.group()
    return None


def _texts(value: JsonValue, name: str) -> Iterator[tuple[str, str]]:
    """Every text below a value, with the name of the field that it stands in."""
    if isinstance(value, str):
        yield name or "a parameter", value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield name or "a parameter", key
            yield from _texts(inner, name or key)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner, name)
