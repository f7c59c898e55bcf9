"""One command in a running sandbox, from its start to its outcome.

A single loop feeds stdin, drains stdout and stderr, and watches for the end, the deadline and a
cancellation. After the command itself has ended, processes that it left in the background may hold
its pipes; what they say within a moment still belongs to it, the rest is drained (see drain.py).
"""

import contextlib
import fcntl
import os
import selectors
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Self

from sandboxd.execution.capture import Capture, Room
from sandboxd.execution.drain import DRAIN
from sandboxd.kernel.children import CHILDREN, kill_quietly
from sandboxd.runtime.container import FailedToStart, Stdio
from sandboxd.wire import Ending, StreamName

Observe = Callable[[StreamName, bytes], None]
"""Sees each chunk of stdout and stderr as it comes; must not block."""

_CHUNK_BYTES = 256 * 1024
_PIPE_BYTES = 1024 * 1024
_FLOOD_BYTES = 1024 * 1024
_FLOOD_PAUSE_S = 0.002
_LINGER_S = 0.2
_END_WITHIN_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command ended. `status`: exit code, or minus the signal; None if it never started.

    `out_of_memory`: the kernel killed something in the sandbox for its memory limit meanwhile.
    """

    ending: Ending
    status: int | None
    stdout: Capture
    stderr: Capture
    duration_ms: int
    out_of_memory: bool = False


class Command:
    """A command that runs, or is about to. `cancel` may be called from any thread."""

    def __init__(self) -> None:
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._cancelled = False
        self._pid: int | None = None
        self.ended = threading.Event()

    @property
    def pid(self) -> int | None:
        """Process id on the node while it runs."""
        return self._pid

    @property
    def is_cancelled(self) -> bool:
        """Whether somebody asked it to end."""
        return self._cancelled

    def cancel(self) -> None:
        """Asks the command to end; `ended` tells when it has."""
        self._cancelled = True
        with contextlib.suppress(OSError):
            os.eventfd_write(self._wake, 1)

    def close(self) -> None:
        """After the outcome is recorded."""
        self.ended.set()
        os.close(self._wake)
        self._wake = -1

    def run(
        self,
        *,
        start: Callable[[Stdio], int],
        explain: Callable[[FailedToStart], str],
        end: Callable[[], None],
        stdin: bytes,
        timeout_s: float,
        room: Room,
        observe: Observe | None = None,
        memory_kills: Callable[[], int] = lambda: 0,
    ) -> Ended:
        """Runs the command to its end. `start` starts it, `explain` says why that failed; `end`
        kills all that belongs to it.

        `memory_kills` counts what the kernel has killed in the sandbox for its memory limit.
        """
        began, kills = time.monotonic(), memory_kills()
        stdout, stderr = (
            Capture(room, observe and partial(observe, stream)) for stream in ("stdout", "stderr")
        )

        def outcome(ending: Ending, status: int | None) -> Ended:
            passed_ms = round((time.monotonic() - began) * 1000)
            return Ended(
                ending=ending,
                status=status,
                stdout=stdout,
                stderr=stderr,
                duration_ms=passed_ms,
                out_of_memory=memory_kills() > kills,
            )

        if self._cancelled:
            return outcome("cancelled", None)
        with _Streams(stdin, stdout, stderr) as streams:
            try:
                self._pid = start(streams.inner)
            except FailedToStart as failure:
                streams.close_inner()
                stderr.silence()  # What comes are the runtime's words, not the command's.
                streams.drain(until=time.monotonic() + _LINGER_S)
                stderr.take(explain(failure).encode("utf-8", "surrogateescape"))
                return outcome("failed_to_start", None)
            streams.close_inner()
            ending, status = self._attend(streams, began + timeout_s, end)
        return outcome(ending, status)

    def _attend(
        self, streams: "_Streams", deadline: float, end: Callable[[], None]
    ) -> tuple[Ending, int]:
        pid = self._pid
        assert pid is not None  # noqa: S101 (set by run before)
        ending: Ending = "exited"
        exited = os.pidfd_open(pid)
        try:
            if not streams.attend(exited, self._wake, deadline):
                ending = "cancelled" if self._cancelled else "timed_out"
                end()
                kill_quietly(pid)
                streams.attend(exited, None, time.monotonic() + _END_WITHIN_S)
            streams.drain(until=time.monotonic() + _LINGER_S)
        finally:
            os.close(exited)
            status = CHILDREN.reap(pid)
            self._pid = None
        if ending == "exited" and status < 0:
            ending = "signalled"
        return ending, status


class _Streams:
    """The three pipes of a command, seen from outside."""

    def __init__(self, stdin: bytes, stdout: Capture, stderr: Capture) -> None:
        self._left = memoryview(stdin)
        self._captures: dict[int, Capture] = {}
        self._selector = selectors.DefaultSelector()
        inner_in, self._feed = os.pipe2(os.O_CLOEXEC)
        out, inner_out = os.pipe2(os.O_CLOEXEC)
        err, inner_err = os.pipe2(os.O_CLOEXEC)
        self.inner = Stdio(stdin=inner_in, stdout=inner_out, stderr=inner_err)
        self._captures = {out: stdout, err: stderr}
        for descriptor in self._captures:
            os.set_blocking(descriptor, False)
            with contextlib.suppress(PermissionError):  # Beyond the user's pipe quota.
                fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
            self._selector.register(descriptor, selectors.EVENT_READ)
        os.set_blocking(self._feed, False)
        self._selector.register(self._feed, selectors.EVENT_WRITE)
        self._feed_some()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_inner()
        for descriptor in self._captures:
            self._selector.unregister(descriptor)
            DRAIN.take(descriptor)
        self._captures = {}
        self._close_feed()
        self._selector.close()

    def close_inner(self) -> None:
        """Our copies of the command's ends; until then the pipes would never report an end."""
        if self.inner.stdin >= 0:
            for descriptor in {self.inner.stdin, self.inner.stdout, self.inner.stderr}:
                os.close(descriptor)
            self.inner = Stdio(stdin=-1, stdout=-1, stderr=-1)

    def attend(self, exited: int, wake: int | None, deadline: float) -> bool:
        """Moves bytes until the process has exited (True), or woken or out of time (False)."""
        watched = [exited] if wake is None else [exited, wake]
        for descriptor in watched:
            self._selector.register(descriptor, selectors.EVENT_READ)
        try:
            while True:
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                ready = self._move(left)
                if exited in ready:
                    return True
                if wake in ready:
                    return False
        finally:
            for descriptor in watched:
                self._selector.unregister(descriptor)

    def drain(self, *, until: float) -> None:
        """Reads what is still in the pipes, until both are closed or the time is over."""
        self._close_feed()
        while self._captures and (left := until - time.monotonic()) > 0:
            self._move(left)

    def _move(self, within_s: float) -> set[int]:
        ready = {key.fd for key, _ in self._selector.select(within_s)}
        if self._feed in ready:
            self._feed_some()
        for descriptor in ready & self._captures.keys():
            self._take_some(descriptor)
        return ready

    def _take_some(self, descriptor: int) -> None:
        chunk = os.read(descriptor, _CHUNK_BYTES)
        if not chunk:
            self._close(descriptor)
            return
        capture = self._captures[descriptor]
        capture.take(chunk)
        if capture.total_bytes > _FLOOD_BYTES and len(chunk) < _CHUNK_BYTES:
            # A flood of small writes would wake this thread for each of them and keep the whole
            # daemon busy; a pause lets the pipe fill.
            time.sleep(_FLOOD_PAUSE_S)

    def _feed_some(self) -> None:
        try:
            while self._left:
                self._left = self._left[os.write(self._feed, self._left[:_CHUNK_BYTES]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            pass  # The command does not want the rest.
        self._close_feed()

    def _close_feed(self) -> None:
        if self._feed >= 0:
            self._selector.unregister(self._feed)
            os.close(self._feed)
            self._feed = -1

    def _close(self, descriptor: int) -> None:
        self._selector.unregister(descriptor)
        os.close(descriptor)
        del self._captures[descriptor]
