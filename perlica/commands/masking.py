"""Tickets in ordinary talk made worthless: ids and codes of pending approvals.

Intake applies it to every message before protection, so that a copied, quoted or discussed approval
never enters the history, a window or the model (spec, 验收证据 10).
"""

import re
import unicodedata
from collections.abc import Sequence

from perlica.domain.approval import codes_match, digest_code
from perlica.domain.ids import CODE_DIGITS
from perlica.stores.approvals import Ticket

MASK_ID = "[审批编号]"
MASK_CODE = "[短码]"
_TO_FULL_WIDTH = 0xFEE0
_WORD = re.compile(r"[0-9A-Za-z０-９Ａ-Ｚａ-ｚ]{5}")
_DIGITS = re.compile(rf"[0-9０-９](?:[\s-]?[0-9０-９]){{{CODE_DIGITS - 1},}}")


def may_hold_ticket(text: str) -> bool:
    """Whether a look at the pending tickets is worth while."""
    return bool(_WORD.search(text))


def mask_tickets(text: str, pending: Sequence[Ticket]) -> str:
    """The text without the id or the code of any pending ticket, in whatever width or case."""
    if not pending:
        return text
    masked = _DIGITS.sub(lambda run: _mask_codes(run.group(), pending), text)
    for ticket in pending:
        masked = _any_width(ticket.id).sub(MASK_ID, masked)
    return masked


def _mask_codes(run: str, pending: Sequence[Ticket]) -> str:
    """The run of digits without any code in it, also where other digits stand close before it."""
    places = [place for place, character in enumerate(run) if character.isdigit()]
    digits = unicodedata.normalize("NFKC", "".join(run[place] for place in places))
    kept: list[str] = []
    done = first = 0
    while first + CODE_DIGITS <= len(places):
        last = first + CODE_DIGITS - 1
        if not _is_code(digits[first : last + 1], pending):
            first += 1
            continue
        kept += [run[done : places[first]], MASK_CODE]
        done, first = places[last] + 1, last + 1
    return "".join([*kept, run[done:]])


def _is_code(digits: str, pending: Sequence[Ticket]) -> bool:
    return any(
        codes_match(ticket.code_digest, digest_code(ticket.id, digits)) for ticket in pending
    )


def _any_width(word: str) -> re.Pattern[str]:
    """The word in either case and width, wherever it stands."""
    spellings = (character + character.lower() for character in word)
    return re.compile("".join(f"[{s}{''.join(_wide(c) for c in s)}]" for s in spellings))


def _wide(character: str) -> str:
    return chr(ord(character) + _TO_FULL_WIDTH)
