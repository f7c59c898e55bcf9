"""Placeholders: the typed, numbered, inert marks that stand where a credential stood.

`⟦凭据:KIND:N⟧`: the same value has the same N inside one text; N starts again in the next text, so
that two texts cannot be linked. Redaction writes them, the scanner never looks into them, cuts
never
divide them, and text that merely imitates one is changed so that it no longer does.
"""

import re
from collections.abc import Callable
from typing import Final

OPENING: Final = "⟦凭据:"
CLOSING: Final = "⟧"
FILLER: Final = b"\xff"
"""What the scanner sees in place of a placeholder: a byte that no UTF-8 text contains."""

ANY: Final = re.compile(r"⟦凭据:[a-z0-9_]{2,40}:[0-9]{1,5}⟧")
_EXACT: Final = re.compile("⟦凭据:([a-z0-9_]{2,40}):([0-9]{1,5})⟧")
ANY_BYTES: Final = re.compile("⟦凭据:([a-z0-9_]{2,40}):[0-9]{1,5}⟧".encode())
_PUBLIC_ARMOUR: Final = re.compile(
    rb"-----BEGIN (?:CERTIFICATE|TRUSTED CERTIFICATE|X509 C(?:RL|ERTIFICATE)|(?:NEW )"
    rb"?CERTIFICATE REQUEST|PKCS7|(?:RSA |EC |DSA )?PUBLIC KEY"
    rb"|PGP PUBLIC KEY BLOCK|PGP SIGNATURE|SSH SIGNATURE|DH PARAMETERS)-----[> \t]*\r?\n"
    rb"(?:[> \t]*+(?:[A-Za-z0-9+/]{1,80}+={0,2}+|=[A-Za-z0-9+/]{4}|(?:Version|Comment): "
    rb"[^\n]{0,80}+|)[ \t]*+\r?\n){1,1000}?"
    rb"[> \t]*-----END "
)
_LOOK_ALIKE: Final = re.compile("⟦(?=[^⟧\n]{0,8}凭)")


def escape_look_alikes(text: str, is_kind: Callable[[str], bool]) -> str:
    """Return `text` with every bracket that opens an imitation replaced by `〔`."""
    if "⟦" not in text:
        return text

    def escape(match: re.Match[str]) -> str:
        exact = _EXACT.match(text, match.start())
        return "⟦" if exact and is_kind(exact.group(1)) else "〔"

    return _LOOK_ALIKE.sub(escape, text)


def blank(data: bytes) -> bytes:
    """Return UTF-8 `data` of the same length; placeholders and public keys are turned into
    filler.
    """
    if b"-----BEGIN " in data:
        data = _PUBLIC_ARMOUR.sub(lambda match: FILLER * len(match.group()), data)
    if b"\xe2\x9f\xa6" not in data:
        return data
    return ANY_BYTES.sub(lambda match: FILLER * len(match.group()), data)


class Numbering:
    """Gives each distinct value of one text its number; numbers that the text already uses stay
    theirs.
    """

    def __init__(self, text: str) -> None:
        self._next = 1 + max((int(match.group(2)) for match in _EXACT.finditer(text)), default=0)
        self._numbers: dict[bytes, int] = {}

    def place(self, kind: str, value: bytes) -> str:
        """Return the placeholder for `value`."""
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = self._next
            self._next += 1
        return f"{OPENING}{kind}:{number}{CLOSING}"
