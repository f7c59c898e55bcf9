"""Reads what is still written to a command's pipes after the command itself has ended.

A server that was left in the background keeps its stdout: without a reader its next line would end
it (SIGPIPE), with one that does not read it would stand still. What it says is nobody's any more.
"""

import contextlib
import os
import select
import threading
import time
from typing import Final

_CHUNK_BYTES: Final = 1024 * 1024
_PAUSE_S: Final = 0.02
"""Between two looks, so that a flood costs the daemon little; its pipe fills meanwhile."""
_MAX_PIPES: Final = 2048
_AT_ONCE: Final = 64


class Drain:
    """Thread-safe. Its thread begins with the first pipe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._epoll: select.epoll | None = None
        self._pipes: set[int] = set()

    def take(self, pipe: int) -> None:
        """Takes over a non-blocking read end, which is closed when its last writer is gone."""
        with self._lock:
            if len(self._pipes) >= _MAX_PIPES:
                os.close(pipe)
                return
            self._pipes.add(pipe)
            if self._epoll is None:
                self._epoll = select.epoll()
                threading.Thread(
                    target=self._run, args=(self._epoll,), name="drain", daemon=True
                ).start()
            self._epoll.register(pipe, select.EPOLLIN)

    def _run(self, epoll: select.epoll) -> None:
        while True:
            for pipe, _ in epoll.poll(maxevents=_AT_ONCE):
                self._read(epoll, pipe)
            time.sleep(_PAUSE_S)

    def _read(self, epoll: select.epoll, pipe: int) -> None:
        with contextlib.suppress(BlockingIOError):
            if os.read(pipe, _CHUNK_BYTES):
                return
            with self._lock:
                epoll.unregister(pipe)
                self._pipes.discard(pipe)
                os.close(pipe)

    @property
    def pipes(self) -> int:
        """How many are held open."""
        return len(self._pipes)


DRAIN: Final = Drain()
"""One for the daemon, as its threads are."""
