"""A run of the whole suite says which acceptance items it has shown, and fails without them."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.evidence.items import ITEMS
from tests.evidence.pending import PendingFileWrong, read_pending
from tests.frame.checkout import ROOT

PASSING = "def test_it_holds_what_it_says():\n    assert True\n"
FAILING = "def test_it_holds_what_it_says():\n    assert False\n"
SKIPPED = "def test_it_is_seen_at_night():\n    pytest.skip('needs a moon')\n    assert True\n"


class Suite:
    """A small project with our conftest and evidence plugin, and tests of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("conftest.py", "evidence", "suite"):
            (folder / "tests").mkdir(exist_ok=True)
            (folder / "tests" / name).symlink_to(ROOT / "tests" / name)
        settings = (
            "[tool:pytest]\ntestpaths = tests\npythonpath = .\naddopts = -p no:cacheprovider\n"
        )
        settings += "markers =\n    evidence(n): x\n    root: x\n    browser: x\n    live: x\n"
        (folder / "setup.cfg").write_text(settings, encoding="utf-8")
        self.write_pending(item.number for item in ITEMS)

    def write_pending(self, numbers: Iterable[int]) -> None:
        entries = (
            f'[[item]]\nnumber = {n}\nlacks = "the other half"\ncapability = "memory"\n'
            for n in numbers
        )
        path = self.folder / "tests" / "evidence-pending.toml"
        path.write_text("\n".join(entries), encoding="utf-8")

    def write_test(self, number: int, body: str) -> None:
        text = f"import pytest\n@pytest.mark.evidence({number})\n{body}"
        (self.folder / "tests" / f"test_item_{number}.py").write_text(text, encoding="utf-8")

    def run(self, *arguments: str, ci: bool = False) -> subprocess.CompletedProcess[str]:
        environment = {name: value for name, value in os.environ.items() if name != "CI"}
        if ci:
            environment["CI"] = "true"
        return subprocess.run(
            [sys.executable, "-m", "pytest", "--no-second-try", *arguments],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )

    def entry(self, number: int) -> dict[str, Any]:
        text = (self.folder / "build" / "evidence.json").read_text(encoding="utf-8")
        (entry,) = (item for item in json.loads(text)["items"] if item["number"] == number)
        return dict(entry)


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return Suite(tmp_path)


def test_an_item_with_a_passing_test_is_shown(suite: Suite) -> None:
    suite.write_pending(range(2, 21))
    suite.write_test(1, PASSING)

    run = suite.run()

    assert run.returncode == 0, run.stdout
    assert suite.entry(1)["status"] == "shown"
    assert suite.entry(1)["tests"][0]["test"] == "tests/test_item_1.py::test_it_holds_what_it_says"
    assert suite.entry(2)["status"] == "pending"


def test_an_item_that_nobody_shows_or_lists_fails_the_run(suite: Suite) -> None:
    suite.write_pending(range(3, 21))
    suite.write_test(1, PASSING)

    run = suite.run()

    assert run.returncode == 1
    assert "no test shows it" in run.stdout
    assert suite.entry(2)["status"] == "missing"


def test_a_listed_item_with_a_passing_test_is_reported_with_what_is_open(suite: Suite) -> None:
    suite.write_test(1, PASSING)

    run = suite.run()

    assert run.returncode == 0
    assert "still open: the other half" in run.stdout
    assert suite.entry(1)["status"] == "partly shown"


def test_an_item_with_a_failing_test_is_not_shown(suite: Suite) -> None:
    other = PASSING.replace("test_it", "test_the_other")
    suite.write_test(1, f"{FAILING}@pytest.mark.evidence(1)\n{other}")

    run = suite.run()

    assert run.returncode == 1
    assert suite.entry(1)["status"] == "failed"


def test_skipped_evidence_passes_at_home_with_its_reason(suite: Suite) -> None:
    suite.write_pending(range(2, 21))
    suite.write_test(1, SKIPPED)

    run = suite.run()

    assert run.returncode == 0
    assert suite.entry(1)["status"] == "skipped here"
    assert "needs a moon" in run.stdout


def test_nothing_may_skip_in_ci(suite: Suite) -> None:
    suite.write_test(1, PASSING)
    (suite.folder / "tests" / "test_other.py").write_text(f"import pytest\n{SKIPPED}")

    run = suite.run(ci=True)

    assert run.returncode == 1
    assert "tests/test_other.py::test_it_is_seen_at_night" in run.stdout


@pytest.mark.parametrize(
    "selection", [["tests/test_item_1.py"], ["-k", "it"], ["-m", "not root"], ["--collect-only"]]
)
def test_a_part_of_the_suite_is_not_judged(suite: Suite, selection: list[str]) -> None:
    suite.write_pending([])
    suite.write_test(1, PASSING)

    run = suite.run(*selection)

    assert run.returncode == 0
    assert not (suite.folder / "build").exists()


def test_a_mark_for_an_item_that_does_not_exist_ends_the_run(suite: Suite) -> None:
    suite.write_test(21, PASSING)

    run = suite.run()

    assert run.returncode == 4
    assert "names no item" in run.stderr


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('[[item]]\nnumber = 1\nlacks = "x"\ncapability = "later"\n', "no capability 'later'"),
        ('[[item]]\nnumber = 21\nlacks = "x"\ncapability = "web"\n', "no acceptance item 21"),
        ('[[item]]\nnumber = 1\nlacks = " "\ncapability = "web"\n', "does not say what it lacks"),
        ('[[item]]\nnumber = 1\nlacks = "x"\n', "needs number, lacks and capability"),
        ('[[item]]\nnumber = 1\nlacks = "x"\ncapability = "web"\n' * 2, "stands there twice"),
        ("[[item", "evidence-pending.toml"),
    ],
)
def test_a_careless_pending_file_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "evidence-pending.toml"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(PendingFileWrong, match=complaint):
        read_pending(path)


def test_the_pending_file_of_the_tree_is_in_order() -> None:
    read_pending(ROOT / "tests" / "evidence-pending.toml")
