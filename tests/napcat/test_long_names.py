"""A name longer than is kept is protected before it is cut."""

import pytest

from perlica.clients.onebot.text import one_line
from tests.protection.made import TOKENS, Dice
from tests.protection.test_pieces import shows_of

TOKEN = TOKENS["github classic"](Dice(51))


@pytest.mark.parametrize("shown", [4, 10, 25, 39])
def test_a_credential_over_the_end_of_a_name_is_hidden(shown: int) -> None:
    name = one_line("名" * (60 - shown) + " " + TOKEN + " and more", 60)

    assert len(name) <= 60
    assert shows_of(TOKEN, name) is None
    assert name.startswith("名" * 10)


def test_a_name_that_fits_is_kept_as_it_is() -> None:
    assert one_line(" [张\n三] ", 60) == "张 三"
