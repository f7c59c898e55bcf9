"""A command line is protected before it is cut to what is kept of it."""

import pytest

from perlica.commands.grammar import MAX_LINE_CODE_POINTS
from perlica.demo.napcat import NapCatStandIn
from tests.behaviour.live import MEMBER, LivePerlica, wait_until
from tests.protection.made import TOKENS, Dice
from tests.protection.test_pieces import shows_of

KEPT = "SELECT count(*) FROM group_messages WHERE kind = 'control'"


@pytest.mark.parametrize("shown", [10, 25])
def test_a_credential_over_the_end_of_what_is_kept_of_a_command_is_hidden(
    live: LivePerlica, napcat: NapCatStandIn, shown: int
) -> None:
    token = TOKENS["github classic"](Dice(shown))
    begin = ".status "
    line = begin + "x" * (MAX_LINE_CODE_POINTS - len(begin) - shown - 1) + f" {token} and more"

    napcat.say(MEMBER, line)
    wait_until(lambda: live.count(KEPT) == 1, what="the command is not kept")

    assert shows_of(token, live.raw_files().decode("utf-8", "replace")) is None
