"""Tickets in ordinary talk made worthless: ids and codes of pending approvals.

Intake applies it to every message before protection, so that a copied, quoted or discussed approval
never enters the history, a window or the model. It reads as a person or a model
would: other widths and styles of letters and digits, invisible characters and what stands between
the letters of a word that was spelled out hide nothing.
"""

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from perlica.domain.approval import codes_match, digest_code
from perlica.domain.ids import CODE_DIGITS
from perlica.stores.approvals import Ticket

MASK_ID = "[审批编号]"
MASK_CODE = "[短码]"
_ID_LETTERS = 5
_MOST_BETWEEN = 3
"""So many visible signs may stand between two letters of one word, as in `1 - 2`."""
_INVISIBLE = frozenset({"Cf", "Mn", "Me", "Cc"})
_DIGITS = frozenset("0123456789")
_LETTERS = _DIGITS | frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")


@dataclass(slots=True)
class _Run:
    """Letters and digits that a reader takes for one word, plain, and where each of them stands."""

    word: str = ""
    places: list[int] = field(default_factory=list)


def may_hold_ticket(text: str) -> bool:
    """Whether a look at the pending tickets is worth while."""
    return len(text) >= _ID_LETTERS and any(_plain(character) for character in text)


def mask_tickets(text: str, pending: Sequence[Ticket]) -> str:
    """The text without the id or the code of any pending ticket, however it is written."""
    if not pending:
        return text
    ids = frozenset(ticket.id for ticket in pending)
    text = _mask(
        *(text, _DIGITS, CODE_DIGITS), is_secret=lambda w: _is_code(w, pending), mask=MASK_CODE
    )
    return _mask(text, _LETTERS, _ID_LETTERS, is_secret=ids.__contains__, mask=MASK_ID)


def _mask(
    text: str,
    wanted: frozenset[str],
    size: int,
    *,
    is_secret: Callable[[str], bool],
    mask: str,
) -> str:
    """The text with every secret of `size` letters masked, also inside a longer run."""
    kept: list[str] = []
    done = 0
    for run in _runs(text, wanted):
        first = 0
        while first + size <= len(run.word):
            if not is_secret(run.word[first : first + size]):
                first += 1
                continue
            kept += [text[done : run.places[first]], mask]
            done, first = run.places[first + size - 1] + 1, first + size
    return "".join([*kept, text[done:]])


def _runs(text: str, wanted: frozenset[str]) -> Iterator[_Run]:
    run, between = _Run(), 0
    for place, character in enumerate(text):
        plain = _plain(character)
        if plain and wanted.issuperset(plain):
            run.word += plain
            run.places += [place] * len(plain)
            between = 0
        elif run.word and not _is_invisible(character):
            between += 1
            if between > _MOST_BETWEEN or character.isalnum():
                yield run
                run, between = _Run(), 0
    yield run


@lru_cache(maxsize=4096)
def _plain(character: str) -> str:
    """Its letters A to Z and digits, out of whatever width, style or script of digits; "" if none.

    More than one for a character such as `⑩`.
    """
    if not character.isascii():
        decimal = unicodedata.decimal(character, None)
        character = unicodedata.normalize("NFKC", character) if decimal is None else str(decimal)
    return "".join(one for one in character.upper() if one in _LETTERS)


@lru_cache(maxsize=4096)
def _is_invisible(character: str) -> bool:
    return unicodedata.category(character) in _INVISIBLE and not character.isspace()


def _is_code(digits: str, pending: Sequence[Ticket]) -> bool:
    return any(
        codes_match(ticket.code_digest, digest_code(ticket.id, digits)) for ticket in pending
    )
