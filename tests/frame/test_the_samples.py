"""The ordinary run draws samples that a seed repeats; the long run leaves nothing out."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.frame.checkout import ROOT, read_tree_file
from tests.frame.small_suite import SmallSuite
from tests.suite.sample import ROUNDS, SHARES, Sample

POINTS = [(kind, number) for kind in "abcdefgh" for number in range(25)]
DRAWS = """
def test_what_is_drawn(sample):
    points = sample.pick("crash", range(400), of="it", kinds=lambda point: (point % 3,))
    print("drawn", sample.rounds("race"), points)
"""


def _pick(seed: int, *, is_long: bool = False) -> list[tuple[str, int]]:
    sample = Sample(seed, is_long=is_long)
    return sample.pick("crash", POINTS, of="it", kinds=lambda point: (point[0],))


def test_the_same_seed_draws_the_same_and_another_one_does_not() -> None:
    assert _pick(1) == _pick(1)
    assert _pick(1) != _pick(2)


@pytest.mark.parametrize("seed", range(20))
def test_a_sample_has_its_share_evenly_spread_in_order_and_nothing_twice(seed: int) -> None:
    picked = _pick(seed)

    assert picked == sorted(set(picked))
    assert len(picked) == len(POINTS) * SHARES["crash"].part
    assert all(4 <= count <= 9 for count in Counter(kind for kind, _ in picked).values())


@pytest.mark.parametrize("seed", range(20))
def test_every_kind_is_drawn_though_they_are_more_than_the_share(seed: int) -> None:
    rows = [(user, injection) for user in range(30) for injection in "xyz"]
    points = [*rows, ("alone", "never seen elsewhere")]

    picked = Sample(seed, is_long=False).pick("dojo", points, of="it", kinds=lambda point: point)

    assert {user for user, _ in picked} == {user for user, _ in points}
    assert {injection for _, injection in picked} == {injection for _, injection in points}
    assert len(picked) < len(points)


def test_over_many_seeds_every_point_has_its_turn() -> None:
    assert {point for seed in range(60) for point in _pick(seed)} == set(POINTS)


def test_the_long_run_takes_everything() -> None:
    sample = Sample(1, is_long=True)

    assert _pick(1, is_long=True) == POINTS
    assert {name: sample.rounds(name) for name in ROUNDS} == {
        name: rounds.whole for name, rounds in ROUNDS.items()
    }


@pytest.fixture
def suite(tmp_path: Path) -> SmallSuite:
    suite = SmallSuite(tmp_path)
    suite.write("a/test_it.py", DRAWS)
    return suite


def _seed(printed: str) -> str:
    found = re.findall(r"--sample-seed=(\d+)", printed)
    assert len(found) == 2, printed
    assert len(set(found)) == 1
    return str(found[0])


def _drawn(printed: str) -> str:
    return str(re.findall(r"drawn .*", printed)[0])


def test_the_seed_is_new_in_each_run_and_printed_so_that_it_can_be_repeated(
    suite: SmallSuite,
) -> None:
    first, second = (suite.run("-s", ci=True).stdout for _ in range(2))

    again = suite.run("-s", f"--sample-seed={_seed(first)}").stdout

    assert _seed(first) != _seed(second)
    assert _drawn(first) != _drawn(second)
    assert _drawn(again) == _drawn(first)


def test_a_run_ends_with_what_it_left_out(suite: SmallSuite) -> None:
    printed = suite.run().stdout

    assert "  crash (it): 100 of 400" in printed
    assert f"  race: {ROUNDS['race'].sampled} of {ROUNDS['race'].whole}" in printed


def test_a_long_run_says_that_it_left_out_nothing(suite: SmallSuite) -> None:
    printed = suite.run("--long").stdout

    assert "samples: none, everything is run" in printed
    assert "  crash (it): 400 of 400" in printed


def test_a_second_try_draws_the_same_sample(suite: SmallSuite) -> None:
    suite.write("a/test_it.py", "def test_what_is_drawn(sample): assert sample.seed != 7\n")

    run = suite.run("--sample-seed=7")

    assert run.returncode == 1
    assert "once more, alone: tests/a/test_it.py::test_what_is_drawn FAILED" in run.stdout


@pytest.mark.parametrize("name", [*SHARES, *ROUNDS])
def test_each_sample_is_drawn_somewhere_and_told_in_the_list(name: str) -> None:
    what = SHARES[name].what if name in SHARES else ROUNDS[name].what
    tests = [
        path.read_text("utf-8")
        for path in (ROOT / "tests").rglob("*.py")
        if path.parent.name not in {"frame", "suite"}
    ]

    assert any(re.search(rf'\.(pick|rounds)\(\s*"{name}"', text) for text in tests)
    assert f"| {name} | {what} |" in read_tree_file("CONTRIBUTING.md")
