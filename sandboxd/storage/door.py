"""The one door through which the daemon changes files of its own: every step has a name.

A disk that is full, without inodes, read-only or broken may fail any of these steps. Each turns its
error into a fault with a remedy; the tests of failing disks fail every one of them by its name, so
whoever adds a write comes through here and proves with it what the daemon answers then.
"""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from sandboxd.kernel.steps import explained

Write = Literal[
    "journal",
    "epoch",
    "journal key",
    "node id",
    "daemon lock",
    "state directory",
    "run directory",
    "sandbox directory",
    "sandbox record",
    "sandbox files",
    "disk image",
    "disk lock",
    "mount point",
    "runtime bundle",
    "output",
    "orphan",
    "image record",
    "image files",
    "image lock",
]
"""What is written."""
Step = Literal["make", "write", "sync", "rename", "sync directory", "remove"]
"""What is done to it."""

OBSERVERS: list[Callable[[Write, Step], None]] = []
"""Called before each step, in its thread; what one raises is as if the disk had said it."""


@contextlib.contextmanager
def step(what: Write, how: Step) -> Iterator[None]:
    """A step that changes a file. Raises: Retryable with the disk's own words and a remedy."""
    with explained(f"{how} {what}"):
        for observer in OBSERVERS:
            observer(what, how)
        yield


def make_directory(what: Write, path: Path, *, mode: int = 0o700) -> None:
    """Makes a directory and those above it, unless it is there."""
    with step(what, "make"):
        path.mkdir(mode=mode, parents=True, exist_ok=True)


def open_lock(what: Write, path: Path) -> int:
    """A descriptor of a lock file, which is made if it is missing."""
    with step(what, "make"):
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def sync_directory(what: Write, path: Path) -> None:
    """Makes the names in a directory durable."""
    with step(what, "sync directory"):
        directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def remove_file(what: Write, path: Path) -> None:
    """Removes a file if it is there."""
    with step(what, "remove"):
        path.unlink(missing_ok=True)


def remove_tree(what: Write, path: Path) -> None:
    """Removes a directory with all that is in it, or a file."""
    with step(what, "remove"):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def write_file(what: Write, path: Path, content: bytes) -> None:
    """Writes a file that need not outlive the machine. Half of one is removed again."""
    with step(what, "make"):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with step(what, "write"):
            _write_all(descriptor, content)
    except BaseException:
        with contextlib.suppress(OSError):
            path.unlink()
        raise
    finally:
        os.close(descriptor)


def write_beside(what: Write, path: Path, content: bytes) -> tuple[Path, int]:
    """A new file beside `path`, durable, and its descriptor, open for appending.

    What was begun is removed again when the disk does not take it.
    """
    fresh = path.with_name(path.name + ".new")
    with step(what, "make"):
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
        descriptor = os.open(fresh, flags, 0o600)
    try:
        with step(what, "write"):
            _write_all(descriptor, content)
        with step(what, "sync"):
            os.fsync(descriptor)
    except BaseException:
        drop_fresh(fresh, descriptor)
        raise
    return fresh, descriptor


def put_in_place(what: Write, fresh: Path, descriptor: int, path: Path) -> None:
    """Gives a file that `write_beside` made the name it is for; without it, it is removed.

    The name is durable only after `sync_directory`.
    """
    try:
        with step(what, "rename"):
            fresh.replace(path)
    except BaseException:
        drop_fresh(fresh, descriptor)
        raise


def drop_fresh(fresh: Path, descriptor: int) -> None:
    """Ends a new file that will not be used; a disk that cannot even remove it keeps it."""
    with contextlib.suppress(OSError):
        os.close(descriptor)
    with contextlib.suppress(OSError):
        fresh.unlink()


def replace_durably(what: Write, path: Path, text: str) -> None:
    """Replaces a small file: new file, fsync, rename, fsync of the directory.

    Raises: Retryable; the old content is in place then, or after a failed last step the new one.
    """
    fresh, descriptor = write_beside(what, path, text.encode("utf-8"))
    put_in_place(what, fresh, descriptor, path)
    os.close(descriptor)
    sync_directory(what, path.parent)


def _write_all(descriptor: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]
