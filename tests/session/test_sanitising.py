"""Whatever a model writes is harmless and short in the group, and takes no time to make so."""

import unicodedata
from time import monotonic

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perlica.commands.grammar import NotACommand, parse_line
from perlica.tasks.sanitising import sanitise


@pytest.mark.parametrize(
    "piece",
    [
        "**a",
        "`",
        "``a",
        "*",
        "[",
        "[a](",
        "# ",
        " ",
        "# a ",
        "~~a",
        "|-",
        "- ",
        "\u0301",
        "【.",
        "<",
    ],
)
def test_hostile_texts_take_no_time(piece: str) -> None:
    began = monotonic()

    sanitise("# " + piece * (20_000 // len(piece)) + "x")

    assert monotonic() - began < 2


def test_padding_does_not_push_anything_out_of_sight() -> None:
    assert len(sanitise("a" + " " * 5_000 + "b" + "\n" * 500 + "c" + "\u0301" * 400)) < 20


@given(
    st.text(st.characters(codec="utf-8"))
    | st.text(alphabet=".．。 \n\r\u2028*`#【】~_[]()approvedny\u200b\u202e⟦⟧", max_size=80)
)
def test_whatever_a_model_says_is_harmless(text: str) -> None:
    plain = sanitise(text)

    assert "【" not in plain
    assert ".approve" not in plain.lower()
    for line in plain.splitlines():
        assert not line.lstrip().startswith((".", "．", "。"))
        assert parse_line(line.strip()) == NotACommand()
    assert not {unicodedata.category(c) for c in plain if c not in "\n\t\u200d"} & {
        "Cc",
        "Cf",
        "Cs",
    }
