"""The beginning of a long text, as names and log lines show it: no other cut moves up into it."""

import json
import logging

import pytest

from perlica.app.logs.lines import MAX_LOOKED_AT_CODE_POINTS, LineFormatter
from perlica.clients.onebot.text import one_line
from perlica.protection import Channel, protect_beginning
from tests.protection.made import TOKENS, Dice, pem

SHOWN = 200
MARGIN = 4_000
TOKEN = TOKENS["github classic"](Dice(1))


def shrinking(size: int) -> str:
    """So many signs, nearly all of which become one placeholder."""
    key = pem(Dice(2), size=(size - 200) * 11 // 15).replace("\n", " ")
    return key + " x" * ((size - len(key)) // 2) + " " * ((size - len(key)) % 2)


@pytest.mark.parametrize("kept", range(4, len(TOKEN)))
def test_what_the_margin_divides_is_never_shown(kept: int) -> None:
    before = shrinking(SHOWN + MARGIN - kept - 1) + " "

    shown = protect_beginning(before + TOKEN, SHOWN, Channel.MESSAGE, margin_code_points=MARGIN)

    assert TOKEN[:4] not in shown
    assert "⟦凭据:private_key:1⟧" in shown


@pytest.mark.parametrize("begins_at", range(SHOWN - len(TOKEN) - 1, SHOWN + 1))
def test_what_the_end_of_the_beginning_divides_is_a_placeholder(begins_at: int) -> None:
    text = "x" * (begins_at - 1) + " " + TOKEN + " and so on" * 500

    shown = protect_beginning(text, SHOWN, Channel.MESSAGE, margin_code_points=MARGIN)

    assert TOKEN[:4] not in shown
    assert len(shown) <= SHOWN


@pytest.mark.parametrize("kept", [8, 12, 20, 36])
def test_a_long_name_shows_nothing_of_a_credential_that_its_margin_divides(kept: int) -> None:
    for looked_at in (16_384, 16_384 + SHOWN):
        assert TOKEN[:4] not in one_line(shrinking(looked_at - kept - 1) + " " + TOKEN, SHOWN)


@pytest.mark.parametrize("before", ["blanks", "a key"])
@pytest.mark.parametrize("kept", [8, 12, 20, 36])
def test_a_log_line_shows_nothing_of_a_credential_that_its_cut_divides(
    before: str, kept: int
) -> None:
    size = MAX_LOOKED_AT_CODE_POINTS - kept - 1
    text = (" " * size if before == "blanks" else shrinking(size)) + " " + TOKEN
    record = logging.LogRecord("perlica.test", logging.INFO, "f", 1, text, None, None)
    record.reason = text
    record.exc_info = (OSError, OSError(text), None)

    line = LineFormatter().format(record)

    assert json.loads(line).keys() >= {"event", "reason", "errors"}
    assert TOKEN[:4] not in line
