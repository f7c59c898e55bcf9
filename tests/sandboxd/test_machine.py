"""What a daemon leaves on the machine after the hardest life that it can have: nothing.

The fixture `machine_as_before` says the same of all tests of this folder; here it is shown to see.
"""

import contextlib
import http.client
import os
import subprocess
import threading
from pathlib import Path

import pytest

from sandboxd import _native
from tests.sandboxd.client import Box, MakeBox
from tests.sandboxd.machine import Machine
from tests.sandboxd.process import Daemon, wait_for

pytestmark = pytest.mark.root
WITHIN_S = 30.0


def test_a_mount_and_a_loop_device_that_stay_are_seen(needs_node: None, tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    image, place = tmp_path / "image", tmp_path / "place"
    image.write_bytes(b"\0" * 1024 * 1024)
    place.mkdir()

    device = _run("losetup", "--find", "--show", str(image))
    _run("mount", "-t", "tmpfs", "left", str(place))
    seen = machine.added()
    _native.umount2(str(place), _native.MNT_DETACH)
    _run("losetup", "--detach", device)

    assert any(line == f"mounts: {place} (tmpfs)" for line in seen)
    assert any(str(image) in line for line in seen if line.startswith("loop devices"))
    assert wait_for(lambda: machine.added() == [], within_s=WITHIN_S)


def _run(*words: str) -> str:
    return subprocess.run(words, capture_output=True, check=True, text=True).stdout.strip()


def test_a_life_with_kills_time_outs_and_a_running_command_leaves_the_machine_as_it_was(
    daemon: Daemon, make_box: MakeBox, tmp_path_factory: pytest.TempPathFactory
) -> None:
    daemon.stop()
    machine = Machine(tmp_path_factory.getbasetemp())
    daemon.start()
    deleted, kept = make_box("deleted"), make_box("kept")
    deleted.shell("(setsid sleep 1000 &); sleep 1000", timeout_ms=300)
    running = threading.Thread(target=_run_until_killed, args=(kept,))
    running.start()
    assert wait_for(lambda: kept.state().running_operations != (), within_s=WITHIN_S)
    busy = machine.added()
    daemon.kill()
    running.join(WITHIN_S)
    daemon.start()
    deleted.delete()
    kept.says("echo on > /root/file")
    daemon.stop()

    assert any(line.startswith("loop devices") for line in busy)
    assert any(line.startswith("namespace") for line in busy)
    assert wait_for(lambda: machine.added() == [], within_s=WITHIN_S), machine.added()
    null = Path("/dev/null").stat()
    assert (os.major(null.st_rdev), os.minor(null.st_rdev)) == (1, 3)


def _run_until_killed(box: Box) -> None:
    with contextlib.suppress(OSError, http.client.HTTPException):
        box.shell("sleep 1000")
