"""Names with values: environment, YAML, JSON, code, properties, flags, XML and Chinese labels.

One pass finds the names, a reader takes the value behind each, `judgement` decides.
"""

import re
from dataclasses import dataclass
from typing import Final

from perlica.protection.engine import Match, linear
from perlica.protection.judgement import Setting, is_secret
from perlica.protection.sheet import Sheet
from perlica.protection.values import HEXADECIMAL
from perlica.protection.vocabulary import Announces, KeyName, understand
from perlica.protection.wording import is_dice

NAME: Final = (
    r"(?:[A-Za-z][A-Za-z0-9]*[ \t])?"
    r"[A-Za-z0-9_.$@\-]*(?:passw|pass|pwd|psw|secret|token|key|auth|cred|jwt|psk|pat|mnemonic|seed|cookie|sess"
    r"|sid|sign|sig|otp|mfa|mima|kouling|bindpw|rootpw|pin|\bsk|\bak|[_.\-]sk|[_.\-]ak|[_.\-]pw|\bpw|sendkey"
    r"|secretid)[A-Za-z0-9_.\-]*"
)
_SEPARATOR: Final = (
    r"(?:"
    r"(:[ ]?[A-Za-z][A-Za-z0-9_\[\].<>?|]*[ ]?=[ ]?)"
    r"|((?:\\?[\"'`])?[\])]?(?:\\?[\"'`])?\s?[ \t]*(?:=>|:=|==?|:|->)[ \t]*\n?[ \t]*)"
    r"|((?:[\"'`])[ \t]*,\s*)"
    r"|(\(\s*)"
    r"|(>\s*)"
    r"|([ \t]*[`*]{0,2}[ \t]*\|[ \t]*)"
    r"|([ \t]+)"
    r")"
)
KINDS: Final = frozenset(
    {"password", "secret", "token", "key", "api_key", "private_key", "access_key", "access_key_id", "session", "seed"}
)
_KEYED: Final = linear(f"({NAME}){_SEPARATOR}", ignore_case=True)
_TYPED, _FIRM, _LISTED, _CALLED, _TAGGED, _BARRED, _SPACED = range(2, 9)

_QUOTED: Final = linear(
    r'"((?:[^"\\\r\n]|\\.){0,})"|\'((?:[^\'\\\r\n]|\\.){0,})\'|`([^`\r\n]{0,900})`'.replace("4000", "1000")
)
_OPENER: Final = linear(r"[fFbBrRuU]?[\"'`]|\xe3\x80\x8c|\xe3\x80\x90|\xe3\x80\x8a")
_BARE: Final = linear(r"[^\s\"'`\x80-\xff]+")
_END_OF_BARE: Final = re.compile(
    r"""</|<br|\\[nrtu"'\\]|\[CQ:|&amp;|[,;](?=$|["']|[\w.\- ]{1,40}[=:])|\}\}?,|//$|%20|%0[aAdD]|%22|%[eE][2-9]%""",
)
_LONGEST_TAG: Final = 16
_LONGEST_BARE: Final = 1000
_LONGEST_QUOTED: Final = 4096
_LONGEST_NAME: Final = 120
_SYMBOLS: Final = re.compile(rb"[!@#$%^&*].*\d|\d.*[!@#$%^&*]")
_NEXT_PAIR: Final = re.compile(rb"[A-Za-z_][\w.\-]*[:=](?![=:]|$)")
_FORM: Final = re.compile(r"[\w.%\-~+/=]*(?=&[\w.\-\[\]]{1,40}=)")
_TRAILING: Final = ",;:."
_NO_START: Final = frozenset(b")}]|&=,;")
_PAIRS: Final = {")": "(", "]": "[", "}": "{", ">": "<"}


@dataclass(frozen=True, slots=True)
class Value:
    """Where a value stands, and whether in quotes."""

    start: int
    end: int
    quoted: bool


def detect(sheet: Sheet) -> None:
    """Find values behind names."""
    data = sheet.data
    for match in _KEYED.finditer(data):
        name = understand((match.group(1) or b"")[-_LONGEST_NAME:].decode("latin-1"))
        if name.announces is not Announces.NOTHING:
            _look_behind(sheet, match, name)


def _look_behind(sheet: Sheet, match: Match, name: KeyName) -> None:
    data = sheet.data
    value = read_value(data, match.end())
    if value is None:
        return
    separator = next(group for group in range(2, 9) if match.start(group) >= 0)
    if separator in {_LISTED, _CALLED} and not value.quoted:
        return
    if separator == _SPACED and not _binds_by_space(data, match, name, value):
        return
    if separator == _TAGGED and not _is_element(data, match, value):
        return
    firm = separator in {_FIRM, _TYPED, _TAGGED, _BARRED} or data[match.start()] == 0x2D  # a dash: --password
    text = data[value.start : value.end].decode("latin-1")
    alone = _is_alone(data, value.end) or _is_assigned(data, match)
    setting = Setting(quoted=value.quoted, alone=alone, firm=firm)
    if is_secret(name, text, setting):
        sheet.add(value.start, value.end, kind=name.kind, rule="keyed", rank=20)


def _is_assigned(data: bytes, match: Match) -> bool:
    """True for `NAME=value` outside of any call, where even a plain word is a value."""
    if not (match.group() or b"").endswith(b"="):
        return False
    line = data.rfind(b"\n", 0, match.start()) + 1
    return b"(" not in data[line : match.start()]


def _is_element(data: bytes, match: Match, value: Value) -> bool:
    """True for `<password>value</password>`."""
    opens = data.rfind(b"<", max(0, match.start() - 200), match.start() + 1)
    return opens >= 0 and b">" not in data[opens : match.start()] and data[value.end : value.end + 2] == b"</"


def _binds_by_space(data: bytes, match: Match, name: KeyName, value: Value) -> bool:
    """A flag binds its value by space; other names only a value that cannot be prose or another pair."""
    if _NEXT_PAIR.match(data[value.start : value.end]):
        return False
    if data[match.start()] == 0x2D:  # a dash
        return data[value.start : value.start + 1] != b"-"
    if name.announces < Announces.SECRET:
        if name.kind == "password":
            return not name.is_loud and bool(_SYMBOLS.search(data[value.start : value.end]))
        text = data[value.start : value.end].decode("latin-1")
        return is_dice(text) and not HEXADECIMAL.match(text)
    return name.announces is Announces.PASSWORD or value.end - value.start >= 16  # noqa: PLR2004


def _is_alone(data: bytes, end: int) -> bool:
    rest = data[end : end + 40].split(b"\n", 1)[0].strip(b" \t\r\"',;")
    return not rest or rest.startswith(b"#")


def read_value(data: bytes, at: int) -> Value | None:
    """Return the value that begins at `at`: quoted, or bare up to where it must end."""
    if data.startswith(b"!!", at):
        at = data.find(b" ", at, at + _LONGEST_TAG) + 1 or at
    opener = _OPENER.match(data, at)
    if opener:
        quoted = _QUOTED.match(data, opener.end() - 1, opener.end() + _LONGEST_QUOTED)
        if quoted:
            group = next((g for g in (1, 2, 3) if quoted.start(g) >= 0), 0)
            start, end = quoted.span(group)
            return Value(start, end, quoted=True) if end > start else None
        at = opener.end()
    bare = _BARE.match(data, at, at + _LONGEST_BARE)
    if bare is None or data[at] in _NO_START:
        return None
    text = data[at : bare.end()].decode("latin-1")
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
