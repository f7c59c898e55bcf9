"""Recovery phrases of wallets: 12 to 24 words of one list, with or without a label.

Without a label the words alone must be a phrase by the checksum of BIP-39.
"""

import hashlib
import re
from functools import cache
from typing import Final

from perlica.protection.engine import linear
from perlica.protection.rules.mnemonic_words import WORDS
from perlica.protection.sheet import Sheet

KINDS: Final = frozenset({"mnemonic"})

_GAP: Final = r"(?:[ \t]{1,3}|[,;|][ \t]?|\r?\n[> \t]{0,4}|[ \t]?\d{1,2}[.):][ \t]?|-)"
_RUN: Final = linear(
    rf"(?:\d{{1,2}}[.):][ \t]?)?[a-z]{{3,8}}(?:{_GAP}{{1,3}}[a-z]{{3,8}}){{11,}}", ignore_case=True
)
_LABEL: Final = linear(
    "(?:助记词|助记符|恢复词|恢复短语|种子短语|种子词|钱包短语|mnemonic|seed[ _-]?phrase|seed[ "
    "_-]?words|recovery[ _-]"
    "?(?:phrase|words)|secret[ _-]?phrase|backup[ _-]?phrase)",
    ignore_case=True,
)
_WORD: Final = re.compile(rb"[a-z]{3,8}", re.IGNORECASE)
_LABEL_REACH: Final = 48
_LENGTHS: Final = (24, 21, 18, 15, 12)
_LONGEST_UNLABELLED: Final = 60


def detect(sheet: Sheet) -> None:
    """Find recovery phrases."""
    for match in sheet.matches(_RUN):
        words = list(_WORD.finditer(sheet.data, *match.span()))
        known = [word.group().decode().lower() in _numbers() for word in words]
        start = next((i for i, is_known in enumerate(known) if is_known), len(known))
        while start < len(words):
            length = 0
            while start + length < len(words) and known[start + length]:
                length += 1
            if length >= _LENGTHS[-1]:
                _judge(sheet, words[start : start + length])
            start += length + 1


def _judge(sheet: Sheet, words: list[re.Match[bytes]]) -> None:
    before = sheet.data[max(0, words[0].start() - _LABEL_REACH) : words[0].start()]
    if _LABEL.search(before):
        sheet.add(
            words[0].start(), words[-1].end(), kind="mnemonic", rule="mnemonic.label", rank=80
        )
        return
    if len(words) > _LONGEST_UNLABELLED:
        return  # a word list, not a phrase
    plain = [word.group().decode().lower() for word in words]
    for length in _LENGTHS:
        for first in range(len(plain) - length + 1):
            if _has_checksum(tuple(plain[first : first + length])):
                sheet.add(
                    words[0].start(),
                    words[-1].end(),
                    kind="mnemonic",
                    rule="mnemonic.checksum",
                    rank=80,
                )
                return


@cache
def _numbers() -> dict[str, int]:
    return {word: number for number, word in enumerate(WORDS)}


def _has_checksum(words: tuple[str, ...]) -> bool:
    """Return whether the last bits are the checksum of the others (BIP-39)."""
    numbers = _numbers()
    bits = "".join(f"{numbers[word]:011b}" for word in words)
    check = len(words) // 3
    entropy = int(bits[:-check], 2).to_bytes((len(bits) - check) // 8, "big")
    return f"{hashlib.sha256(entropy).digest()[0]:08b}"[:check] == bits[-check:]
