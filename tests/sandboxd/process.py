"""A real sandboxd process on directories of its own, and what it may leave behind: nothing."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from sandboxd import wire
from sandboxd.kernel.loops import loops_backed_by
from tests.sandboxd.client import Client

START_WITHIN_S = 15.0
STOP_WITHIN_S = 10.0
PROGRAM = ("-m", "sandboxd")
CHECKOUT = Path(__file__).parents[2]
CONFIG = """
node = "test-node"
state_dir = "{state}"
run_dir = "{run}"
socket = "{run}/sandboxd.sock"
{extra}

[bounds]
sandboxes = 3
running_operations = 4
"""


def wait_for(condition: Callable[[], bool], *, within_s: float) -> bool:
    """Bounded wait for something another process does."""
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


class Daemon:
    """Starts, kills and stops one daemon; its state outlives the process."""

    def __init__(
        self, state: Path, run: Path, *, extra: str = "", program: Sequence[str] = PROGRAM
    ) -> None:
        self._program = program
        self.state = state
        self.run = run
        self.log = state.parent / "sandboxd.log"
        self.config = state.parent / "sandboxd.toml"
        self.config.write_text(CONFIG.format(state=state, run=run, extra=extra), encoding="utf-8")
        self.socket = run / "sandboxd.sock"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def client(self) -> Client:
        return Client(self.socket)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def command(self, *arguments: str, within_s: float = 60) -> subprocess.CompletedProcess[str]:
        """Runs the command line with this daemon's configuration."""
        return subprocess.run(
            [sys.executable, "-m", "sandboxd", "--config", str(self.config), *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=within_s,
        )

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, *self._program, "--config", str(self.config), "serve"],
                stdin=subprocess.PIPE,
                env=dict(os.environ) | {"PYTHONPATH": str(CHECKOUT)},
                stdout=log,
                stderr=log,
            )
        assert wait_for(self._answers, within_s=START_WITHIN_S), self.log.read_text("utf-8")

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log.read_text("utf-8")
        try:
            return self.client.health().protocol == wire.PROTOCOL_VERSION
        except OSError:
            return False

    def ensure_running(self) -> None:
        if self._process is None or self._process.poll() is not None:
            self.start()

    def kill(self) -> None:
        """kill -9, as the kernel or an operator would."""
        assert self._process is not None
        self._process.kill()
        self._close()

    def wait_for_death(self) -> int:
        """Until it has killed itself. Returns its exit status."""
        assert self._process is not None
        status = self._process.wait(STOP_WITHIN_S)
        self._close()
        return status

    def stop(self) -> float:
        """SIGTERM. Returns how many seconds it took."""
        if self._process is None or self._process.poll() is not None:
            return 0.0
        began = time.monotonic()
        self._process.send_signal(signal.SIGTERM)
        try:
            status = self._process.wait(STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        self._close()
        assert status == 0, self.log.read_text("utf-8")
        return time.monotonic() - began

    def _close(self) -> None:
        assert self._process is not None
        self._process.wait(STOP_WITHIN_S)
        if self._process.stdin is not None:
            self._process.stdin.close()

    def leftovers(self) -> list[str]:
        """Loops, mounts in any namespace, control groups and processes that are still there."""
        found = [f"loop {name}" for name in loops_backed_by(self.state)]
        own = self.state / "node-id"
        node = own.read_text("ascii") if own.exists() else "never-started"
        found += [f"control group {path}" for path in Path("/sys/fs/cgroup").rglob(f"*{node}*")]
        for process in Path("/proc").glob("[0-9]*"):
            try:
                mounts = (process / "mountinfo").read_text("utf-8", "replace")
                if str(self.run) in mounts or f"sandboxd-{node}" in mounts:
                    found.append(f"mounts in the namespace of {process.name}")
                words = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if str(self.run).encode() in words and int(process.name) != os.getpid():
                found.append(f"process {process.name}")
        return found
