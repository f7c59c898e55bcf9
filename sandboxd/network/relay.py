"""Moves bytes between a sandbox and the outside until one side ends or a bound is reached."""

import select
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

_CHUNK_BYTES = 64 * 1024
_HOUR_S = 3600.0
_GIVES_WAY_S = 5.0
_LOOK_EVERY_S = 1.0
End = Literal["made room", "closed", "upload cap", "download cap", "time", "silence", "lost"]


class UploadBudget:
    """What all connections of one sandbox may send within an hour. Thread-safe."""

    def __init__(self, bytes_per_hour: int) -> None:
        self._bytes_per_hour = bytes_per_hour
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self._spent = 0

    def spend(self, size: int) -> bool:
        """False when there is not that much left."""
        with self._lock:
            if time.monotonic() - self._began > _HOUR_S:
                self._began, self._spent = time.monotonic(), 0
            if self._spent + size > self._bytes_per_hour:
                return False
            self._spent += size
            return True


@dataclass(slots=True, kw_only=True)
class Account:
    """What one connection has moved, and what it may."""

    upload_left: int
    download_left: int
    budget: UploadBudget
    uploaded: int = 0
    downloaded: int = 0

    def upload(self, size: int) -> bool:
        """Counts bytes on their way out. False when they must not go."""
        if size > self.upload_left or not self.budget.spend(size):
            return False
        self.upload_left -= size
        self.uploaded += size
        return True

    def download(self, size: int) -> bool:
        """Counts bytes on their way in."""
        self.download_left -= size
        self.downloaded += size
        return self.download_left >= 0


@dataclass(slots=True, kw_only=True)
class _Way:
    """One direction: what was read and not yet written, and whether the reader has ended."""

    source: socket.socket
    target: socket.socket
    pending: bytes = field(default=b"", repr=False)
    is_over: bool = False

    def move(self, *, can_read: bool, can_write: bool) -> int:
        """Returns how many bytes were read. Raises OSError when a side is lost."""
        taken = 0
        if can_read and not self.pending and not self.is_over:
            self.pending = self.source.recv(_CHUNK_BYTES)
            taken = len(self.pending)
            self.is_over = not taken
            if self.is_over:
                self.target.shutdown(socket.SHUT_WR)
        elif can_write and self.pending:
            self.pending = self.pending[self.target.send(self.pending) :]
        return taken


def relay(
    inner: socket.socket,
    outer: socket.socket,
    account: Account,
    *,
    within_s: float,
    silent_s: float,
    one_way: bool = False,
    is_crowded: Callable[[], bool] = lambda: False,
) -> End:
    """Moves bytes both ways, or with `one_way` only inwards. Returns why it ended.

    A tunnel that was silent for a few seconds makes room while others wait for a place: programs
    keep idle ones for later, and would keep their own further connections out with them.
    """
    up = _Way(source=inner, target=outer, is_over=one_way)
    down = _Way(source=outer, target=inner)
    for side in (inner, outer):
        side.settimeout(0)
    heard_s = time.monotonic()
    deadline = heard_s + within_s
    try:
        while not (down.is_over and not down.pending):
            now_s = time.monotonic()
            left_s, quiet_s = deadline - now_s, now_s - heard_s
            if left_s <= 0:
                return "time"
            if quiet_s >= silent_s:
                return "silence"
            if quiet_s >= _GIVES_WAY_S and is_crowded():
                return "made room"
            ready = _wait(up, down, min(left_s, silent_s - quiet_s, _LOOK_EVERY_S))
            if not ready:
                continue
            heard_s = time.monotonic()
            end = _step(up, down, ready, account)
            if end is not None:
                return end
    except OSError:
        return "lost"
    return "closed"


def _step(up: _Way, down: _Way, ready: dict[int, int], account: Account) -> End | None:
    inner, outer = up.source.fileno(), up.target.fileno()
    readable = select.POLLIN | select.POLLHUP | select.POLLERR
    taken = up.move(
        can_read=bool(ready.get(inner, 0) & readable),
        can_write=bool(ready.get(outer, 0) & select.POLLOUT),
    )
    if taken and not account.upload(taken):
        return "upload cap"
    taken = down.move(
        can_read=bool(ready.get(outer, 0) & readable),
        can_write=bool(ready.get(inner, 0) & select.POLLOUT),
    )
    is_within = account.download(taken)
    return None if is_within else "download cap"


def _wait(up: _Way, down: _Way, within_s: float) -> dict[int, int]:
    """Polls for what each way needs next: room to write what is pending, or bytes to read."""
    wanted: dict[int, int] = {}
    for way in (up, down):
        if way.pending:
            number = way.target.fileno()
            wanted[number] = wanted.get(number, 0) | select.POLLOUT
        elif not way.is_over:
            number = way.source.fileno()
            wanted[number] = wanted.get(number, 0) | select.POLLIN
    poller = select.poll()
    for number, events in wanted.items():
        poller.register(number, events)
    return dict(poller.poll(within_s * 1000))
