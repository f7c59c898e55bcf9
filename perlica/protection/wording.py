"""Does a string read like words, or like dice? The measure behind every rule without a fixed shape.

Letters are judged by pairs, mixed strings by how often the character class changes.
"""

import itertools
import math
import re
from collections import Counter
from operator import ne
from typing import Final

# One digit for each pair of letters aa, ab, … zz: 5 is chance, a step is a factor of √2.
# Counted over the names and texts of Python's standard library and the syllables of pinyin.
_PAIRS: Final = (
    "05750040502868150869221020"
    "80538000750901730661800050"
    "80308008507620900538500000"
    "72059000900401700463500010"
    "60783420100558041987030500"
    "70127800900601910754700030"
    "50109036800627500772610001"
    "90009000900220900515600010"
    "63655450000759730578040103"
    "90109000802000820210910010"
    "60039030800705430290506000"
    "80149000900801810055400060"
    "94029000800240890052500000"
    "70788490503103610079430000"
    "13660220203679460955735000"
    "90129001600800860947500040"
    "50015000600003300450910000"
    "80449140802153710476310040"
    "40509006801311560179600030"
    "80319107900310620775400040"
    "75426430600779460878000000"
    "90009000900021500000000000"
    "91059107900307800860203000"
    "72819400800410390239400120"
    "34548420700567690388424000"
    "60009009900322600000500000"
)
_CHANCE: Final = 5
_LETTERS: Final = re.compile(r"[a-z]{2,}")
_CLASS_OF: Final = {
    code: "A"
    if chr(code).isupper()
    else "a"
    if chr(code).islower()
    else "0"
    if chr(code).isdigit()
    else "-"
    for code in range(128)
}
_LOOKED_AT: Final = 256
_JUMBLED_HEX: Final = 0.12
_HEX: Final = re.compile(r"[0-9a-f]+|[0-9A-F]+")
_JUMBLED: Final = 0.29
_UNWORDED: Final = -0.75
_UNWORDED_LONG: Final = -0.5
_LONG: Final = 32


def wordiness(text: str) -> float:
    """Return how much the letter pairs read like English or pinyin: words about 1.5, dice about
    -2.1.
    """
    total = count = 0
    for run in _LETTERS.findall(text.lower()):
        for first, second in itertools.pairwise(run):
            total += int(_PAIRS[(ord(first) - 97) * 26 + ord(second) - 97]) - _CHANCE
        count += len(run) - 1
    return total / count if count else 0.0


def jumble(text: str) -> float:
    """Return the share of neighbours that change class, a capital that begins a word left out."""
    if len(text) < 2:
        return 0.0
    classes = _classes(text)
    changes: int = sum(map(ne, classes, classes[1:])) - classes.count("Aa")
    return changes / (len(text) - 1)


def _classes(text: str) -> str:
    """Return `A`, `a`, `0` or `-` for each character."""
    if text.isascii():
        return text.translate(_CLASS_OF)
    return "".join(char.translate(_CLASS_OF) if char.isascii() else "-" for char in text)


def entropy_bits(text: str) -> float:
    """Return Shannon's entropy for each character of `text`, in bits."""
    size = len(text)
    return -sum(n / size * math.log2(n / size) for n in Counter(text).values()) if size else 0.0


def class_count(text: str) -> int:
    """Return how many of lower case, upper case, digits and other characters occur."""
    return len(set(_classes(text)))


def is_dice(text: str) -> bool:
    """Return whether 16 or more characters were drawn at random as far as their look can tell."""
    text = text[:_LOOKED_AT]
    if len(text) < 16 or len(set(text)) < 8:
        return False
    if _HEX.fullmatch(text):
        return jumble(text) > _JUMBLED_HEX and 0 < _digits(text) < len(text)
    has_digit, has_letter = any(map(str.isdigit, text)), any(map(str.isalpha, text))
    if has_digit and has_letter:
        return jumble(text) >= _JUMBLED or (
            wordiness(text) < _UNWORDED and (_digits(text) > 1 or len(text) >= 20)
        )
    if has_letter:
        return (
            wordiness(text) < (_UNWORDED if len(text) < _LONG else _UNWORDED_LONG)
            or jumble(text) >= _JUMBLED + 0.1
        )
    return False


def _digits(text: str) -> int:
    return sum(map(str.isdigit, text))
