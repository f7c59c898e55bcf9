"""Names with values: environment, YAML, JSON, code, properties, flags, XML and Chinese labels.

One pass finds the names, a reader takes the value behind each, `judgement` decides.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from typing import Final

from perlica.protection.engine import Match, linear
from perlica.protection.judgement import Setting, is_secret
from perlica.protection.sheet import Sheet
from perlica.protection.values import HEXADECIMAL, is_strong
from perlica.protection.vocabulary import Announces, KeyName, understand
from perlica.protection.wording import class_count, is_dice

NAME: Final = (
    r"(?:[A-Za-z][A-Za-z0-9]*[ \t])?"
    r"[A-Za-z0-9_.$@\-]*(?:passw|pass|pwd|psw|secret|token|key|auth|cred|jwt|psk|pat|mnemonic|"
    r"seed|cookie|sess"
    r"|sid|sign|sig|otp|mfa|mima|kouling|bindpw|rootpw|pin|\bsk|\bak|[_.\-]sk|[_.\-]ak|[_.\-]pw|"
    r"\bpw|sendkey"
    r"|secretid|_salt)[A-Za-z0-9_.\-]*"
)
_SEPARATOR: Final = (
    r"(?:"
    r":[ ]?[A-Za-z][A-Za-z0-9_\[\].<>?|]* = "  # name: str = value
    r"|(?:\\?[\"'`])?[\])]?(?:\\?[\"'`])?\s?[ \t]*"
    r"(?:=>|:=|\|\|=|\?=|==?|:|->)[ \t]*(?:\n[> \t]*){0,2}"  # name = value
    r"|[\"'`][ \t]*,\s*"  # ("name", "value")
    r"|\(\s*"  # name("value")
    r"|>\s*"  # <name>value</name>
    r"|[ \t]*[`*]{0,2}[ \t]*\|[ \t]*"  # | name | value |
    r"|[ \t]*\n[> \t]*"  # the value on the line below
    r"|[ \t]+"  # name value
    r")"
)
KINDS: Final = frozenset(
    {
        "password",
        "secret",
        "token",
        "key",
        "api_key",
        "private_key",
        "access_key",
        "access_key_id",
        "session",
        "seed",
    }
)
_KEYED: Final = linear(NAME + _SEPARATOR, ignore_case=True)
_NAME_PART: Final = re.compile(rb"(?:[A-Za-z][A-Za-z0-9]*[ \t])?[A-Za-z0-9_.$@\-]+")


class Separator(Enum):
    """What stands between a name and its value; how firmly it binds them depends on it."""

    FIRM = auto()
    LISTED = auto()
    CALLED = auto()
    TAGGED = auto()
    BARRED = auto()
    PARTED = auto()
    BELOW = auto()
    SPACED = auto()


# Read at one place only, each character in one way only: linear without RE2, and cheaper.
_QUOTED: Final = re.compile(
    rb'"((?:[^"\\\r\n\xff]|\\[^\r\n\xff])*)"'
    rb"|'((?:[^'\\\r\n\xff]|\\[^\r\n\xff])*)'"
    rb"|`([^`\r\n\xff]*)`"
)
_OPENER: Final = re.compile(rb"[fFbBrRuU$@]?[\"'`]|" + "|".join("「【《").encode())
# A YAML block or a list may stand before the value itself.
_LEAD: Final = re.compile(rb"[|>][+-]?[ \t]*\r?\n[ \t]+|\[\s{0,8}(?=[\"'])|<!\[CDATA\[\s*")
_BARE: Final = re.compile(rb"[^\s\"'`\x80-\xff]+")
_END_OF_BARE: Final = re.compile(
    r"""</|\]\]>|<br|\\[nrtu"'\\]|\[CQ:|&amp;|[,;](?=$|["']|[\w.\- ]{1,40}[=:])|\}\}?,|//$"""
    r"|%20|%0[aAdD]|%22|%[eE][2-9]%",
)
_LONG_VALUE: Final = 256
_STEPS_OF_A_VALUE: Final = 2
_LONGEST_TAG: Final = 16
_LONGEST_BARE: Final = 1000
_LONGEST_QUOTED: Final = 4096
_LONGEST_NAME: Final = 120
_SYMBOLS: Final = re.compile(rb"[!@#$%^&*].*\d|\d.*[!@#$%^&*]")
NEXT_PAIR: Final = re.compile(rb"(?!base64:)[A-Za-z_][\w.\-]*[:=](?![=:]|$)")
_FORM: Final = re.compile(r"[\w.%\-~+/=]*(?=&[\w.\-\[\]]{1,40}=)")
_TRAILING: Final = ",;:."
_NO_START: Final = frozenset(b")}]|&=,;[{")
_PAIRS: Final = {")": "(", "]": "[", "}": "{", ">": "<"}


@dataclass(frozen=True, slots=True)
class Value:
    """Where a value stands, and whether in quotes."""

    start: int
    end: int
    quoted: bool


def detect(sheet: Sheet) -> None:
    """Find values behind names."""
    behind = 0
    for match in sheet.matches(_KEYED):
        if match.end() < behind:
            continue
        whole = match.group()
        name, separator = _parse(whole) if len(whole) < _LONGEST_NAME else _parsed(whole)
        if name.announces is not Announces.NOTHING:
            behind = _look_behind(sheet, match, name, separator)


def _parsed(whole: bytes) -> tuple[KeyName, Separator]:
    """Return what a name announces and what stands behind it."""
    part = _NAME_PART.match(whole)
    text = part.group() if part else whole
    name = understand(text[-_LONGEST_NAME:].decode("latin-1"))
    return name, _separator(whole[len(text.rstrip(b"-")) :])


_parse = lru_cache(maxsize=4096)(_parsed)


def _separator(between: bytes) -> Separator:
    mark = between.split(b"\n", 1)[0].strip() if b">" in between else between.strip()
    if not mark:
        return Separator.BELOW if b"\n" in between else Separator.SPACED
    if mark[:1] in _SOLE:
        return _SOLE[mark[:1]]
    if mark.endswith(b","):
        return Separator.LISTED
    if between.count(b"\n") > 1:
        return Separator.PARTED
    return Separator.BARRED if mark.endswith(b"|") else Separator.FIRM


_SOLE: Final = {b"(": Separator.CALLED, b">": Separator.TAGGED, b"|": Separator.BARRED}


def _look_behind(sheet: Sheet, match: Match, name: KeyName, separator: Separator) -> int:
    """Judge the value behind a name; return up to where no other name need be looked at."""
    data = sheet.data
    sheet.budget.spend(_STEPS_OF_A_VALUE)
    in_query = match.start() > 0 and data[match.start() - 1] in b"?&"
    value = read_value(data, match.end(), in_query=in_query)
    if value is None:
        return 0
    if _is_bound(data, match, name, value=value, separator=separator):
        setting = Setting(
            quoted=value.quoted,
            alone=_is_alone(data, value.end) or _is_assigned(data, match),
            firm=separator in _FIRM or data[match.start()] == _DASH,
        )
        if is_secret(name, data[value.start : value.end].decode("latin-1"), setting):
            sheet.add(value.start, value.end, kind=name.kind, rule="keyed", rank=20)
    return value.end if value.end - value.start > _LONG_VALUE else 0


def _is_bound(
    data: bytes, found: Match, name: KeyName, *, value: Value, separator: Separator
) -> bool:
    """Return whether the separator makes this the value of that name."""
    match separator:
        case Separator.LISTED | Separator.CALLED:
            return value.quoted
        case Separator.SPACED:
            return _binds_by_space(data, found, name, value)
        case Separator.BELOW:
            return _stands_below(data, found, name, value)
        case Separator.TAGGED:
            return _is_element(data, found, value)
        case _:
            is_pair = NEXT_PAIR.match(data[value.start : value.end]) is not None
            return not (is_pair and name.kind == "session")  # `Cookie: name=value`


_CLOSES: Final = re.compile(rb"\s{0,40}(?:\]\]>\s{0,40})?</")
_FIRM: Final = {Separator.FIRM, Separator.TAGGED, Separator.BARRED}
_DASH: Final = 0x2D


def _is_assigned(data: bytes, match: Match) -> bool:
    """True for `NAME=value` outside of any call, where even a plain word is a value."""
    if not match.group().endswith(b"="):
        return False
    line = data.rfind(b"\n", 0, match.start()) + 1
    return b"(" not in data[line : match.start()]


def _is_element(data: bytes, match: Match, value: Value) -> bool:
    """True for `<password>value</password>`."""
    opens = data.rfind(b"<", max(0, match.start() - 200), match.start() + 1)
    return (
        opens >= 0
        and b">" not in data[opens : match.start()]
        and _CLOSES.match(data, value.end) is not None
    )


def _binds_by_space(data: bytes, match: Match, name: KeyName, value: Value) -> bool:
    """A flag binds its value by space; other names only a value that cannot be prose or another
    pair.
    """
    if NEXT_PAIR.match(data[value.start : value.end]):
        return False
    if data[match.start()] == _DASH:
        return data[value.start : value.start + 1] != b"-"
    if name.announces < Announces.SECRET:
        if name.kind == "password":
            return not name.is_loud and bool(_SYMBOLS.search(data[value.start : value.end]))
        text = data[value.start : value.end].decode("latin-1")
        return is_dice(text) and not HEXADECIMAL.match(text)
    return name.announces is Announces.PASSWORD or value.end - value.start >= 16


def _stands_below(data: bytes, match: Match, name: KeyName, value: Value) -> bool:
    """True for a line that is nothing but the name, with a line below that is nothing but the
    value: what copying from a page gives.
    """
    before = data[max(0, match.start() - _LONGEST_NAME) : match.start()].rsplit(b"\n", 1)[-1]
    if before.strip(b" \t>*-#") or not _is_alone(data, value.end):
        return False
    text = data[value.start : value.end].decode("latin-1")
    return name.announces >= Announces.SECRET and is_strong(text) and class_count(text) > 1


def _is_alone(data: bytes, end: int) -> bool:
    rest = data[end : end + 40].split(b"\n", 1)[0].strip(b" \t\r\"',;")
    return not rest or rest.startswith(b"#")


def read_value(data: bytes, at: int, *, in_query: bool = False) -> Value | None:
    """Return the value that begins at `at`: quoted, or bare up to where it must end."""
    if data.startswith(b"!!", at):
        at = data.find(b" ", at, at + _LONGEST_TAG) + 1 or at
    lead = _LEAD.match(data, at)
    at = lead.end() if lead else at
    opener = _OPENER.match(data, at)
    if opener:
        quoted = _QUOTED.match(data, opener.end() - 1, opener.end() + _LONGEST_QUOTED)
        if quoted:
            start, end = quoted.span(quoted.lastindex or 0)
            return Value(start, end, quoted=True) if end > start else None
        at = opener.end()
    bare = _BARE.match(data, at, at + _LONGEST_BARE)
    if bare is None or data[at] in _NO_START:
        return None
    text = data[at : bare.end()].decode("latin-1")
    if in_query:
        text = text.split("&", 1)[0]
    end = at + len(trimmed(text))
    return Value(at, end, quoted=False) if end > at else None


def trimmed(text: str) -> str:
    """Return a bare value without what belongs to the text around it."""
    form = _FORM.match(text)
    if form and form.end():
        text = text[: form.end()]
    stop = _END_OF_BARE.search(text)
    if stop:
        text = text[: stop.start()]
    while text:
        last = text[-1]
        if last in _TRAILING or (last in _PAIRS and text.count(_PAIRS[last]) < text.count(last)):
            text = text[:-1]
        else:
            break
    return text
