"""Ids and codes of pending approvals inside ordinary talk."""

import pytest

from perlica.commands.masking import MASK_CODE, MASK_ID, mask_tickets, may_hold_ticket
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


ZERO_WIDTH, JOINER, SELECTOR = "\u200b", "\u2060", "\ufe0f"


@pytest.mark.evidence(10)
@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (ZERO_WIDTH.join(f"{TICKET} {CODE}"), f"{MASK_ID}{ZERO_WIDTH} {ZERO_WIDTH}{MASK_CODE}"),
        (f"{TICKET[:2]}{JOINER * 9}{TICKET[2:]} {CODE[:3]}{JOINER * 9}{CODE[3:]}", None),
        (SELECTOR.join(CODE) + "\u20e3", f"{MASK_CODE}{SELECTOR}\u20e3".replace(SELECTOR, "", 1)),
        ("．".join(CODE), MASK_CODE),
        ("_".join(CODE), MASK_CODE),
        (" - ".join(TICKET), MASK_ID),
        ("\n".join(CODE), MASK_CODE),
        ("⑧③⓪④⑨⑦", MASK_CODE),
        ("𝟖𝟑𝟎𝟒𝟗𝟕 𝐀𝐁𝐂𝐃𝟐", f"{MASK_CODE} {MASK_ID}"),
        ("٨٣٠٤٩٧", MASK_CODE),
    ],
)
def test_no_disguise_of_an_id_or_a_code_that_can_still_be_read_gets_through(
    text: str, masked: str | None
) -> None:
    assert may_hold_ticket(text)
    assert mask_tickets(text, [pending_ticket(TICKET, CODE)]) == (
        f"{MASK_ID} {MASK_CODE}" if masked is None else masked
    )


def test_words_of_several_sentences_are_not_put_together_to_an_id() -> None:
    text = "AB，好的 CD2；A——————BCD2"

    assert mask_tickets(text, [pending_ticket(TICKET, CODE)]) == text


def test_other_numbers_stay_as_they_are() -> None:
    text = "错误码 830498，电话 010-8304979 转 12"

    masked = mask_tickets(text, [pending_ticket(TICKET, "111111")])

    assert masked == text
