"""`make` is the door to everything, and says so."""

import re
import subprocess

import pytest

from tests.frame.checkout import ROOT, read_tree_file

TARGETS = (
    "help",
    "setup",
    "demo",
    "test",
    "test-long",
    "check",
    "fix",
    "bench",
    "figures",
    "mutants",
    "doctor",
    "gate",
    "gate-full",
    "lock",
    "clean",
)


def _make(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_make_alone_lists_every_target_with_its_purpose() -> None:
    listed = re.findall(r"^  make ([\w-]+) +\S", _make().stdout, flags=re.MULTILINE)

    assert tuple(listed) == TARGETS


def test_every_purpose_begins_in_the_same_column() -> None:
    listed = re.findall(r"^(  make [\w-]+ +)\S", _make().stdout, flags=re.MULTILINE)

    assert len({len(head) for head in listed}) == 1


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_can_be_made(target: str) -> None:
    assert _make("--dry-run", target).returncode == 0


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("document", ["README.md", "README.zh-CN.md"])
def test_the_documents_name_the_target(document: str, target: str) -> None:
    assert f"make {target}" in read_tree_file(document)


def test_without_a_python_it_says_what_to_install() -> None:
    answer = _make("setup", "PYTHON=")

    assert answer.returncode != 0
    assert "apt-get install python3" in answer.stdout


def test_script_makes_the_demo_run_unattended() -> None:
    assert "perlica.app.demo --script" in _make("--dry-run", "demo", "SCRIPT=1").stdout


def test_the_doctors_speak_one_language() -> None:
    chinese = _make("--dry-run", "doctor").stdout
    english = _make("--dry-run", "doctor", "ARGS=--lang en").stdout

    assert "doctor --lang zh" in chinese
    assert "--lang zh" not in english
    assert "--lang en" in english
