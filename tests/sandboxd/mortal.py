"""A daemon that kills itself at a milestone, and the search for what must not be left on a node."""

import contextlib
import http.client
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from sandboxd.milestones import Milestone
from tests.sandboxd.client import Box, Client, new_id
from tests.sandboxd.process import Daemon

PROGRAM = (str(Path(__file__).with_name("crashing.py")),)
DISK = "disk.xfs"


class Mortal:
    """A daemon that dies on demand (see crashing.py). It knows one image."""

    def __init__(self, daemon: Daemon, directory: Path) -> None:
        self.daemon = daemon
        self.client = Client(daemon.socket)
        self._directory = directory

    def seen(self) -> tuple[str, ...]:
        """The milestones since the last look."""
        file = self._directory / "seen"
        found = tuple(file.read_text("ascii").splitlines()) if file.exists() else ()
        file.unlink(missing_ok=True)
        return found

    def condemn(self, milestone: Milestone, *, companion: int | None = None) -> None:
        """It will die at this milestone, and take another process with it."""
        if companion is not None:
            (self._directory / "companion").write_text(str(companion), "ascii")
        (self._directory / "kill-at").write_text(milestone, "ascii")

    def see_it_die(self) -> None:
        """It must have died at the milestone."""
        assert self.daemon.wait_for_death() == -9
        assert not (self._directory / "kill-at").exists()
        (self._directory / "companion").unlink(missing_ok=True)

    def die_at(self, milestone: Milestone, act: Callable[[], object]) -> None:
        """It dies while `act` is done."""
        self.condemn(milestone)
        with contextlib.suppress(OSError, http.client.HTTPException):
            act()
        self.see_it_die()

    def make_box(self) -> Box:
        """A sandbox on it."""
        (held,) = self.client.images()
        return Box(self.client, self.client.create("box", held.digest))

    def places_of(self, canary: bytes, *more: Path, memory: bool = False) -> list[Path]:
        """Files outside sandboxes' own disks that hold it; with `memory` the kept outputs, too."""
        roots = [self.daemon.state, self.daemon.state.parent, self.daemon.run / "bundles", *more]
        roots += [self.daemon.run] if memory else []
        files = {file for root in roots for file in root.rglob("*") if file.is_file()}
        files |= {file for file in Path("/var/tmp").glob("*") if file.is_file()}
        return [file for file in files if file.name != DISK and _holds(file, canary)]

    def disks_with(self, canary: bytes) -> list[Path]:
        """Sandboxes' own disks that hold it."""
        disks = (self.daemon.state / "sandboxes").glob(f"*/{DISK}")
        return [disk for disk in disks if _holds(disk, canary)]


def _holds(file: Path, canary: bytes) -> bool:
    """Reads the raw file; a disk is large and mostly holes."""
    try:
        with file.open("rb") as opened:
            before = b""
            while chunk := opened.read(1 << 22):
                if canary in before + chunk:
                    return True
                before = chunk[-len(canary) :]
    except FileNotFoundError:  # A temporary file that went away.
        pass
    return False


@contextlib.contextmanager
def mortal_daemon(layout: Path, directory: Path) -> Iterator[Mortal]:
    """Runs for the block; outputs lie on a tmpfs. It leaves nothing behind."""
    os.environ["SANDBOXD_TEST_MILESTONES"] = str(directory)
    run = Path("/dev/shm") / f"sbx-{new_id()[:8]}"
    run.mkdir()
    (directory / "node").mkdir()
    daemon = Daemon(directory / "node" / "state", run, program=PROGRAM)
    try:
        imported = daemon.command("image", "import", str(layout))
        assert imported.returncode == 0, imported.stderr
        daemon.start()
        yield Mortal(daemon, directory)
    finally:
        daemon.ensure_running()
        daemon.stop()
        left = daemon.leftovers()
        shutil.rmtree(run)
        del os.environ["SANDBOXD_TEST_MILESTONES"]
    assert left == []
