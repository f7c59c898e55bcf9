"""One daemon for all tests of this folder, a small image, sandboxes that are deleted afterwards."""

import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from sandboxd import wire
from tests.sandboxd.client import Answered, Box, Client, MakeBox, Refusal
from tests.sandboxd.machine import Machine
from tests.sandboxd.process import Daemon, wait_for

IN_CI = os.environ.get("CI") == "true"
_MACHINE_RESTS_WITHIN_S = 30.0
PROGRAMS = ("crun", "catatonit", "mkfs.xfs", "mksquashfs", "busybox")


def _require(condition: object, reason: str) -> None:
    if condition:
        return
    if IN_CI:
        pytest.fail(f"must not be missing in CI: {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def needs_node() -> None:
    """A machine on which a daemon can run at all."""
    _require(os.geteuid() == 0, "needs root: run 'sudo make test'")
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    _require(not missing, f"not installed: {', '.join(missing)}")


@pytest.fixture(scope="session", autouse=True)
def machine_as_before(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """After all tests of this folder the machine is as it was before them."""
    machine = Machine(tmp_path_factory.getbasetemp())
    yield
    # The kernel lets go of loop devices and namespaces a moment after their last user.
    wait_for(lambda: not machine.added(), within_s=_MACHINE_RESTS_WITHIN_S)
    assert machine.added() == []


@pytest.fixture(scope="session")
def layout(needs_node: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from sandboxd.images.demo import build_demo_layout

    directory = tmp_path_factory.mktemp("layout")
    build_demo_layout(directory)
    return directory


@pytest.fixture
def run_directory(needs_node: None) -> Iterator[Path]:
    yield from _run_directory()


def _run_directory() -> Iterator[Path]:
    """On a tmpfs, so that outputs outlive a killed daemon; short, as socket paths must be."""
    directory = Path("/dev/shm") / f"sbx-{uuid.uuid4().hex[:8]}"
    directory.mkdir()
    yield directory
    shutil.rmtree(directory)


@pytest.fixture(scope="session")
def _daemon(layout: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    directories = _run_directory()
    run = next(directories)
    daemon = Daemon(tmp_path_factory.mktemp("node") / "state", run)
    imported = daemon.command("image", "import", str(layout))
    assert imported.returncode == 0, imported.stderr
    daemon.start()
    try:
        yield daemon
    finally:
        daemon.ensure_running()  # It ends what a killed one left.
        daemon.stop()
        left = daemon.leftovers()
        next(directories, None)
    assert left == []


@pytest.fixture
def daemon(_daemon: Daemon) -> Iterator[Daemon]:
    """Runs at the start of each test and holds no sandbox at its end."""
    _daemon.ensure_running()
    yield _daemon
    _daemon.ensure_running()
    for state in _daemon.client.sandboxes():
        Box(Client(_daemon.socket, epoch=_daemon.client.health().epoch), state).delete()


@pytest.fixture
def client(daemon: Daemon) -> Client:
    return Client(daemon.socket, epoch=daemon.client.health().epoch or 1)


@pytest.fixture
def image(client: Client) -> str:
    (held,) = [held for held in client.images() if held.reference == "perlica-demo:1"]
    return held.digest


@pytest.fixture
def make_box(client: Client, image: str) -> MakeBox:
    def make(name: str = "box", *, limits: Mapping[str, int] | None = None) -> Box:
        return Box(client, client.create(name, image, limits=limits))

    return make


@pytest.fixture
def box(make_box: MakeBox) -> Box:
    return make_box()


@pytest.fixture
def refusal() -> Refusal:
    """What the daemon says when it does not do something."""

    def catch(act: Callable[[], object]) -> wire.ErrorAnswer:
        with pytest.raises(Answered) as caught:
            act()
        return caught.value.answer

    return catch
