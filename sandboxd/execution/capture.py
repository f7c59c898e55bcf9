"""Keeps the beginning and the end of a stream of any length, and counts all of it.

The middle of a long output is what a reader misses least; the end usually holds the error.
"""

from collections import deque
from collections.abc import Callable


class Capture:
    """Takes chunks, keeps at most `limit_bytes` of them, and shows each to `observe`."""

    def __init__(self, limit_bytes: int, observe: Callable[[bytes], None] | None = None) -> None:
        self._observe = observe
        self._head_room = limit_bytes // 2
        self._tail_room = limit_bytes - self._head_room
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

    def kept(self) -> bytes:
        """Head and tail; where something is missing between them a line says how much."""
        tail = b"".join(self._tail)
        if not self.is_truncated:
            return bytes(self._head) + tail
        gone = self.total_bytes - self._head_room - self._tail_room
        marker = f"\n[... {gone} bytes left out ...]\n".encode("ascii")
        return bytes(self._head) + marker + tail[-self._tail_room :]
