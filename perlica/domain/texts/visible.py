"""What of a text a person cannot see at all: signs without a width, fillers, marks upon others.

Used to recognise a command that does not look like what it is; never to change what is stored of
ordinary talk.
"""

import re
import unicodedata
from typing import Final

_INVISIBLE: Final = frozenset({"Cf", "Mn", "Me", "Cc", "Cs", "Cn", "Co"})
_FILLERS: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and a symbol by their category, blank by their shape."""
_TURNS: Final = frozenset("\u202b\u202d\u202e\u2067")
"""Signs behind which a line is shown in another order than it is read."""


# Signs of everyday text, every one of which is seen: nothing has to be looked at one by one.
_ALL_SEEN: Final = re.compile(r"[ -~\u3001-\u3029\u4e00-\u9fff\uff01-\uff5e]*")


def without_invisible(text: str) -> str:
    """The text without the signs that nobody sees; blanks and line ends stay."""
    if _ALL_SEEN.fullmatch(text):
        return text
    return "".join(sign for sign in text if not is_invisible(sign))


def is_invisible(sign: str) -> bool:
    """Whether this one sign shows nothing and takes no room."""
    if sign.isspace():
        return False
    return sign in _FILLERS or unicodedata.category(sign) in _INVISIBLE


def is_turned(text: str) -> bool:
    """Whether the text may be shown in another order than it is read."""
    return not text.isascii() and not _TURNS.isdisjoint(text)
