"""All child processes of the daemon, so that each is reaped exactly once.

The daemon is a subreaper: what the OCI runtime leaves behind becomes its child. Children that
somebody waits for are owned; the rest are strays and are reaped by `sweep`. A sweep runs only
while nothing is being started, because a new child has no owner for an instant.
"""

import contextlib
import os
import select
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sandboxd.faults import Misconfigured, OutcomeUnknown

_LAST_LINES = 3
_SWEEP_EVERY_MS = 20
_PF_EXITING = 0x4
_FLAGS_FIELD = 6
"""The kernel's flags of a process, counted from its state; see /proc/pid/stat in proc(5)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A short program of the node that ended: exit status (negative: signal) and its output."""

    status: int
    stdout: bytes
    stderr: bytes

    @property
    def last_words(self) -> tuple[str, ...]:
        """The end of its stderr, for an error message."""
        lines = self.stderr.decode("utf-8", "replace").strip().splitlines()
        return tuple(lines[-_LAST_LINES:])


class Children:
    """The children of this process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._starting = 0
        self._owned: set[int] = set()

    @contextlib.contextmanager
    def starting(self) -> Iterator[None]:
        """Around anything that makes children, until they are reaped or owned."""
        with self._lock:
            self._starting += 1
        try:
            yield
        finally:
            with self._lock:
                self._starting -= 1
            self.sweep()

    def own(self, pid: int) -> None:
        """The caller will `reap` this child; call it inside `starting`."""
        with self._lock:
            self._owned.add(pid)

    def reap(self, pid: int) -> int:
        """Waits for an owned child. Returns its exit code, or minus the signal that ended it.

        The init of a container ends only when every process of its namespace was reaped, also a
        stray that a command which could not start has left to us: so sweep while waiting.
        """
        try:
            watch = os.pidfd_open(pid)
            try:
                poller = select.poll()
                poller.register(watch, select.POLLIN)
                while not poller.poll(_SWEEP_EVERY_MS):
                    self.sweep()
                    self._sweep_behind_owned()
            finally:
                os.close(watch)
            _, status = os.waitpid(pid, 0)
            return os.waitstatus_to_exitcode(status)
        finally:
            with self._lock:
                self._owned.discard(pid)

    def reap_within(self, pid: int, within_s: float) -> int | None:
        """As `reap`, but a child that takes longer is killed; then None."""
        watch = os.pidfd_open(pid)
        try:
            poller = select.poll()
            poller.register(watch, select.POLLIN)
            has_ended = bool(poller.poll(within_s * 1000))
        finally:
            os.close(watch)
        if not has_ended:
            kill_quietly(pid)
        status = self.reap(pid)
        return status if has_ended else None

    def sweep(self) -> None:
        """Reaps children that nobody owns."""
        with self._lock:
            while self._starting == 0:
                try:
                    found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                except ChildProcessError:
                    return
                if found is None or found.si_pid in self._owned:
                    return
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(found.si_pid, os.WNOHANG)

    def _sweep_behind_owned(self) -> None:
        """The kernel shows the first child that ended; an owned one hides the strays behind it."""
        strays = set(_children_of(os.getpid()))
        with self._lock:
            if self._starting == 0:
                for pid in strays - self._owned:
                    with contextlib.suppress(ChildProcessError):
                        os.waitpid(pid, os.WNOHANG)

    def run(
        self,
        argv: Sequence[str],
        *,
        within_s: float,
        stdin: bytes = b"",
        pass_fds: tuple[int, ...] = (),
    ) -> Finished:
        """Runs a short program of the node to its end.

        Raises: Misconfigured when it is not installed, OutcomeUnknown when it had to be killed.
        """
        with self.starting():
            try:
                done = subprocess.run(
                    list(argv),
                    input=stdin,
                    capture_output=True,
                    check=False,
                    timeout=within_s,
                    pass_fds=pass_fds,
                )
            except FileNotFoundError as error:
                raise Misconfigured(
                    f"{argv[0]} is not installed", remedy="install it, then run sandboxd doctor"
                ) from error
            except subprocess.TimeoutExpired as error:
                raise OutcomeUnknown(f"{argv[0]} did not end within {within_s:.0f} s") from error
        return Finished(status=done.returncode, stdout=done.stdout, stderr=done.stderr)


def _children_of(parent: int) -> Iterator[int]:
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            text = (process / "stat").read_text("ascii", "replace")
            if int(text.rpartition(")")[2].split()[1]) == parent:
                yield int(process.name)


CHILDREN = Children()
"""Children belong to the process, so there is one."""


def is_ending(pid: int) -> bool:
    """Whether a process is dead, dying, or about to be told by SIGKILL.

    Between the signal and the end of the process there is a moment in which it still looks alive;
    the init of a container has to end all others of its namespace first.
    """
    process = Path("/proc", str(pid))
    try:
        status = (process / "status").read_text("ascii", "replace")
        fields = (process / "stat").read_text("ascii", "replace").rpartition(")")[2].split()
    except OSError:
        return True
    pending = (
        int(line.split()[1], 16)
        for line in status.splitlines()
        if line.startswith(("SigPnd:", "ShdPnd:"))
    )
    is_told = any(bits >> (signal.SIGKILL - 1) & 1 for bits in pending)
    return fields[0] in "ZX" or bool(int(fields[_FLAGS_FIELD]) & _PF_EXITING) or is_told


def kill_quietly(pid: int) -> None:
    """SIGKILL; no error if it is gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
