"""The machine before and after: the gate must leave it as it found it.

Only what the gate itself could have left is judged; other programs work on the same machine.
"""

import contextlib
import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gate.lines import Check, Line, require, try_check

_NULL = Path("/dev/null")
_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 (the tmpfs of the node)
_NULL_NUMBER = (1, 3)
_PARTS = {
    "mkfs.xfs": "xfsprogs",
    "xfs_repair": "xfsprogs",
    "mksquashfs": "squashfs-tools",
    "cc": "gcc libc6-dev",
    "/bin/busybox": "busybox-static",
}


def missing_parts() -> list[str]:
    """What has to be there before anything can be tried, each with its remedy."""
    missing = [
        f"{part} (apt install {package})"
        for part, package in _PARTS.items()
        if shutil.which(part) is None
    ]
    return missing if os.geteuid() == 0 else ["root (run it with sudo)", *missing]


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What was there at the start: mounts and loop devices of this process's view."""

    mounts: frozenset[str]
    loops: frozenset[str]

    def lines(self, word: str) -> Iterator[Line]:
        """Two claims about the machine after the run; what carries `word` is the gate's own."""
        checks: tuple[Check[Machine], ...] = (
            Check(
                key="machine.leftovers",
                claim="the gate leaves no mount, loop device or directory",
                run=lambda before: _compare(before, word),
            ),
            Check(
                key="machine.null-device",
                claim="/dev/null is still the null device",
                run=lambda _: _look_at_null(),
            ),
        )
        for check in checks:
            yield from try_check(check, self)


def look_at_machine() -> Machine:
    """What is there now."""
    return Machine(mounts=frozenset(_mounts()), loops=frozenset(_loops()))


def _mounts() -> Iterator[str]:
    text = Path("/proc/self/mountinfo").read_text("utf-8", "replace")
    for line in text.splitlines():
        yield line.split(" ")[4]


def _loops() -> Iterator[str]:
    for device in Path("/sys/block").glob("loop*"):
        with contextlib.suppress(OSError):
            yield (device / "loop" / "backing_file").read_text("utf-8").strip()


def _compare(before: Machine, word: str) -> str:
    now = look_at_machine()
    left = sorted({*now.mounts - before.mounts, *now.loops - before.loops})
    own = [path for path in left if word in path]
    own += [str(path) for path in _SHARED_MEMORY.glob(f"{word}*")]
    require(not own, f"left behind: {own}")
    return "none"


def _look_at_null() -> str:
    found = _NULL.stat()
    number = (os.major(found.st_rdev), os.minor(found.st_rdev))
    mode = stat.S_IMODE(found.st_mode)
    require(stat.S_ISCHR(found.st_mode) and number == _NULL_NUMBER, f"it is {number}")
    require(mode == 0o666 and found.st_uid == 0, f"mode {mode:o}, owner {found.st_uid}")
    return "character device 1:3, mode 666, owner root"
