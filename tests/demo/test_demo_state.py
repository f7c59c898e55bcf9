"""Each run of the demo has files of its own, whatever ran before it or runs beside it."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from perlica.app.demo.conditions import DemoCannotStart
from perlica.app.demo.layout import DemoPaths
from perlica.app.demo.processes import DemoFailed, Process
from perlica.app.demo.state import PAGE_PORT, hold, hold_new, kept_state
from tests.behaviour.live import wait_until


def test_a_second_demo_on_the_same_files_is_refused_and_deletes_nothing(tmp_path: Path) -> None:
    with hold(tmp_path / "state") as first:
        first.paths.prepare()
        token = first.paths.token.read_text()

        with pytest.raises(DemoCannotStart, match="another demo runs"), hold(tmp_path / "state"):
            pass

        assert first.paths.token.read_text() == token


def test_demos_on_different_ports_have_different_files() -> None:
    assert str(kept_state(PAGE_PORT)) == "demo-state"
    assert str(kept_state(8766)) == "demo-state-8766"


def test_two_demos_never_share_a_run_directory(tmp_path: Path) -> None:
    with hold(tmp_path / "one") as one, hold(tmp_path / "two") as two:
        assert one.paths.sandboxd_run != two.paths.sandboxd_run


def test_a_script_run_deletes_what_it_made_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")

    with hold_new(tmp_path) as state:
        state.paths.prepare()

    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_failed_script_run_is_kept_until_the_next_one_which_begins_with_nothing(
    tmp_path: Path,
) -> None:
    failed = _fail_a_run(tmp_path)

    assert failed.token.exists()
    with hold_new(tmp_path) as fresh:
        assert not failed.root.exists()
        assert {path.name for path in fresh.paths.root.iterdir()} == {"lock"}


def test_two_script_runs_at_once_leave_each_other_alone(tmp_path: Path) -> None:
    with hold_new(tmp_path) as one, hold_new(tmp_path) as two:
        one.paths.prepare()
        two.paths.prepare()

        assert one.paths.root != two.paths.root
        assert one.paths.token.exists()


def test_a_state_stays_held_while_a_process_of_a_killed_demo_lives(tmp_path: Path) -> None:
    with hold(tmp_path / "state") as held:
        process = _sleeper(tmp_path, held.lock)
        process.start()
    try:
        with pytest.raises(DemoCannotStart, match="another demo runs"), hold(tmp_path / "state"):
            pass
    finally:
        process.stop()
    with hold(tmp_path / "state"):
        pass


def test_the_parts_of_a_demo_that_is_killed_are_told_to_stop(tmp_path: Path) -> None:
    part = (
        "from pathlib import Path; from perlica.app.demo.processes import Process; import time;"
        f"p = Process('part', ['sleep', '600'], Path({str(tmp_path / 'log')!r})); p.start();"
        "print(p.pid, flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", part], stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        child = int(demo.stdout.readline())
        # Until then it is setpriv, which may not yet have asked to be told of our end.
        wait_until(lambda: _command_line(child).startswith(b"sleep"), what="the part runs")

        os.kill(demo.pid, signal.SIGKILL)

        wait_until(lambda: not _lives(child), what="the part ends")


def _fail_a_run(runs: Path) -> DemoPaths:
    with contextlib.suppress(DemoFailed), hold_new(runs) as state:
        state.paths.prepare()
        raise DemoFailed("a step did not hold")
    return state.paths


def _sleeper(folder: Path, lock: int) -> Process:
    return Process("part", ["sleep", "600"], folder / "log", keeps_open=(lock,))


def _command_line(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(") ")[2]
    except OSError:
        return False
    return not state.startswith(("Z", "X"))
