"""Keeps the beginning and the end of a stream of any length, and counts all of it.

The middle of a long output is what a reader misses least; the end usually holds the error. Beyond
both ends a margin is kept: who looks for credentials in the output has to see what a cut divides.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Room:
    """How much of a stream is kept: the limit, and a margin at each side of what is left out."""

    limit_bytes: int
    margin_bytes: int = 0


class Capture:
    """Takes chunks, keeps as many as there is room for, and shows each to `observe`."""

    def __init__(self, room: Room, observe: Callable[[bytes], None] | None = None) -> None:
        half = room.limit_bytes // 2
        self._observe = observe
        self._head_room = half + room.margin_bytes
        self._tail_room = room.limit_bytes - half + room.margin_bytes
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self.total_bytes = 0

    def take(self, chunk: bytes) -> None:
        """Adds a chunk; forgets what lies between head and tail."""
        self.total_bytes += len(chunk)
        if self._observe is not None:
            self._observe(chunk)
        room = self._head_room - len(self._head)
        self._head += chunk[:room]
        rest = chunk[room:]
        if not rest:
            return
        self._tail.append(rest)
        self._tail_bytes += len(rest)
        while self._tail_bytes - len(self._tail[0]) >= self._tail_room:
            self._tail_bytes -= len(self._tail.popleft())

    def silence(self) -> None:
        """From here on nobody is shown what comes; it is kept and counted as before."""
        self._observe = None

    @property
    def is_truncated(self) -> bool:
        """Whether something between head and tail is gone."""
        return self.total_bytes > self._head_room + self._tail_room

    @property
    def head_bytes(self) -> int:
        """How much of what is kept stands in front of what is gone; all of it where nothing is."""
        return self._head_room if self.is_truncated else self.total_bytes

    def kept(self) -> bytes:
        """Head and tail, one behind the other."""
        tail = b"".join(self._tail)
        return bytes(self._head) + (tail[-self._tail_room :] if self.is_truncated else tail)
