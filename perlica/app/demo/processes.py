"""The processes of a demo: started with a log, watched, ended by their own pid."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from perlica.domain.clock import monotonic_s

_POLL_S = 0.05
_STOP_WITHIN_S = 20.0


class DemoFailed(Exception):
    """A part of the demo did not do what it should; the text is for the person at the terminal."""


@dataclass(slots=True)
class Process:
    """One child process; `log` gets what it prints, `keeps_open` are descriptors it inherits."""

    name: str
    command: list[str]
    log: Path
    environment: dict[str, str] = field(default_factory=dict)
    keeps_open: tuple[int, ...] = ()
    _child: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Its process id. Raises: DemoFailed when it does not run."""
        if self._child is None:
            raise DemoFailed(f"{self.name} was not started")
        return self._child.pid

    def start(self) -> None:
        """Start it in a session of its own, so that Ctrl-C reaches only us.

        It is told to stop by the kernel when this process dies without having stopped it.
        """
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(
                [*_ending_with_us(), *self.command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=self.keeps_open,
                env={**os.environ, **self.environment},
            )

    def check_alive(self) -> None:
        """Raises: DemoFailed with the end of its log when it has ended."""
        if self._child is not None and self._child.poll() is not None:
            tail = self.log.read_text("utf-8", "replace").splitlines()[-12:]
            lines = "\n  ".join(tail)
            raise DemoFailed(f"{self.name} ended with {self._child.returncode}:\n  {lines}")

    def wait_until(self, is_there: Callable[[], bool], within_s: float, what: str) -> None:
        """Wait for `is_there` while it lives. Raises: DemoFailed."""
        deadline = monotonic_s() + within_s
        while not is_there():
            self.check_alive()
            if monotonic_s() > deadline:
                raise DemoFailed(f"{self.name}: {what} within {within_s:.0f} s")
            time.sleep(_POLL_S)

    def kill(self) -> None:
        """kill -9, as a crash would."""
        if self._child is not None:
            self._child.kill()
            self._child.wait()

    def stop(self) -> int | None:
        """SIGTERM and wait; SIGKILL when it takes too long. The exit code."""
        if self._child is None or self._child.poll() is not None:
            return self._child.returncode if self._child else None
        self._child.send_signal(signal.SIGTERM)
        try:
            return self._child.wait(_STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            return self._child.wait()


def _ending_with_us() -> list[str]:
    """util-linux's setpriv, which sets the signal that a parent's death sends, then execs."""
    setpriv = shutil.which("setpriv")
    return [] if setpriv is None else [setpriv, "--pdeathsig", "TERM", "--"]


def run_once(command: list[str]) -> str:
    """Run a short command of ours; what it printed. Raises: DemoFailed with its words."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DemoFailed(f"{' '.join(command[1:5])} failed:\n  {done.stderr.strip()}")
    return done.stdout.strip()


def python_module(*words: str) -> list[str]:
    """A command line that runs one of our modules with this interpreter."""
    return [sys.executable, "-m", *words]
