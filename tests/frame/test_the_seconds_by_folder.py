"""Every run ends with a table that says in which folders its time went."""

from pathlib import Path

import pytest

from tests.frame.small_suite import SmallSuite
from tests.suite.by_folder import Spent, as_table, folder_of

SLOW = """
import time, pytest
@pytest.fixture
def slow_room():
    time.sleep(0.3)
def test_a_room_is_slow(slow_room): pass
"""
QUICK = "def test_one(): pass\ndef test_two(): pass\n"


@pytest.fixture
def suite(tmp_path: Path) -> SmallSuite:
    return SmallSuite(tmp_path)


def _rows(printed: str) -> list[list[str]]:
    _, _, table = printed.partition(" seconds by folder ")
    lines = [line.split() for line in table.splitlines()]
    begin = next(n for n, line in enumerate(lines) if line[:1] == ["folder"])
    end = next(n for n, line in enumerate(lines) if line[:1] == ["all"])
    return lines[begin + 1 : end + 1]


def test_a_run_says_which_folder_took_how_long_the_slowest_first(suite: SmallSuite) -> None:
    suite.write("quick/test_it.py", QUICK)
    suite.write("slow/deep/test_it.py", SLOW)

    rows = _rows(suite.run().stdout)

    assert [(row[0], row[2]) for row in rows[:2]] == [("slow", "1"), ("quick", "2")]
    assert float(rows[0][1]) >= 0.3
    assert rows[-1][0] == "all"
    assert rows[-1][2] == "3"


def test_a_failed_run_has_the_table_too(suite: SmallSuite) -> None:
    suite.write("broken/test_it.py", "def test_one(): assert False\n")

    run = suite.run("-x")

    assert run.returncode == 1
    assert _rows(run.stdout)[0][0] == "broken"


def test_shares_are_of_the_whole_run_and_the_rest_has_a_line() -> None:
    spent = {"crash": Spent(seconds=6.0, tests={"a", "b"}), "race": Spent(1.5, {"c"})}

    table = as_table(spent, 10.0)

    assert [line.split() for line in table[1:]] == [
        ["crash", "6.0", "2", "60.0%"],
        ["race", "1.5", "1", "15.0%"],
        ["(all", "else)", "2.5", "25.0%"],
        ["all", "10.0", "3", "100.0%"],
    ]


@pytest.mark.parametrize(
    ("nodeid", "folder"),
    [
        ("tests/crash/test_a.py::test_b[x/y::z]", "crash"),
        ("tests/stores/deep/test_a.py::test_b", "stores"),
        ("tests/test_a.py::test_b", "."),
        ("other/test_a.py::test_b", "other"),
    ],
)
def test_a_test_counts_for_the_folder_below_tests(nodeid: str, folder: str) -> None:
    assert folder_of(nodeid) == folder
