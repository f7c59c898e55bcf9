"""Control groups of the sandboxes: who is in one, freezing, killing, proof that it is gone.

The OCI runtime makes them and sets their limits. The daemon needs three things of its own: to end
one command with all that it started, to end everything in a sandbox, and to find what a killed
daemon left. Version 1, hybrid and version 2 are hidden behind one class.
"""

import contextlib
import errno
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sandboxd.faults import Misconfigured, OutcomeUnknown, Retryable
from sandboxd.kernel.children import kill_quietly
from sandboxd.kernel.mountinfo import read_mounts
from sandboxd.kernel.steps import wait_until

CgroupMode = Literal["hybrid", "v1", "v2"]
ROOT = Path("/sys/fs/cgroup")
UNIFIED = ROOT / "unified"
_FROZEN_WITHIN_S = 0.2
_EMPTY_WITHIN_S = 5.0
_ROUNDS = 50


def cgroup_mode() -> CgroupMode:
    """What is mounted under /sys/fs/cgroup. Raises: Misconfigured when nothing is."""
    kinds = {entry.path: entry.fstype for entry in read_mounts()}
    if kinds.get(str(ROOT)) == "cgroup2":
        return "v2"
    if not any(kind == "cgroup" for kind in kinds.values()):
        raise Misconfigured("no control groups", remedy="mount cgroup2 on /sys/fs/cgroup")
    return "hybrid" if kinds.get(str(UNIFIED)) == "cgroup2" else "v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What a group uses; `cpu_ms` counts since it was made."""

    memory_bytes: int
    pids: int
    cpu_ms: int


class ControlGroups:
    """The groups below one parent, which belongs to this daemon alone."""

    def __init__(self, *, mode: CgroupMode, parent: str) -> None:
        self.mode = mode
        self.parent = parent
        self._hierarchies = (ROOT,) if mode == "v2" else _version_1_hierarchies()
        self._freezer = ROOT if mode == "v2" else ROOT / "freezer"

    def path(self, name: str) -> str:
        """`cgroupsPath` of a group, relative to the root of each hierarchy."""
        return f"{self.parent}/{name}"

    def members(self, name: str) -> tuple[int, ...]:
        """Process ids in the group. Empty when there is no such group."""
        pids: list[int] = []
        for procs in self._group(name).rglob("cgroup.procs"):
            with contextlib.suppress(OSError):
                pids += [int(word) for word in procs.read_text(encoding="ascii").split()]
        return tuple(pids)

    def take_in(self, name: str, command: str, pid: int) -> None:
        """Puts a process into a group of its own within the group, before it makes children.

        Limits stay those of the whole group. Raises: Retryable.
        """
        group = self._group(name) / command
        try:
            group.mkdir(exist_ok=True)
            (group / "cgroup.procs").write_text(str(pid), encoding="ascii")
        except OSError as error:
            raise Retryable(f"a control group for the command: {error.strerror}") from error

    def end_command(self, name: str, command: str) -> None:
        """Kills what a command has started, also what it left in the background; nothing else.

        Freezing first makes the list complete: nothing forks away while it is read.
        """
        group = f"{name}/{command}"
        for _ in range(_ROUNDS):
            self._freeze(group)
            try:
                victims = self.members(group)
                for pid in victims:
                    kill_quietly(pid)
            finally:
                self._thaw(group)
            if not victims:
                return

    def drop_empty(self, name: str) -> None:
        """Removes the groups of commands of which nothing runs any more."""
        for group in self._group(name).glob("*/"):
            with contextlib.suppress(OSError):
                group.rmdir()

    def end_all(self, name: str) -> None:
        """Kills everything in the group. Raises: OutcomeUnknown when something does not die."""

        def is_empty() -> bool:
            members = self.members(name)
            for pid in members:
                kill_quietly(pid)
            return not members

        self._freeze(name)
        is_empty()
        self._thaw(name)
        if not wait_until(is_empty, within_s=_EMPTY_WITHIN_S):
            raise OutcomeUnknown("processes of the sandbox do not die")

    def groups(self) -> frozenset[str]:
        """Names of the groups that exist below the parent, in any hierarchy."""
        found: set[str] = set()
        for hierarchy in self._hierarchies:
            with contextlib.suppress(OSError):
                found |= {p.name for p in (hierarchy / self._relative("")).iterdir() if p.is_dir()}
        return frozenset(found)

    def use(self, name: str) -> Use:
        """What the group uses now."""
        nanoseconds = self._number(name, "cpuacct.usage")
        return Use(
            memory_bytes=self._number(name, "memory.current", "memory.usage_in_bytes"),
            pids=self._number(name, "pids.current"),
            cpu_ms=nanoseconds // 1_000_000 or self._number(name, "cpu.stat") // 1000,
        )

    def memory_kills(self, name: str) -> int:
        """How many processes of the group the kernel has killed for its memory limit.

        `oom_kill` of memory.events (version 2) or memory.oom_control (version 1); 0 without either.
        """
        for hierarchy in self._hierarchies:
            for file in ("memory.events", "memory.oom_control"):
                text = _read(hierarchy / self._relative(name) / file, "")
                counted = dict(line.split(" ", 1) for line in text.splitlines() if " " in line)
                if counted.get("oom_kill", "").isdigit():
                    return int(counted["oom_kill"])
        return 0

    def _number(self, name: str, *files: str) -> int:
        """The first number in the first of these files that exists; 0 when there is none."""
        for hierarchy in self._hierarchies:
            for file in files:
                with contextlib.suppress(OSError, StopIteration):
                    words = (hierarchy / self._relative(name) / file).read_text("ascii").split()
                    return int(next(word for word in words if word.isdigit()))
        return 0

    def remove(self, name: str) -> None:
        """Removes an empty group from every hierarchy."""
        for hierarchy in self._hierarchies:
            _remove_group(hierarchy / self._relative(name))

    def remove_parent(self) -> None:
        """Removes the parent, if it is empty; at the end of the daemon."""
        for hierarchy in self._hierarchies:
            group = hierarchy / self._relative("")
            while group != hierarchy:
                with contextlib.suppress(OSError):
                    group.rmdir()
                group = group.parent

    def _relative(self, name: str) -> str:
        return self.path(name).strip("/")

    def _group(self, name: str) -> Path:
        return self._freezer / self._relative(name)

    def _freeze(self, name: str) -> None:
        group = self._group(name)
        if self.mode == "v2":
            _write(group / "cgroup.freeze", "1")
            wait_until(
                lambda: "frozen 1" in _read(group / "cgroup.events", "frozen 1"),
                within_s=_FROZEN_WITHIN_S,
            )
        else:
            _write(group / "freezer.state", "FROZEN")
            wait_until(
                lambda: "FROZEN" in _read(group / "freezer.state", "FROZEN"),
                within_s=_FROZEN_WITHIN_S,
            )

    def _thaw(self, name: str) -> None:
        group = self._group(name)
        if self.mode == "v2":
            _write(group / "cgroup.freeze", "0")
        else:
            _write(group / "freezer.state", "THAWED")


def _version_1_hierarchies() -> tuple[Path, ...]:
    return tuple(Path(entry.path) for entry in read_mounts() if entry.fstype == "cgroup")


def _write(file: Path, text: str) -> None:
    """The group may be gone or never have been made; that is no error."""
    with contextlib.suppress(FileNotFoundError, OSError):
        file.write_text(text, encoding="ascii")


def _read(file: Path, otherwise: str) -> str:
    try:
        return file.read_text(encoding="ascii")
    except OSError:
        return otherwise


def _remove_group(group: Path) -> None:
    """Rmdir from the leaves up. A group whose last process has just died stays busy a moment."""
    for directory in sorted((p for p in group.rglob("*") if p.is_dir()), reverse=True):
        _remove_directory(directory)
    _remove_directory(group)


def _remove_directory(directory: Path) -> None:
    deadline = time.monotonic() + _EMPTY_WITHIN_S
    while True:
        try:
            Path(directory).rmdir()
            return
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > deadline:
                raise OutcomeUnknown("a control group cannot be removed") from error
            time.sleep(0.005)
