"""A text is looked at as a whole: in units that overlap, and again when something was replaced."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from perlica.protection import Channel, ProtectionStatus, protect, rules
from perlica.protection.budget import UNIT_BYTES
from perlica.protection.sheet import Sheet
from tests.protection.made import TOKENS, Dice

FILLER = "a line of ordinary output\n"
LONG = "\n" * 3 + FILLER * 100


@contextmanager
def rule_for(find: Callable[[bytes], tuple[int, int] | None]) -> Iterator[None]:
    """While open, a rule more: what it says of a text's bytes is a password."""

    def detect(sheet: Sheet) -> None:
        found = find(bytes(sheet.data))
        if found is not None:
            sheet.add(*found, kind="password", rule="test.rule", rank=50)

    with rules.added(detect):
        yield


def place_of(word: bytes, data: bytes) -> tuple[int, int] | None:
    at = data.find(word)
    return None if at < 0 else (at, at + len(word))


def once_nothing_hides_it(data: bytes) -> tuple[int, int] | None:
    """`inner-word` is seen only where no `outer-word` is left."""
    return place_of(b"outer-word", data) or place_of(b"inner-word", data)


@pytest.mark.parametrize("around", ["", LONG])
def test_what_shows_only_when_something_else_is_gone_is_found_as_well(around: str) -> None:
    text = f"{around}an outer-word and an inner-word{around}"

    with rule_for(once_nothing_hides_it):
        protected = protect(text, Channel.TOOL_RESULT)

    assert protected.content == f"{around}an ⟦凭据:password:1⟧ and an ⟦凭据:password:2⟧{around}"
    assert protected.finding_count == 2


@pytest.mark.parametrize("around", ["", LONG])
def test_a_text_in_which_something_new_shows_each_time_is_withheld(around: str) -> None:
    words = [f"word{number}".encode() for number in range(9)]
    text = around + " ".join(word.decode() for word in words) + around

    with rule_for(lambda data: next(filter(None, (place_of(word, data) for word in words)), None)):
        protected = protect(text, Channel.TOOL_RESULT)

    assert (protected.status, protected.content) == (ProtectionStatus.SCAN_INCOMPLETE, "")


def filler_up_to(size: int) -> str:
    """Lines of ordinary output, that many bytes in all."""
    lines = FILLER * (size // len(FILLER))
    return lines + "x" * (size - len(lines) - 1) + "\n" if size > len(lines) else lines


@pytest.mark.parametrize("inside", range(0, 120, 9))
@pytest.mark.parametrize("unit", [1, 2])
def test_a_finding_over_many_lines_is_found_where_two_units_meet(unit: int, inside: int) -> None:
    lines = "alpha-line\n" + "beta-line\n" * 10 + "omega-line\n"
    before = filler_up_to(unit * UNIT_BYTES - inside)
    text = before + lines + FILLER * 8000
    whole = lines.encode()

    with rule_for(lambda data: place_of(whole, data)):
        protected = protect(text, Channel.TOOL_RESULT)

    assert protected.content == f"{before}⟦凭据:password:1⟧{FILLER * 8000}"


@pytest.mark.parametrize("inside", [1, 20, 41])
def test_a_token_in_a_line_without_end_is_found_where_two_units_meet(inside: int) -> None:
    token = TOKENS["npm"](Dice(71))
    before, behind = "x " * ((UNIT_BYTES - inside) // 2), " y" * 50_000

    protected = protect(f"{before}token={token}{behind}", Channel.TOOL_RESULT)

    assert protected.content == f"{before}token=⟦凭据:npm_token:1⟧{behind}"
