"""Literal search: how text becomes tokens of the FTS5 index, and a searched text becomes a query.

`database` registers the tokenizer at each connection; `messages.MessageStore.search` asks and then
verifies each hit. Tokens are single characters and pairs of neighbours, so that any text of one
character or more is found: Chinese words, identifiers, emoji. There is no ranking and no syntax.
"""

import unicodedata
from collections.abc import Callable, Iterable
from typing import Final

import apsw

TOKENIZER_NAME: Final = "perlica_literal"
"""Stands in sql/ as the tokenizer of `message_index`."""
Tokenize = Callable[[bytes, int, str | None], Iterable[str]]
"""What FTS5 calls with UTF-8 text, the reason and a locale."""
MAX_QUERY_PAIRS: Final = 24
"""Of a long text this many pairs are looked up; the verification sees all of it."""


def fold(text: str) -> str:
    """The text as it is compared: composed, and without the difference of case."""
    return unicodedata.normalize("NFC", text).casefold()


def tokens_of(folded: str) -> set[str]:
    """Every character and every pair of neighbours, once (the index keeps no positions)."""
    return {*folded, *map(str.__add__, folded, folded[1:])}


def make_tokenizer(_connection: apsw.Connection, _arguments: list[str]) -> Tokenize:
    """The factory that FTS5 calls when it opens the index."""
    return _tokenize


def _tokenize(utf8: bytes, flags: int, _locale: str | None) -> Iterable[str]:
    text = utf8.decode()
    if flags & apsw.FTS5_TOKENIZE_QUERY:
        return (bytes.fromhex(text).decode(),)
    return tokens_of(fold(text))


def match_query(folded: str) -> str | None:
    """The FTS5 query that every text containing `folded` matches; None when none can.

    Its tokens stand in hexadecimal, which `_tokenize` reads back: no character of the searched text
    reaches the query syntax.
    """
    try:
        folded.encode()
    except UnicodeEncodeError:  # a lone surrogate, which no stored text holds
        return None
    pairs = list(dict.fromkeys(map(str.__add__, folded, folded[1:])))
    step = -(-len(pairs) // MAX_QUERY_PAIRS) or 1
    tokens = pairs[::step] or list(folded)
    return " AND ".join(f'"{token.encode().hex()}"' for token in tokens) or None
