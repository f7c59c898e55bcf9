"""An answer that is padded without an end is made readable at once, wherever the padding stands."""

import time

import pytest

from perlica.tasks.sanitising import sanitise

SIZE = 20_000
PADDED = {
    "nothing but blanks": " " * SIZE,
    "before a word": " " * SIZE + "x",
    "behind what begins like a table": "|-|-" + " " * SIZE + "x",
    "behind a bar": "|" + " " * SIZE + "x",
    "dashes": "-" * SIZE + "x",
}


@pytest.mark.parametrize("name", PADDED)
def test_padding_does_not_hold_up_an_answer(name: str) -> None:
    began_s = time.process_time()

    sanitise(PADDED[name])

    assert time.process_time() - began_s < 1.0


@pytest.mark.parametrize("rule", ["|-|-|", " | :--- | ---: | ", "--|--", "|:-:|-|\t"])
def test_the_rule_of_a_table_is_still_left_out(rule: str) -> None:
    assert sanitise(f"|甲|乙|\n{rule}\n|1|2|") == "|甲|乙|\n|1|2|"
