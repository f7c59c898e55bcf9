"""Set-up does what is due and no more, and says plainly what it cannot do."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.frame.checkout import ROOT
from tools.setup import system
from tools.setup.__main__ import Course, _complete_system
from tools.setup.terminal import StepFailed, run_logged

SCRIPT = """
from tools.setup import system
print(system.may_install(), system.explain_absence())
"""


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_step_that_is_done_is_not_done_again() -> None:
    course = Course()

    course.take("the work", done=True, work=lambda: pytest.fail("done again"))

    assert not course.did_work


def test_the_record_keeps_the_time_of_the_run_that_did_the_work() -> None:
    first = Course()
    first.take("the work", done=False, work=lambda: None)
    first.seconds["the work"] = 12.0
    first.write_record(12.5)

    second = Course()
    second.take("the work", done=True, work=lambda: None)
    second.write_record(0.08)

    record = json.loads(Path("build/setup.json").read_text(encoding="utf-8"))
    assert (record["seconds"], record["again_seconds"]) == (12.0, 0.08)


def test_a_failing_command_shows_the_end_of_what_it_said() -> None:
    command = [sys.executable, "-c", "print('the reason'); raise SystemExit(3)"]

    with pytest.raises(StepFailed, match=r"exited with 3\n.*the reason"):
        run_logged(command)


def test_a_command_that_does_not_exist_is_named() -> None:
    with pytest.raises(StepFailed, match="cannot start no-such-program"):
        run_logged(["no-such-program"])


def test_without_apt_it_installs_nothing_and_says_so(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT,
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.startswith("False no apt-get on this system")


def test_without_root_and_sudo_it_says_what_to_do(tmp_path: Path) -> None:
    apt = tmp_path / "apt-get"
    apt.write_text("#!/bin/false\n", encoding="utf-8")
    apt.chmod(0o755)
    as_somebody = "import os; os.geteuid = lambda: 1000"

    done = subprocess.run(
        [sys.executable, "-c", as_somebody + SCRIPT],
        cwd=ROOT,
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.startswith("False not root and no usable sudo; run 'sudo make setup'")


def test_what_a_system_does_not_offer_is_left_out_and_asked_for_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ubuntu has no chromium package, only the stub of a snap."""
    parts = tuple(part for part in system.PARTS if part.package in {"crun", "chromium"})
    commands: list[list[str]] = []
    installed = set[str]()

    def run(command: list[str], **_: object) -> None:
        commands.append(command)
        installed.update(command if "install" in command else ())

    monkeypatch.setattr(system, "run_logged", run)
    monkeypatch.setattr(system, "may_install", lambda: True)
    monkeypatch.setattr(system, "_privilege", tuple)
    monkeypatch.setattr(system, "_is_offered", lambda package: package == "crun")
    monkeypatch.setattr(system, "is_installed", lambda part: part.package in installed)

    first = Course()
    _complete_system(first, parts)
    first.write_record(1.0)
    asked = len(commands)
    _complete_system(Course(), parts[1:])

    assert commands[-1][-1:] == ["crun"]
    assert len(commands) == asked
    assert capsys.readouterr().out.count("chromium: tests of the chat page are skipped") == 2


def test_each_system_package_says_what_is_lost_without_it() -> None:
    assert [part for part in system.PARTS if not part.without] == []
