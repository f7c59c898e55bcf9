"""Outputs of commands until the caller has taken them: on a tmpfs, never on a disk.

After that, after eviction, or when the tmpfs is gone, an output is lost and the daemon says so.
"""

import contextlib
import logging
import os
import threading
from pathlib import Path

_log = logging.getLogger(__name__)


class Outputs:
    """Two streams for each operation, all together at most `limit_bytes`. Thread-safe."""

    def __init__(self, directory: Path, *, limit_bytes: int) -> None:
        self._directory = directory
        self._limit_bytes = limit_bytes
        self._lock = threading.Lock()
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        files = sorted(directory.iterdir(), key=lambda file: file.stat().st_mtime_ns)
        self._sizes = {file.name: file.stat().st_size for file in files}

    def put(self, operation: str, stdout: bytes, stderr: bytes) -> None:
        """Keeps both streams; the oldest outputs make room."""
        size = len(stdout) + len(stderr)
        if size == 0:
            return
        with self._lock:
            while self._sizes and sum(self._sizes.values()) + size > self._limit_bytes:
                self._remove(next(iter(self._sizes)))
            try:
                self._write(operation, stdout, stderr)
                self._sizes[operation] = size
            except OSError as error:
                _log.warning("the output of %s is not kept: %s", operation, error.strerror)
                self._remove(operation)

    def _write(self, operation: str, stdout: bytes, stderr: bytes) -> None:
        path = self._directory / operation
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(len(stdout).to_bytes(8, "big") + stdout + stderr)

    def get(self, operation: str) -> tuple[bytes, bytes] | None:
        """Both streams, or None when they are not kept."""
        with self._lock, contextlib.suppress(FileNotFoundError):
            raw = (self._directory / operation).read_bytes()
            split = 8 + int.from_bytes(raw[:8], "big")
            return raw[8:split], raw[split:]
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
        (self._directory / operation).unlink(missing_ok=True)
