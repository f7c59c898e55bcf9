"""Ids and codes of pending approvals inside ordinary talk."""

import pytest

from perlica.commands.masking import MASK_CODE, MASK_ID, mask_tickets
from tests.commands.tickets import pending_ticket

TICKET, CODE = "ABCD2", "830497"


@pytest.mark.evidence(10)
@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (f".approve {TICKET.lower()} {CODE} 就行", f".approve {MASK_ID} {MASK_CODE} 就行"),
        (f"12{CODE}", f"12{MASK_CODE}"),
        (f"1-2-{CODE[:3]} {CODE[3:]}-5", f"1-2-{MASK_CODE}-5"),
        ("８３０ ４９７", MASK_CODE),
        (CODE + CODE, MASK_CODE + MASK_CODE),
        (f"000000{CODE}000", f"000000{MASK_CODE}000"),
    ],
)
def test_a_code_is_found_wherever_it_stands_among_other_digits(text: str, masked: str) -> None:
    assert mask_tickets(text, [pending_ticket(TICKET, CODE)]) == masked


def test_other_numbers_stay_as_they_are() -> None:
    text = "错误码 830498，电话 010-8304979 转 12"

    masked = mask_tickets(text, [pending_ticket(TICKET, "111111")])

    assert masked == text
