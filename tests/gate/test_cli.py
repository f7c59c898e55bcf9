"""The gate's command line: what it is called, and what it refuses before it tries anything."""

import subprocess
import sys

from gate.checks import ALL

UNFIT = 2


def _gate(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sandboxd", "gate", *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_word_that_begins_no_key_is_refused_with_all_keys() -> None:
    done = _gate("--only", "rootsf")

    assert done.returncode == UNFIT
    assert "rootsf" in done.stderr
    said = " ".join(done.stderr.split())
    assert [check.key for check in ALL if check.key not in said] == []
    assert "pass" not in done.stdout


def test_one_wrong_word_beside_a_right_one_is_refused_too() -> None:
    assert _gate("--only", ALL[0].key, "--only", "rootsf").returncode == UNFIT


def test_its_help_names_it_as_people_call_it() -> None:
    assert _gate("--help").stdout.startswith("Usage: sandboxd gate [OPTIONS]")
