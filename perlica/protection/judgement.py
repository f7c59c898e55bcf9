"""Whether a value beside a key name is to be redacted: the name's promise weighed against the
value's look.

The key-value rule, the Chinese grammar, headers, tables and the JSON walk all ask here.
"""

import re
from dataclasses import dataclass
from typing import Final

from perlica.protection import values
from perlica.protection.vocabulary import Announces, KeyName
from perlica.protection.wording import class_count, is_dice, wordiness

_LONGEST_JUDGED: Final = 512
_SHORTEST_SECRET: Final = 8
_SHORTEST_DICE: Final = 16
_SHORTEST: Final = {
    Announces.NOTHING: _SHORTEST_DICE,
    Announces.ACCESS_ID: _SHORTEST_DICE,
    Announces.MAYBE_SECRET: 6,
    Announces.SECRET: _SHORTEST_SECRET,
    Announces.PASSWORD: 1,
}
_LONG_NUMBER: Final = 12
_SHORTEST_NOISE: Final = 40
_SYMBOLS_IN_NOISE: Final = 0.15
_WORDY: Final = 0.6
_BETWEEN_WORDS: Final = re.compile(r"[-_./:]")
_OF_CODE: Final = re.compile(r"[(){}\[\],;&|<>]")
_CAPITAL_ID: Final = re.compile(r"[A-Z0-9]{16,24}$")
_SENTENCE_WORDS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How the value stands: in quotes, alone on its line, and how firmly a separator binds it to
    the name.
    """

    quoted: bool
    alone: bool
    firm: bool


def is_secret(name: KeyName, value: str, setting: Setting) -> bool:
    """Return whether `value`, read beside `name`, must vanish."""
    looked_at = value[:_LONGEST_JUDGED]
    if len(value) < _SHORTEST[name.announces]:
        return False
    if setting.quoted and name.announces >= Announces.SECRET and _is_noise(looked_at):
        return True
    return _is_announced(name, looked_at, setting)


def _is_announced(name: KeyName, looked_at: str, setting: Setting) -> bool:
    if not looked_at.isascii() or "\x00" in looked_at or _is_no_secret(looked_at, setting):
        return False
    if " " in looked_at.strip():
        return name.announces >= Announces.SECRET and _is_phrase(looked_at, name)
    is_name = not setting.quoted and values.is_name_chain(looked_at)
    if is_name and not _may_be_word(name, looked_at, setting):
        return False
    match name.announces:
        case Announces.PASSWORD:
            return _is_password(looked_at, name, setting)
        case Announces.SECRET:
            return _is_token(looked_at, name, setting)
        case Announces.MAYBE_SECRET | Announces.ACCESS_ID:
            return _is_doubtless(looked_at, name)
        case _:
            return False


def _is_noise(value: str) -> bool:
    """Return whether the value is a long draw from all printable characters, blanks among them:
    it may begin and end like a template, a call or a path, and is none.
    """
    if len(value) < _SHORTEST_NOISE or not value.isascii() or class_count(value) < len("Aa0-"):
        return False
    symbols = sum(not char.isalnum() and char != " " for char in value)
    return symbols >= len(value) * _SYMBOLS_IN_NOISE and wordiness(value) < _WORDY


def _is_no_secret(value: str, setting: Setting) -> bool:
    """Return whether the value itself says that it is a stand-in, public, or a reference."""
    return (
        values.is_stand_in(value)
        or values.is_public(value)
        or values.is_reference(value, quoted=setting.quoted)
    )


def _may_be_word(name: KeyName, value: str, setting: Setting) -> bool:
    """A password may be a plain word where it stands alone behind a firm separator, as in YAML."""
    plain = "." not in value and "(" not in value and "_" not in value
    plain = plain and (value.islower() or values.is_strong(value))
    return name.announces is Announces.PASSWORD and plain and setting.firm and setting.alone


def _is_password(value: str, name: KeyName, setting: Setting) -> bool:
    if values.is_strong(value):
        return not values.is_measure(value)
    if values.is_measure(value):
        return value.isdigit() and len(value) >= (4 if setting.firm else 6)
    if not setting.firm:
        return class_count(value) >= 3 and len(value) >= 6
    if values.is_prose(value):
        return len(value) >= 4 and (setting.quoted or setting.alone)
    return len(value) >= 3 or name.is_loud


def _is_token(value: str, name: KeyName, setting: Setting) -> bool:
    if len(value) < _SHORTEST_SECRET or values.is_measure(value):
        return False
    if value.isdigit():
        return len(value) >= _LONG_NUMBER + 4
    if values.UUID.match(value):
        return name.kind != "key" or name.is_loud or not name.is_bare
    if values.is_strong(value):
        return not is_worded(value)
    if is_dice(value):
        return True
    return (
        setting.firm
        and not values.is_prose(value)
        and class_count(value) >= 3
        and not is_worded(value)
    )


def _is_doubtless(value: str, name: KeyName) -> bool:
    if name.kind == "password":  # `pw: …`, `pass=…`; a loud PASS: is a test report
        return not name.is_loud and values.is_strong(value) and not is_worded(value)
    if len(value) < _SHORTEST_DICE or _OF_CODE.search(value):
        return False
    if values.UUID.match(value) or values.NUMBERED_URN.match(value):
        return False
    if values.HEXADECIMAL.match(value):
        return name.is_loud or name.kind != "key" or not name.is_bare
    if name.announces is Announces.ACCESS_ID and _CAPITAL_ID.match(value):
        return any(map(str.isdigit, value))
    return is_dice(value)


def is_worded(value: str) -> bool:
    """Return whether the value is a name: `my-app-secret-v2`, words and small numbers."""
    parts = [part for part in _BETWEEN_WORDS.split(value) if part]
    if len(parts) < 2:
        return False
    return all(
        (
            part.isalpha()
            and (part.islower() or part.istitle() or part.isupper())
            and len(part) <= 14
            and wordiness(part) > -0.5
        )
        or (part.isdigit() and len(part) <= 4)
        or (part[:-1].isalpha() and part[-1].isdigit() and len(part) <= 8)
        for part in parts
    )


def _is_phrase(value: str, name: KeyName) -> bool:
    """True for a pass phrase; sentences about passwords hold words that no pass phrase needs."""
    words = value.split()
    if any(values.is_stand_in(word) for word in words) or value[-1] in ".?:…":
        return False
    if name.announces is Announces.PASSWORD:
        return len(words) >= _SENTENCE_WORDS + 1 or any(values.is_strong(word) for word in words)
    return False
