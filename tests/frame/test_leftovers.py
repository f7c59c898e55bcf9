"""CI notices whatever a run leaves on the machine."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.frame.checkout import ROOT
from tools.leftovers.snapshot import MARK, null_device_fault, take_snapshot

RUN = "a-run-of-its-own"
CHECK_LIMIT_S = 30


def _leftovers(moment: str, file: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tools.leftovers", moment, str(file)],
        cwd=ROOT,
        env={**os.environ, MARK: RUN},
        capture_output=True,
        text=True,
        timeout=CHECK_LIMIT_S,
        check=False,
    )


@pytest.fixture
def forgotten_process() -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, env={**os.environ, MARK: RUN})
    yield process
    process.communicate()


def test_a_process_that_outlived_its_test_is_seen(
    forgotten_process: subprocess.Popen[bytes],
) -> None:
    seen = take_snapshot(RUN)["processes"]

    assert [line for line in seen if line.startswith(f"{forgotten_process.pid}:")]


def test_processes_of_others_are_not_ours(forgotten_process: subprocess.Popen[bytes]) -> None:
    ours = f"{forgotten_process.pid}: "
    assert not any(line.startswith(ours) for line in take_snapshot("another-run")["processes"])


def test_a_forgotten_process_fails_the_comparison(tmp_path: Path) -> None:
    file = tmp_path / "before.json"
    assert _leftovers("before", file).returncode == 0
    command = [sys.executable, "-c", "import sys; sys.stdin.read()"]

    with subprocess.Popen(command, stdin=subprocess.PIPE, env={**os.environ, MARK: RUN}) as late:
        answer = _leftovers("after", file)
        late.communicate()

    assert answer.returncode == 1
    assert f"left behind: processes: {late.pid}:" in answer.stdout


@pytest.mark.root
def test_a_forgotten_mount_fails_the_comparison(tmp_path: Path) -> None:
    file, folder = tmp_path / "before.json", tmp_path / "mounted"
    folder.mkdir()
    assert _leftovers("before", file).returncode == 0

    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(folder)], check=True)
    try:
        answer = _leftovers("after", file)
    finally:
        subprocess.run(["umount", str(folder)], check=True)

    assert answer.returncode == 1
    assert f"left behind: mounts: {folder} (tmpfs)" in answer.stdout


def test_a_run_without_a_mark_is_refused(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != MARK}
    command = [sys.executable, "-m", "tools.leftovers", "before", str(tmp_path / "before.json")]

    answer = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )

    assert answer.returncode == 2
    assert MARK in answer.stderr


def test_the_null_device_is_whole() -> None:
    assert null_device_fault() == ""
