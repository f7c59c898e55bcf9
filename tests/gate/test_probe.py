"""The escape probe: enough checks, each a sentence, and blind to nothing."""

import subprocess
from pathlib import Path

import pytest

from gate.checks.isolation import _line

pytestmark = pytest.mark.root


@pytest.fixture(scope="module")
def rows(needs_node: None, tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """What the probe finds as an ordinary user of this node, who may do more than a sandbox.

    In an empty network, so that nothing outside is called upon.
    """
    from gate.rig.programs import build_program

    directory = tmp_path_factory.mktemp("probe")
    program = build_program("probe", directory)
    for path in (directory, *directory.parents[:2]):
        path.chmod(0o755)
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    done = subprocess.run(
        ["unshare", "--net", *nobody, program],
        capture_output=True,
        text=True,
        check=True,
        timeout=50,
    )
    return [row.split("\t") for row in done.stdout.splitlines()]


def test_there_are_at_least_ninety_checks_and_each_is_a_sentence(rows: list[list[str]]) -> None:
    sentences = [row[2] for row in rows]

    assert len(sentences) >= 90
    assert len(set(sentences)) == len(sentences)
    assert all(sentence.startswith("cannot ") for sentence in sentences)


def test_it_sees_what_is_open_outside_a_sandbox(rows: list[list[str]]) -> None:
    opened = {row[2] for row in rows if row[0] == "open"}

    assert "cannot run without a system-call filter" in opened
    assert "cannot run without 'no new privileges'" in opened
    assert "cannot see a process of the node" in opened


def test_only_what_is_harmless_is_allowed_and_says_why(rows: list[list[str]]) -> None:
    reasons = [row[3] for row in rows if row[0] == "allowed"]

    assert all(reasons)
    assert len(reasons) < 12


@pytest.mark.parametrize(
    ("verdict", "outcome"),
    [("blocked", "pass"), ("allowed", "pass"), ("open", "fail"), ("crashed", "fail")],
)
def test_only_blocked_and_harmless_attempts_pass(verdict: str, outcome: str) -> None:
    assert _line(f"{verdict}\tEPERM\tcannot do it\tharmless").outcome == outcome


def test_the_programs_have_no_warnings(needs_node: None, tmp_path: Path) -> None:
    from gate.rig.programs import PROGRAMS, build_program

    assert all(build_program(name, tmp_path).exists() for name in PROGRAMS)
