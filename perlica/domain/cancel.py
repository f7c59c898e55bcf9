"""A cancel flag that wakes blocking work: the coordinator sets it, clients register how to stop.

It is a flag and not an inbox message because the one who must hear it is busy.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from perlica.domain.errors import Cancelled


class CancelToken:
    """Set once; callbacks registered before or after run exactly once, in threads of their own."""

    def __init__(self) -> None:
        """Start unset."""
        self._lock = threading.Lock()
        self._event = threading.Event()
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._next = 0
        self._is_leaving = False

    @property
    def is_set(self) -> bool:
        """Whether the waiting is to end, by a cancel or because the process ends."""
        return self._event.is_set()

    @property
    def is_leaving(self) -> bool:
        """Whether only the waiting ends: what runs outside goes on, the next process finds it."""
        return self._is_leaving

    def wait(self, within_s: float) -> bool:
        """Wait until it is set, at most `within_s` seconds; whether it is set."""
        return self._event.wait(within_s)

    def check(self) -> None:
        """Raise `Cancelled` when it is set."""
        if self.is_set:
            raise Cancelled("cancelled", "the task was cancelled")

    def set(self) -> None:
        """Ask everybody to stop; returns at once, each callback runs in its own thread."""
        self._set(is_leaving=False)

    def leave(self) -> None:
        """Ask everybody to stop waiting and to leave what runs outside as it is."""
        self._set(is_leaving=True)

    def _set(self, *, is_leaving: bool) -> None:
        with self._lock:
            if self._event.is_set():
                return
            self._is_leaving = is_leaving
            self._event.set()
            callbacks = list(self._callbacks.values())
            self._callbacks.clear()
        for callback in callbacks:
            threading.Thread(target=callback, name="perlica-cancel", daemon=True).start()

    @contextmanager
    def on_cancel(self, callback: Callable[[], None]) -> Iterator[None]:
        """Run `callback` if the token is set while the block runs, at once if it is set."""
        with self._lock:
            key = self._next
            self._next += 1
            already = self._event.is_set()
            if not already:
                self._callbacks[key] = callback
        if already:
            threading.Thread(target=callback, name="perlica-cancel", daemon=True).start()
        try:
            yield
        finally:
            with self._lock:
                self._callbacks.pop(key, None)


def wait_for(reply: "Future[Any]", cancel: CancelToken, within_s: float) -> None:
    """Wait until there is a reply, the token is set or the time is over, whichever is first."""
    ended = threading.Event()
    reply.add_done_callback(lambda _: ended.set())
    with cancel.on_cancel(ended.set):
        ended.wait(within_s)
