"""The group's history for the model: whole messages, as many as fit, and a word of the rest."""

from datetime import UTC
from types import SimpleNamespace
from typing import cast

import pytest

from perlica.gateway.families.history.settings import HistorySettings
from perlica.gateway.families.history.tools import _present
from perlica.protection import Channel, protect
from perlica.stores.messages import StoredMessage

LINE = "[1970-01-01T00:00:01+00:00] ann(7) #9: hello"
MESSAGE = cast(
    "StoredMessage",
    SimpleNamespace(
        sent_at_ms=1_000,
        display_name=protect("ann", Channel.MESSAGE),
        user_id=7,
        message_id=9,
        content=protect("hello", Channel.MESSAGE),
    ),
)


def told(count: int, code_points: int) -> str:
    settings = HistorySettings(messages=30, code_points=code_points, days=90, zone=UTC)
    text = _present((MESSAGE,) * count, settings).text
    assert isinstance(text, str)
    return text


def test_no_message_is_said() -> None:
    assert told(0, 1_000) == "no message found"


def test_every_message_is_a_line_with_its_time_sender_and_id() -> None:
    assert told(2, 1_000) == f"{LINE}\n{LINE}"


@pytest.mark.parametrize(
    ("room", "lines"), [(-1, 1), (0, 2)], ids=["one sign short", "room for just two"]
)
def test_what_does_not_fit_is_left_out_as_a_whole_and_counted(room: int, lines: int) -> None:
    said = told(3, 2 * (len(LINE) + 1) + room).split("\n")

    assert said[:lines] == [LINE] * lines
    assert said[lines:] == [f"… {3 - lines} more left out: text limit reached"]
