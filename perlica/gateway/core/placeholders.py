"""Placeholders among what a call would do: they mark where a credential was, and are no content.

The gateway asks this of every plan but those that only read our own tables. A placeholder in a
file, a command or its input would be written in place of the very thing that it stands for.
"""

import html
import re
import unicodedata
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from perlica.domain.errors import Refused
from perlica.domain.plan import ActionPlan, JsonValue
from perlica.domain.texts.visible import without_invisible
from perlica.protection.rules import is_kind

CODE: Final = "placeholder"
"""The code of the refusal; the audit keeps it, and the task's last message asks for it."""

_MARKED: Final = re.compile(r"[⟦〚]\s*[凭憑]\s*[据據][^⟧〛\n]{0,80}[⟧〛]?")
_IMITATED: Final = re.compile(
    r"[\[〔【〖<{(「『《]\s*[凭憑][据據]\s*:\s*([A-Za-z0-9_]{2,40})\s*:\s*\d{1,5}"
)
_CODE_POINT: Final = re.compile(r"(?<!\\)\\++[uU](?:\{([0-9a-fA-F]{2,6})\}|([0-9a-fA-F]{4}))")
_BYTES: Final = re.compile(r"(?<!\\)(?:\\++(?:x[0-9a-fA-F]{2}|[0-3][0-7]{2}))++")
_BYTE: Final = re.compile(r"x([0-9a-fA-F]{2})|([0-3][0-7]{2})")
_ESCAPES: Final = ("\\", "%", "&#")
_LARGEST_CODE_POINT: Final = 0x10FFFF
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
    """The first placeholder in a text, or what a model makes of one when it copies it badly.

    Also one that is escaped, as JSON, a URL, a page or a shell's `printf` would have it.
    """
    found = _find_plain(text)
    if found is None and any(sign in text for sign in _ESCAPES):
        found = _find_plain(_unescaped(text))
    return found


def _find_plain(text: str) -> str | None:
    if "凭" not in text and "憑" not in text:
        return None
    plain = unicodedata.normalize("NFKC", without_invisible(text))
    marked = _MARKED.search(plain)
    if marked is not None:
        return marked.group()
    for imitated in _IMITATED.finditer(plain):
        if is_kind(imitated.group(1).lower()):
            return imitated.group()
    return None


def _unescaped(text: str) -> str:
    """The text with every escape undone; those that stand for nothing stay."""
    text = unquote(unquote(html.unescape(text)))
    return _BYTES.sub(_read_bytes, _CODE_POINT.sub(_read_code_point, text))


def _read_code_point(match: re.Match[str]) -> str:
    code = int(match.group(1) or match.group(2), 16)
    return chr(code) if code <= _LARGEST_CODE_POINT else match.group()


def _read_bytes(match: re.Match[str]) -> str:
    values = (
        int(byte.group(1), 16) if byte.group(1) else int(byte.group(2), 8)
        for byte in _BYTE.finditer(match.group())
    )
    return bytes(values).decode("utf-8", "replace")


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
