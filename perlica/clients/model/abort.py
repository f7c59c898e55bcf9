"""What may end one attempt from outside: a cancel or a deadline, both by shutting its socket down.

`requests` offers nothing to close before headers came, and closing a response does not wake a
reader (docs/facts/models.md). So `perlica.clients.model.transport` hands each socket over here
before it is even connected, and whoever wants the attempt to end calls `Abort.cut`.
"""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from typing import Protocol

from perlica.domain.cancel import CancelToken
from perlica.domain.clock import monotonic_s


class Cut(StrEnum):
    """Who cut: the canceller, or the deadline that passed."""

    cancelled = "cancelled"
    connect = "connect"
    first_token = "first_token"  # noqa: S105 - a name of a deadline
    between_tokens = "between_tokens"
    attempt = "attempt"
    total = "total"


class IdleConnection(Protocol):
    """The connection that serves an attempt; it remembers since when nobody uses it."""

    sock: socket.socket | None
    idle_since_s: float | None


class Abort:
    """One attempt's socket, its current deadline, and whether it was cut.

    The socket is held by a descriptor of our own: it stays valid while `http.client` and TLS pass
    theirs on, and shutting it down acts on the socket itself.
    """

    def __init__(self, *, reuse_idle_s: float, due: tuple[Cut, float]) -> None:
        """`due` bounds the whole attempt: which deadline it is, and when it passes (monotonic)."""
        self.reuse_idle_s = reuse_idle_s
        self.connection: IdleConnection | None = None
        self.is_reused = False
        self._changed = threading.Condition()
        self._last = due
        self._phase = due
        self._sleeps_until = 0.0
        self._cut: Cut | None = None
        self._is_over = False
        self._handle: socket.socket | None = None
        self._on_cut: Callable[[], None] | None = None

    @property
    def was_cut(self) -> Cut | None:
        """Who cut it, or None while it lives."""
        return self._cut

    def cut(self, why: Cut) -> None:
        """End the attempt: whatever waits on its socket wakes. The first reason stays."""
        with self._changed:
            if self._cut is not None or self._is_over:
                return
            self._cut = why
            self._changed.notify()
            self._shut_down()
            if self._on_cut is not None:
                self._on_cut()

    def hold(self, sock: socket.socket) -> None:
        """Take `sock` as the one to shut down; at once if the attempt was cut already."""
        handle = socket.socket(sock.family, sock.type, sock.proto, os.dup(sock.fileno()))
        with self._changed:
            self._let_go()
            self._handle = handle
            if self._cut is not None:
                self._shut_down()

    @contextmanager
    def on_cut(self, callback: Callable[[], None]) -> Iterator[None]:
        """Call `callback` (which must not block) if the attempt is cut while the block runs."""
        with self._changed:
            self._on_cut = callback
            if self._cut is not None:
                callback()
        try:
            yield
        finally:
            with self._changed:
                self._on_cut = None

    def limit(self, what: Cut, within_s: float) -> None:
        """Replace the current phase's deadline; the attempt's own stays."""
        self._enter((what, monotonic_s() + within_s))

    @contextmanager
    def within(self, what: Cut, within_s: float) -> Iterator[None]:
        """Put another deadline in the current phase's place while the block runs."""
        before = self._phase
        self.limit(what, within_s)
        try:
            yield
        finally:
            self._enter(before)

    def _enter(self, phase: tuple[Cut, float]) -> None:
        with self._changed:
            self._phase = phase
            if phase[1] < self._sleeps_until:
                self._changed.notify()

    @contextmanager
    def guard(self, cancel: CancelToken) -> Iterator[None]:
        """Watch the deadlines and the token while the block runs, then let the socket go."""
        watch = threading.Thread(target=self._watch, name="perlica-model-watch", daemon=True)
        watch.start()
        try:
            with cancel.on_cancel(lambda: self.cut(Cut.cancelled)):
                yield
        finally:
            with self._changed:
                self._is_over = True
                self._let_go()
                self._changed.notify()
            watch.join()

    def _watch(self) -> None:
        while True:
            with self._changed:
                if self._is_over or self._cut is not None:
                    return
                why, due_s = min(self._phase, self._last, key=lambda due: due[1])
                left_s = due_s - monotonic_s()
                if left_s > 0:
                    self._sleeps_until = due_s
                    self._changed.wait(left_s)
                    continue
            self.cut(why)

    def _shut_down(self) -> None:
        if self._handle is not None:
            with suppress(OSError):
                self._handle.shutdown(socket.SHUT_RDWR)

    def _let_go(self) -> None:
        if self._handle is not None:
            self._handle.close()
            self._handle = None
