"""A log line is protected before it is cut, whoever logged it."""

import json
import logging
from collections.abc import Callable

import pytest

from perlica.app.logs.lines import MAX_EVENT_CODE_POINTS, LineFormatter
from tests.protection.made import TOKENS, Dice
from tests.protection.test_pieces import shows_of

TOKEN = TOKENS["github classic"](Dice(41))
OWN = "a value of our own configuration"


def record(name: str, message: str, *arguments: object, **extra: object) -> logging.LogRecord:
    """A record as a logger makes it."""
    made = logging.LogRecord(name, logging.INFO, "file.py", 1, message, arguments, None)
    made.__dict__.update(extra)
    return made


def with_error(error: Exception) -> logging.LogRecord:
    made = record("perlica.test", "it failed")
    made.exc_info = (type(error), error, None)
    return made


PLACES: dict[str, Callable[[str], logging.LogRecord]] = {
    "message": lambda text: record("perlica.test", "%s", text),
    "id": lambda text: record("perlica.test", "x", reason=text),
    "list of ids": lambda text: record("perlica.test", "x", actors=[text]),
    "exception": lambda text: with_error(OSError(text)),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("shown", [4, 10, 25, 39])
@pytest.mark.parametrize("secret", [TOKEN, OWN])
def test_a_secret_over_the_cut_of_a_line_is_hidden(place: str, shown: int, secret: str) -> None:
    text = "." * (MAX_EVENT_CODE_POINTS - shown - 1) + " " + secret + " and more"

    line = LineFormatter([OWN]).format(PLACES[place](text))

    assert shows_of(secret, line) is None
    assert max(len(part) for part in _texts(json.loads(line))) <= MAX_EVENT_CODE_POINTS


@pytest.mark.parametrize("argument", ["what a person wrote", "用户的话", b"bytes", {"a": "b"}])
def test_an_argument_of_another_library_is_named_by_its_type_alone(argument: object) -> None:
    line = LineFormatter().format(record("urllib3.connection", "sent %s to %s", argument, "host-1"))

    assert json.loads(line)["event"] == f"sent <{type(argument).__name__}> to host-1"


def test_a_finished_text_of_another_library_ends_at_its_colon() -> None:
    line = LineFormatter().format(record("pykka", "Unhandled message: what a person wrote"))

    assert json.loads(line)["event"] == "Unhandled message: [withheld]"


def _texts(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for inner in value.values() for text in _texts(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in _texts(inner)]
    return [value] if isinstance(value, str) else []
