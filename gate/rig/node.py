"""A sandboxd of the gate's own, in directories of its own, with the operator's settings.

It is started, killed, stopped and asked what it left behind. Its state directory lies on the file
system that is being judged, its run directory on a tmpfs.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gate.lines import Broken
from gate.rig.client import Client, Sandbox
from sandboxd.config import Config
from sandboxd.kernel.loops import loops_backed_by

_START_WITHIN_S = 30.0
_STOP_WITHIN_S = 15.0
_COMMAND_WITHIN_S = 300.0
_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 (the tmpfs of the node)
_SETTINGS = """\
node = "{node}"
state_dir = "{state}"
run_dir = "{run}"
socket = "{run}/sandboxd.sock"
runtime = "{config.runtime}"
init = "{config.init}"
cgroup_parent = "{config.cgroup_parent}-gate"
first_host_id = {config.first_host_id}
layers_by_path = {by_path}

[bounds]
sandboxes = 4
running_operations = 6
free_disk_bytes = 0
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """How sandboxd is started: the words before its own arguments."""

    words: tuple[str, ...] = (sys.executable, "-m", "sandboxd")


def wait_for(condition: Callable[[], bool], *, within_s: float) -> bool:
    """Waits, within bounds, for what another process does."""
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


class Node:
    """One daemon; its state outlives the process."""

    def __init__(
        self, home: Path, config: Config, program: Program, *, name: str, more: str = ""
    ) -> None:
        self.home = home / name
        self.state = self.home / "state"
        self.run = _SHARED_MEMORY / f"{home.name}-{uuid.uuid4().hex[:6]}"
        self.home.mkdir()
        self.run.mkdir()
        self._program = program
        self._settings = self.home / "sandboxd.toml"
        by_path = str(config.layers_by_path).lower()
        self._settings.write_text(
            _SETTINGS.format(
                node=name, state=self.state, run=self.run, config=config, by_path=by_path
            )
            + more,
            encoding="utf-8",
        )
        self._log = self.home / "log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def client(self) -> Client:
        """A caller of it."""
        return Client(self.run / "sandboxd.sock")

    @property
    def pid(self) -> int:
        """The daemon's process id. Raises: Broken when it does not run."""
        if self._process is None:
            raise Broken("sandboxd does not run")
        return self._process.pid

    @property
    def log(self) -> str:
        """The end of what it logged."""
        return self._log.read_text("utf-8", "replace")[-800:] if self._log.exists() else ""

    def settings_without(self, section: str) -> None:
        """Takes a section and what follows it out of its settings; the next start reads them."""
        text = self._settings.read_text("utf-8")
        self._settings.write_text(text.partition(f"[{section}]")[0], "utf-8")

    def audit(self, word: str) -> list[str]:
        """Lines of its log that hold a word."""
        return [line for line in self._log.read_text("utf-8").splitlines() if word in line]

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs sandboxd's command line with this node's settings."""
        return subprocess.run(
            [*self._program.words, "--config", str(self._settings), *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=_COMMAND_WITHIN_S,
        )

    def start(self) -> None:
        """Raises: Broken when it does not answer in time."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._program.words, "--config", str(self._settings), "serve"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        if not wait_for(self._answers, within_s=_START_WITHIN_S):
            raise Broken(f"sandboxd does not start: {self.log}")

    def _answers(self) -> bool:
        if self._process is None or self._process.poll() is not None:
            raise Broken(f"sandboxd ended at once: {self.log}")
        with contextlib.suppress(OSError):
            return self.client.health().protocol >= 1
        return False

    def ensure_running(self) -> None:
        """Starts it unless it runs."""
        if self._process is None or self._process.poll() is not None:
            self.start()

    def kill(self) -> None:
        """As the kernel or an operator would: kill -9."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(_STOP_WITHIN_S)

    def stop(self) -> None:
        """SIGTERM and the wait for its end. Raises: Broken when it does not end well."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            status = self._process.wait(_STOP_WITHIN_S)
        except subprocess.TimeoutExpired as error:
            self.kill()
            raise Broken(f"sandboxd does not stop: {self.log}") from error
        if status != 0:
            raise Broken(f"sandboxd ended with {status}: {self.log}")

    @contextlib.contextmanager
    def sandbox(
        self, name: str, digest: str, *, limits: dict[str, int] | None = None
    ) -> Iterator[Sandbox]:
        """A sandbox for the block; it is deleted afterwards, also when the daemon was killed."""
        self.ensure_running()
        sandbox = self.client.create(name, digest, limits=limits)
        try:
            yield sandbox
        finally:
            self.ensure_running()
            if any(one.instance == sandbox.instance for one in self.client.sandboxes()):
                sandbox.delete()

    def leftovers(self) -> list[str]:
        """Loops, control groups, processes and mounts of it that are still there."""
        found = [f"loop device {name}" for name in loops_backed_by(self.state)]
        own = self.state / "node-id"
        if own.exists():
            node = own.read_text("ascii").strip()
            found += [f"control group {path}" for path in _control_groups(node)]
        return found + list(_processes_of(str(self.run)))

    def remove(self) -> list[str]:
        """Ends it for good. Returns what it left behind; that should be nothing."""
        try:
            if (self.state / "lock").exists():
                self.ensure_running()  # It ends what a killed one left.
            self.stop()
        finally:
            self.kill()
            left = self.leftovers()
            shutil.rmtree(self.run, ignore_errors=True)
            shutil.rmtree(self.home, ignore_errors=True)
        return left


def _control_groups(node: str) -> Iterator[Path]:
    root = Path("/sys/fs/cgroup")
    for directory, names, _ in os.walk(root):
        yield from (Path(directory, name) for name in names if name == node)


def _processes_of(run_directory: str) -> Iterator[str]:
    for process in Path("/proc").glob("[0-9]*"):
        if int(process.name) == os.getpid():
            continue
        try:
            words = (process / "cmdline").read_bytes()
            mounts = (process / "mountinfo").read_text("utf-8", "replace")
        except OSError:
            continue
        if run_directory.encode() in words:
            yield f"process {process.name}"
        elif run_directory in mounts:
            yield f"mounts in the namespace of process {process.name}"
