"""A whole root file system survives stops, restarts and the death of the daemon, byte for byte.

So it does a reboot of the node, after which no mount and nothing in memory is left.
"""

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from perlica.domain.cancel import CancelToken
from perlica.domain.ids import SandboxName, new_operation_id
from perlica.domain.sandbox import (
    BackendSandbox,
    Command,
    CommandOutcome,
    SandboxLimits,
    SandboxSpec,
    WriteFile,
)
from tests.sandboxd.process import Daemon, wait_for
from tests.sandboxes.real import NODE, client_of, delete_all, demo_image

pytestmark = [pytest.mark.root, pytest.mark.timeout(300)]

FILES = 5_000
CYCLES = 5
SOURCE = Path(__file__).with_name("tree.c")
LIMITS = SandboxLimits(
    memory_bytes=512 * 2**20, pids=64, cpu_millis=2000, disk_bytes=768 * 2**20, nofile=1024
)


@pytest.fixture
def program(tmp_path: Path, needs_node: None) -> bytes:
    """The program that makes and lists the tree."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler: apt-get install gcc")
    built = tmp_path / "tree"
    words = [compiler, "-O2", "-Wall", "-Wextra", "-static", "-o", str(built), str(SOURCE)]
    subprocess.run(words, check=True)
    return built.read_bytes()


@pytest.fixture
def box(daemon: Daemon, program: bytes) -> Iterator[BackendSandbox]:
    """A sandbox with room for the tree and with the program in it."""
    backend = client_of(daemon)
    spec = SandboxSpec(name=SandboxName("tree"), purpose="", node=NODE, limits=LIMITS)
    made = backend.create(new_operation_id(), spec, demo_image(daemon).digest)
    backend.execute(
        new_operation_id(),
        name=made.name,
        instance=made.instance,
        action=WriteFile(path="/root/tree", content=program, mode=0o755),
        cancel=CancelToken(),
    )
    yield made
    delete_all(daemon)


def run(daemon: Daemon, box: BackendSandbox, *words: str) -> str:
    """The program inside the sandbox; what it printed."""
    outcome = client_of(daemon).execute(
        new_operation_id(),
        name=box.name,
        instance=box.instance,
        action=Command(argv=("/root/tree", *words), within_ms=120_000),
        cancel=CancelToken(),
    )
    assert isinstance(outcome, CommandOutcome)
    assert (outcome.ended, outcome.exit_code) == ("exited", 0), outcome.stderr
    return outcome.stdout.decode()


def reboot(daemon: Daemon) -> None:
    """Everything ends at once; mounts, loop devices and all that lay in memory are gone."""
    daemon.kill()
    node = (daemon.state / "node-id").read_text("ascii")
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if node in (process / "cgroup").read_text("ascii"):
                os.kill(int(process.name), signal.SIGKILL)
    # With the last process of a namespace go its mounts, and with them the loop devices.
    assert wait_for(lambda: not _left_of(daemon), within_s=30), _left_of(daemon)
    for entry in daemon.run.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    daemon.start()


def _left_of(daemon: Daemon) -> list[str]:
    return [left for left in daemon.leftovers() if not left.startswith("control group")]


@pytest.mark.evidence(18)
def test_five_stops_a_restart_a_death_and_a_reboot_of_the_node_change_nothing(
    daemon: Daemon, box: BackendSandbox
) -> None:
    run(daemon, box, "make", str(FILES))
    listed = run(daemon, box, "list")

    for _ in range(CYCLES):
        client_of(daemon).stop(new_operation_id(), box.name, box.instance)
        assert run(daemon, box, "list") == listed
    daemon.stop()
    daemon.start()
    assert run(daemon, box, "list") == listed
    daemon.kill()
    daemon.start()
    assert run(daemon, box, "list") == listed
    reboot(daemon)
    assert run(daemon, box, "list") == listed

    assert int(listed.split()[0]) > FILES


def test_the_listing_notices_a_single_changed_byte(daemon: Daemon, box: BackendSandbox) -> None:
    run(daemon, box, "make", "100")
    listed = run(daemon, box, "list")

    client_of(daemon).execute(
        new_operation_id(),
        name=box.name,
        instance=box.instance,
        action=WriteFile(path="/srv/tree/d1/f1", content=b"Content of file 1\n", mode=0o644),
        cancel=CancelToken(),
    )

    assert run(daemon, box, "list") != listed
