"""Long runs of one alphabet, found without asking a pattern at every byte.

Tokens, digests and encoded blobs are such runs; rules look into them instead of searching the text.
The text is translated to two marks, then whole stretches are skipped at a time.
"""

from collections.abc import Iterator
from typing import Final

Run = tuple[int, int]
"""Where a run begins and ends."""

_INSIDE: Final = b"x"
_OUTSIDE: Final = b" "


class Alphabet:
    """A set of bytes whose runs can be found. `least` is the shortest run that counts."""

    __slots__ = ("_marks", "_needle", "least")

    def __init__(self, members: bytes, least: int) -> None:
        """Prepare the translation."""
        marks = bytearray(_OUTSIDE * 256)
        for member in members:
            marks[member] = _INSIDE[0]
        self._marks, self._needle, self.least = bytes(marks), _INSIDE * least, least

    def runs(self, data: bytes) -> Iterator[Run]:
        """Yield the whole runs of at least `least` bytes, from left to right."""
        marked = data.translate(self._marks)
        start = marked.find(self._needle)
        while start >= 0:
            end = marked.find(_OUTSIDE, start + self.least)
            if end < 0:
                yield start, len(data)
                return
            yield start, end
            start = marked.find(self._needle, end)


_DIGITS: Final = b"0123456789"
_SMALL: Final = b"abcdefghijklmnopqrstuvwxyz"
_ENCODED: Final = Alphabet(_DIGITS + _SMALL + _SMALL.upper() + b"+/_-", 20)
_SMALL_HEX: Final = _DIGITS + b"abcdef"
_ANY_HEX: Final = _SMALL_HEX + b"ABCDEF"
_LEAST_HEX: Final = 24
_HEX: Final = (Alphabet(_SMALL_HEX, _LEAST_HEX), Alphabet(_DIGITS + b"ABCDEF", _LEAST_HEX))


def encoded_runs(data: bytes) -> list[Run]:
    """Return the runs of base64 of either sort, which every longer token and digest is part of."""
    return list(_ENCODED.runs(data))


def hex_runs(data: bytes, runs: list[Run]) -> Iterator[Run]:
    """Yield the runs of 24 and more hexadecimal digits of one case; `runs` are the encoded ones."""
    for start, end in runs:
        if end - start < _LEAST_HEX:
            continue
        run = data[start:end]
        if not run.translate(None, _SMALL_HEX):
            yield start, end
        elif len(run) - len(run.translate(None, _ANY_HEX)) >= _LEAST_HEX:
            for alphabet in _HEX:
                yield from ((start + first, start + last) for first, last in alphabet.runs(run))
