"""One look at the machine: mounts, loop devices, namespaces, cgroups, processes, /dev/null.

Reads only files of the kernel; needs no program and no privilege beyond seeing them.
"""

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

# Set by .ci/run in its own environment; every process it starts inherits it.
MARK = "PERLICA_RUN"
_NULL = Path("/dev/null")
_CGROUP_DEPTH = 5


def take_snapshot(mark: str) -> dict[str, list[str]]:
    """Return each kind of thing with what there is of it now; `mark` tells our processes."""
    return {
        "mounts": sorted(_mounts()),
        "loop devices": sorted(_loop_devices()),
        "network namespaces": sorted(_names_in(Path("/run/netns"))),
        "cgroups": sorted(_cgroups()),
        "temporary files": sorted(_names_in(Path(tempfile.gettempdir()), "perlica", "sandboxd")),
        "processes": sorted(_processes(mark)),
    }


def null_device_fault() -> str:
    """Return what is wrong with /dev/null, or an empty text."""
    status = _NULL.stat()
    if not stat.S_ISCHR(status.st_mode):
        return "/dev/null is no character device any more"
    numbers = (os.major(status.st_rdev), os.minor(status.st_rdev))
    if numbers != (1, 3):
        return f"/dev/null is character device {numbers[0]}:{numbers[1]}, not 1:3"
    if stat.S_IMODE(status.st_mode) != 0o666 or status.st_uid != 0:
        return f"/dev/null has mode {stat.S_IMODE(status.st_mode):o} and owner {status.st_uid}"
    return ""


def _mounts() -> Iterator[str]:
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        left, _, right = line.partition(" - ")
        yield f"{left.split()[4]} ({right.split()[0]})"


def _loop_devices() -> Iterator[str]:
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            yield f"{backing.parts[3]} on {backing.read_text(encoding='utf-8').strip()}"
        except OSError:
            continue  # detached while we looked


def _names_in(folder: Path, *prefixes: str) -> list[str]:
    try:
        names = [entry.name for entry in folder.iterdir()]
    except FileNotFoundError:
        return []
    return [name for name in names if name.startswith(prefixes or "")]


def _cgroups() -> Iterator[str]:
    root = Path("/sys/fs/cgroup")
    for folder, subfolders, _ in os.walk(root):
        path = Path(folder)
        if len(path.relative_to(root).parts) >= _CGROUP_DEPTH:
            subfolders.clear()
        for name in list(subfolders):
            if name.startswith(("perlica", "sandboxd")):
                yield str(path / name)
                subfolders.remove(name)


def _processes(mark: str) -> Iterator[str]:
    """Processes that inherited the mark, and whatever runs in a cgroup of ours."""
    wanted = f"{MARK}={mark}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        if int(folder.name) in {os.getpid(), os.getppid()}:
            continue
        try:
            marked = wanted in (folder / "environ").read_bytes().split(b"\0")
            command = (
                (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            )
            inside = "/perlica" in (folder / "cgroup").read_text(encoding="utf-8")
        except OSError:
            continue  # ended while we looked, or not ours to see
        if (marked or inside) and command:
            yield f"{folder.name}: {command.strip()[:160]}"
