"""Attacks on the limits of a sandbox: the node stays healthy, the neighbour notices nothing."""

import os
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandboxd import wire
from tests.sandboxd.client import Box, Client, MakeBox
from tests.sandboxd.process import Daemon

pytestmark = pytest.mark.root
MIB = 1024 * 1024


class Neighbour:
    """A second sandbox that is used all the while; keeps the longest wait for an answer."""

    def __init__(self, box: Box) -> None:
        self._box = box
        self._over = threading.Event()
        self.answers: list[bytes] = []
        self.longest_s = 0.0
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._over.is_set():
            began = time.monotonic()
            self.answers.append(self._box.run("/bin/echo", "well").stdout)
            self.longest_s = max(self.longest_s, time.monotonic() - began)
            self._over.wait(0.2)

    def stop(self) -> None:
        self._over.set()
        self._thread.join(30)


@pytest.fixture
def neighbour(make_box: MakeBox) -> Iterator[Neighbour]:
    neighbour = Neighbour(make_box("neighbour"))
    yield neighbour
    neighbour.stop()
    assert set(neighbour.answers) == {b"well\n"}
    assert neighbour.longest_s < 20


@pytest.fixture(autouse=True)
def healthy_node(daemon: Daemon, client: Client) -> Iterator[None]:
    """After the attack: the daemon answers at once, is small, and has no children but its own."""
    yield
    began = time.monotonic()
    health = client.health()
    status = Path(f"/proc/{daemon.pid}/status").read_text("ascii")
    resident_kib = int(status.partition("VmRSS:")[2].split()[0])
    null = Path("/dev/null").stat()
    assert health.protocol == wire.PROTOCOL_VERSION
    assert time.monotonic() - began < 5
    assert resident_kib < 100 * 1024
    assert zombies_of(daemon) == []
    assert stat.S_ISCHR(null.st_mode)
    assert (os.major(null.st_rdev), os.minor(null.st_rdev)) == (1, 3)


def zombies_of(daemon: Daemon) -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = process.read_text("utf-8", "replace").rpartition(")")[2].split()
        except OSError:
            continue
        if words[0] == "Z" and int(words[1]) == daemon.pid:
            found.append(int(process.parent.name))
    return found


@pytest.mark.evidence(7)
def test_a_fork_bomb(make_box: MakeBox, neighbour: Neighbour) -> None:
    """A fork bomb stays in its sandbox and its neighbour works on."""
    box = make_box("bomb", limits={"pids": 100, "cpu_millis": 500})

    outcome = box.shell("b() { b | b & b; }; b", timeout_ms=2500)

    assert outcome.duration_ms < 15_000
    assert box.says("echo alive") == "alive"


@pytest.mark.evidence(7)
def test_a_memory_bomb_in_many_processes(make_box: MakeBox, neighbour: Neighbour) -> None:
    box = make_box("bomb", limits={"memory_bytes": 64 * MIB})
    bomb = "dd if=/dev/zero of=/dev/null bs=40M count=1000000 2>/dev/null &"

    outcome = box.shell(f"for i in 1 2 3 4 5 6; do {bomb} done; wait; echo over", timeout_ms=4000)

    assert outcome.ended in {"exited", "timed_out", "signalled"}
    assert box.says("echo alive") == "alive"


@pytest.mark.evidence(7)
def test_a_memory_bomb_in_shared_memory(make_box: MakeBox, neighbour: Neighbour) -> None:
    box = make_box("bomb", limits={"memory_bytes": 48 * MIB})

    box.shell("cat /dev/zero > /dev/shm/filler", timeout_ms=4000)

    assert box.says("rm -f /dev/shm/filler; echo alive") == "alive"


@pytest.mark.evidence(7)
def test_a_disk_filler(daemon: Daemon, make_box: MakeBox, neighbour: Neighbour) -> None:
    """A filled disk is full for its own sandbox alone."""
    box = make_box("filler")

    outcome = box.shell("cat /dev/zero > /filler; cat /dev/zero > /more; rm /filler; echo x > /f")

    assert b"No space left on device" in outcome.stderr
    disk = daemon.state / "sandboxes" / box.instance / "disk.xfs"
    assert disk.stat().st_blocks * 512 <= wire.MIN_DISK_BYTES + MIB
    assert box.says("cat /f") == "x"


@pytest.mark.evidence(7)
def test_an_inode_filler(make_box: MakeBox, neighbour: Neighbour) -> None:
    """Files without end fill the own disk alone."""
    box = make_box("filler")
    script = "mkdir /n; cd /n; i=0; while : > $i; do i=$((i+1)); done; echo $i"

    outcome = box.shell(script, timeout_ms=3000)
    gone = box.shell("rm -rf /n; echo fine > /f; cat /f", timeout_ms=30_000)

    assert outcome.ended in {"exited", "timed_out"}
    assert gone.stdout == b"fine\n"


@pytest.mark.evidence(7)
def test_ten_gigabytes_of_output(make_box: MakeBox, neighbour: Neighbour) -> None:
    box = make_box("loud")

    outcome = box.run(
        *("/bin/dd", "if=/dev/zero", "bs=1M", "count=10240"),
        timeout_ms=10_000,
        output_limit_bytes=1000,
    )

    assert outcome.stdout_truncated
    assert len(outcome.stdout) < 1100
    assert outcome.ended == "timed_out" or outcome.stdout_bytes == 10 * 1024**3


@pytest.mark.evidence(7)
def test_a_hundred_thousand_processes_worth_of_zombies(
    make_box: MakeBox, neighbour: Neighbour
) -> None:
    box = make_box("undead", limits={"pids": 40})
    # Each child leaves a grandchild to init. Unreaped they would fill the 40 places for good; a
    # fork that fails because init is a moment behind is the limit at work.
    script = "i=0; while [ $i -lt 100000 ]; do ( : & ); i=$((i+1)); echo >> /made; done"

    outcome = box.shell(script, timeout_ms=5000)
    made = int(box.says("wc -l < /made"))
    left = int(box.says("ls -d /proc/[0-9]* | wc -l"))

    assert outcome.ended in {"exited", "timed_out"}
    assert made > 400
    assert left < 20


@pytest.mark.evidence(7)
def test_a_command_that_ignores_every_signal_and_hides_in_new_sessions(
    make_box: MakeBox, neighbour: Neighbour
) -> None:
    box = make_box("stubborn")
    hider = "trap '' TERM INT HUP QUIT; while :; do sleep 1; done"

    outcome = box.shell(f'setsid sh -c "{hider}" & sh -c "{hider}"', timeout_ms=800)

    assert outcome.ended == "timed_out"
    assert box.says("ps | grep -c '[s]leep 1' || true") == "0"


@pytest.mark.evidence(7)
def test_open_files_by_the_thousand(make_box: MakeBox, neighbour: Neighbour) -> None:
    box = make_box("opener", limits={"nofile": 64})

    said = box.shell(
        'i=3; while [ $i -lt 500 ]; do eval "exec $i</dev/null" || break; i=$((i+1)); done'
    )

    assert b"500" not in said.stdout
    assert box.says("echo alive") == "alive"
