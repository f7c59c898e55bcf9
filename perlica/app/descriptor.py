"""Opens a file once, so that what is judged and what is read are the same file.

For the configuration and for secrets: a path could be exchanged between a look and a read, and a
FIFO must not hang the start.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """A descriptor of whatever lies at the path, closed at the end. Raises: OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def read_at_most(descriptor: int, limit_bytes: int) -> bytes:
    """The beginning of a file: one byte more than the limit tells that it is larger."""
    pieces = []
    left = limit_bytes + 1
    while left > 0 and (piece := os.read(descriptor, left)):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)
