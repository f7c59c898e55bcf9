"""Where one run of the demo keeps its files, held so that no other run touches them.

The demo's command line takes a `HeldState` before anything is written; the lock goes on to the
processes of the demo, so that it lasts as long as any of them, also after a kill -9 of the demo.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from perlica.app.demo.conditions import DemoCannotStart
from perlica.app.demo.layout import DemoPaths

PAGE_PORT: Final = 8765
"""Port of the chat page that the demo has without a word about it."""
SCRIPT_RUNS: Final = Path("build/demo")
_KEPT: Final = "demo-state"
_LOCK: Final = "lock"
_PREFIX: Final = "run-"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldState:
    """A state directory that is ours until `lock` is closed by the last process that has it."""

    paths: DemoPaths
    lock: int


def kept_state(port: int) -> Path:
    """The state of the demo whose chat page has this port: two demos never share one."""
    return Path(_KEPT if port == PAGE_PORT else f"{_KEPT}-{port}")


@contextmanager
def hold(root: Path) -> Iterator[HeldState]:
    """The state at `root`, made if it is not there, until the block ends.

    Raises: DemoCannotStart while another demo runs there.
    """
    is_new = not root.exists()
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = _take_lock(root)
    if lock is None:
        if is_new:
            root.rmdir()
        raise DemoCannotStart(
            f"another demo runs with its files in {root}; end that one first, or give this one"
            ' ports of its own: make demo ARGS="--port 8766 --console-port 8451"'
        )
    try:
        yield HeldState(paths=DemoPaths(root=root.absolute()), lock=lock)
    finally:
        os.close(lock)


@contextmanager
def hold_new(runs: Path = SCRIPT_RUNS) -> Iterator[HeldState]:
    """A state of its own below `runs`; deleted when the block ends well, kept when it fails.

    What earlier runs left behind (they failed, or were killed) is deleted first, but nothing that
    some process still holds.
    """
    runs.mkdir(mode=0o700, parents=True, exist_ok=True)
    for left in sorted(runs.glob(f"{_PREFIX}*")):
        _discard_abandoned(left)
    root = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=runs))
    with hold(root) as state:
        yield state
        _delete(state.paths)


def _discard_abandoned(root: Path) -> None:
    lock = _take_lock(root) if root.is_dir() else None
    if lock is None:
        return
    try:
        _delete(DemoPaths(root=root.absolute()))
    finally:
        os.close(lock)


def _delete(paths: DemoPaths) -> None:
    """The state, and the run directory that belongs to this state alone."""
    shutil.rmtree(paths.sandboxd_run, ignore_errors=True)
    shutil.rmtree(paths.root, ignore_errors=True)


def _take_lock(root: Path) -> int | None:
    """The lock as a descriptor, None while somebody else has it."""
    try:
        descriptor = os.open(root / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:
        return None  # deleted by another run a moment ago
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
