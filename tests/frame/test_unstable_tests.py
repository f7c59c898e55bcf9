"""A test that fails is run once more, alone: it fails the run again, or is named as unstable."""

from pathlib import Path

import pytest

from tests.frame.small_suite import SmallSuite
from tests.suite.second_try import MOST, why_untried

PASSES = "def test_that_holds(): pass\n"
FAILS = "def test_that_is_broken(): assert 'left' == 'right'\n"
FAILS_ONCE = """
from pathlib import Path
def test_that_is_shaky():
    seen = Path(__file__).with_name("seen")
    first = not seen.exists()
    seen.touch()
    assert not first, "the first time is the worst"
"""
SHOWS = FAILS_ONCE.replace(
    "def test_that_is_shaky",
    "import pytest\n@pytest.mark.evidence(1)\ndef test_it_holds_in_the_end",
)
SKIPS_LATER = FAILS_ONCE.replace("    assert", "    if not first: pytest.skip('tired')\n    assert")
SHAKY_ROOM = """
from pathlib import Path
import pytest
@pytest.fixture
def room():
    seen = Path(__file__).with_name("seen")
    {setup}
    yield
    {teardown}
def test_in_a_room(room): pass
"""
ONCE = "first = not seen.exists(); seen.touch(); assert not first, 'no room'"
SHAKY = "tests/a/test_it.py::test_that_is_shaky"


@pytest.fixture
def suite(tmp_path: Path) -> SmallSuite:
    return SmallSuite(tmp_path)


def test_a_test_that_fails_twice_fails_the_run(suite: SmallSuite) -> None:
    suite.write("a/test_it.py", PASSES + FAILS)

    run = suite.run()

    assert run.returncode == 1
    assert "1 failed, 1 passed" in run.stdout
    assert "UNSTABLE" not in run.stdout
    assert suite.read("unstable.json") == {
        "unstable": [],
        "failed_again": ["tests/a/test_it.py::test_that_is_broken"],
        "untried": "",
    }


@pytest.mark.parametrize("ci", [False, True])
def test_a_test_that_fails_once_passes_the_run_and_is_named(suite: SmallSuite, ci: bool) -> None:
    suite.write("a/test_it.py", PASSES + FAILS_ONCE)

    run = suite.run(ci=ci)

    assert run.returncode == 0, run.stdout
    assert "1 passed, 1 unstable" in run.stdout
    assert f"UNSTABLE {SHAKY}" in run.stdout
    assert run.stdout.count("AssertionError: the first time is the worst") == 1
    (unstable,) = suite.read("unstable.json")["unstable"]
    assert unstable["test"] == SHAKY
    assert "the first time is the worst" in unstable["first"]


def test_a_run_with_a_real_failure_fails_and_names_the_unstable_test_too(
    suite: SmallSuite,
) -> None:
    suite.write("a/test_it.py", FAILS_ONCE + FAILS)

    run = suite.run()

    assert run.returncode == 1
    assert "1 failed, 1 unstable" in run.stdout
    assert f"UNSTABLE {SHAKY}" in run.stdout
    assert f"FAILED {SHAKY}" not in run.stdout


def test_of_more_than_ten_failures_none_is_tried_again(suite: SmallSuite) -> None:
    for number in range(MOST + 1):
        suite.write(f"a{number}/test_it.py", FAILS_ONCE)

    run = suite.run()

    assert run.returncode == 1
    assert "11 failed" in run.stdout
    assert "once more" not in run.stdout
    assert suite.read("unstable.json")["untried"] == "11 tests failed; at most 10 are tried again"


def test_ten_failures_are_tried_again() -> None:
    assert why_untried([str(number) for number in range(10)]) == ""
    assert why_untried([str(number) for number in range(11)]) != ""


@pytest.mark.parametrize("option", ["-x", "--lf", "--pdb", "--no-second-try"])
def test_a_person_who_looks_for_one_failure_gets_it_at_once(suite: SmallSuite, option: str) -> None:
    suite.write("a/test_it.py", FAILS_ONCE)

    run = suite.run(option, "-p", "cacheprovider")

    assert run.returncode in {1, 2}, run.stdout
    assert "once more" not in run.stdout
    assert "UNSTABLE" not in run.stdout


def test_a_test_that_is_skipped_the_second_time_has_failed(suite: SmallSuite) -> None:
    suite.write("a/test_it.py", "import pytest\n" + SKIPS_LATER)

    assert suite.run().returncode == 1
    assert suite.read("unstable.json")["failed_again"] == [SHAKY]


def test_a_set_up_that_fails_once_is_tried_again(suite: SmallSuite) -> None:
    suite.write("a/test_it.py", SHAKY_ROOM.format(setup=ONCE, teardown="pass"))

    run = suite.run()

    assert run.returncode == 0, run.stdout
    assert "1 unstable" in run.stdout
    assert "error" not in run.stdout.splitlines()[-1]


def test_what_a_tear_down_finds_is_never_pardoned(suite: SmallSuite) -> None:
    suite.write("a/test_it.py", SHAKY_ROOM.format(setup="pass", teardown=ONCE))

    run = suite.run()

    assert run.returncode == 1
    assert "UNSTABLE" not in run.stdout


def test_the_second_try_is_alone_and_in_a_fresh_process(suite: SmallSuite) -> None:
    spoils = "import sys\ndef test_a_spoils(): sys.spoilt = True\n"
    suite.write("a/test_it.py", f"{spoils}def test_b(): assert not hasattr(sys, 'spoilt')\n")

    run = suite.run("-p", "no:randomly")

    assert run.returncode == 0, run.stdout
    assert "UNSTABLE tests/a/test_it.py::test_b" in run.stdout


def test_a_name_with_every_sign_in_it_is_found_again(suite: SmallSuite) -> None:
    names = '\nimport pytest\n@pytest.mark.parametrize("it", ["a b::c]/[d", "群\\n"])\ndef'
    suite.write("a/test_it.py", FAILS_ONCE.replace("\ndef", names).replace("shaky()", "shaky(it)"))

    run = suite.run()

    assert run.returncode == 0, run.stdout
    assert "1 passed, 1 unstable" in run.stdout


def test_the_evidence_map_counts_the_second_result(suite: SmallSuite) -> None:
    suite.write("a/test_it.py", SHOWS)

    run = suite.run()

    assert run.returncode == 0, run.stdout
    entry = next(item for item in suite.read("evidence.json")["items"] if item["number"] == 1)
    assert [test["outcome"] for test in entry["tests"]] == ["passed"]


def test_a_clean_run_forgets_what_was_unstable_before(suite: SmallSuite) -> None:
    suite.write("a/test_it.py", FAILS_ONCE)
    suite.run()

    suite.run()

    assert suite.read("unstable.json")["unstable"] == []
