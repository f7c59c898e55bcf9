"""Outputs of commands until the caller has taken them: on a tmpfs, never on a disk.

After that, after eviction, or when the tmpfs is gone, an output is lost and the daemon says so.
"""

import contextlib
import logging
import threading
from pathlib import Path

from sandboxd.faults import Fault
from sandboxd.storage import door

_log = logging.getLogger(__name__)
_LENGTH_BYTES = 8


class Outputs:
    """Two streams for each operation, all together at most `limit_bytes`. Thread-safe.

    A tmpfs that takes nothing costs outputs, which are lost then, and never an answer.
    """

    def __init__(self, directory: Path, *, limit_bytes: int) -> None:
        self._directory = directory
        self._limit_bytes = limit_bytes
        self._lock = threading.Lock()
        door.make_directory("run directory", directory)
        files = sorted(directory.iterdir(), key=lambda file: file.stat().st_mtime_ns)
        self._sizes = {file.name: file.stat().st_size for file in files}

    def put(self, operation: str, stdout: bytes, stderr: bytes) -> None:
        """Keeps both streams; the oldest outputs make room."""
        size = len(stdout) + len(stderr)
        if size == 0:
            return
        lengths = (len(stream).to_bytes(_LENGTH_BYTES, "big") for stream in (stdout, stderr))
        with self._lock:
            while self._sizes and sum(self._sizes.values()) + size > self._limit_bytes:
                self._remove(next(iter(self._sizes)))
            try:
                raw = b"".join((*lengths, stdout, stderr))
                door.write_file("output", self._directory / operation, raw)
                self._sizes[operation] = size
            except Fault as fault:
                _log.warning("the output of %s is not kept: %s", operation, fault.message)
                self._remove(operation)

    def get(self, operation: str) -> tuple[bytes, bytes] | None:
        """Both streams, or None when they are not kept, not whole, or cannot be read."""
        with self._lock, contextlib.suppress(OSError):
            raw = (self._directory / operation).read_bytes()
            head, body = raw[: 2 * _LENGTH_BYTES], raw[2 * _LENGTH_BYTES :]
            split = int.from_bytes(head[:_LENGTH_BYTES], "big")
            is_headed = len(head) == 2 * _LENGTH_BYTES
            if is_headed and len(body) == split + int.from_bytes(head[_LENGTH_BYTES:], "big"):
                return body[:split], body[split:]
        return None

    def kept(self) -> tuple[str, ...]:
        """Operations whose outputs are here, the oldest first."""
        with self._lock:
            return tuple(self._sizes)

    def drop(self, operation: str) -> None:
        """Forgets an output."""
        with self._lock:
            self._remove(operation)

    def _remove(self, operation: str) -> None:
        self._sizes.pop(operation, None)
        try:
            door.remove_file("output", self._directory / operation)
        except Fault as fault:
            _log.error("the output of %s is still there: %s", operation, fault.message)
