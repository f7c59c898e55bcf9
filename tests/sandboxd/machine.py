"""The machine before and after all tests of this folder: nothing may have been added or changed.

On a machine that others use as well, only what carries a name of these tests is theirs; in CI
everything is.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from tools.leftovers.snapshot import null_device_fault, take_snapshot

IN_CI = os.environ.get("CI") == "true"
KINDS = ("mounts", "loop devices", "network namespaces", "cgroups")
RUN_DIRECTORIES = "/dev/shm/sbx-"
_NODES = ("*/state/node-id", "*/*/state/node-id")
_NAMESPACES = ("mnt", "net", "pid", "user", "cgroup", "ipc", "uts")


class Machine:
    """What was there at the start. `own` is the directory of the tests."""

    def __init__(self, own: Path) -> None:
        self._own = own
        self._names = (str(own), RUN_DIRECTORIES)
        self._before = set(self._look())

    def added(self) -> list[str]:
        """What is there now and was not, and what is wrong with /dev/null."""
        fault = null_device_fault()
        new = [line for line in self._look() if line not in self._before]
        return [*new, *([fault] if fault else [])]

    def _look(self) -> Iterator[str]:
        snapshot = take_snapshot("no mark")
        for kind in KINDS:
            yield from (f"{kind}: {line}" for line in snapshot[kind] if IN_CI or self._is_own(line))
        yield from self._namespaces()

    def _is_own(self, text: str) -> bool:
        return any(name in text for name in self._names)

    def _namespaces(self) -> Iterator[str]:
        """Namespaces of daemons of these tests and of what runs in their sandboxes."""
        nodes = [file.read_text("ascii") for found in _NODES for file in self._own.glob(found)]
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if int(process.name) == os.getpid() or not self._is_daemons(process, nodes):
                    continue
                for kind in _NAMESPACES:
                    yield f"namespace {(process / 'ns' / kind).readlink()} of {process.name}"
            except OSError:
                continue

    def _is_daemons(self, process: Path, nodes: list[str]) -> bool:
        words = (process / "cmdline").read_bytes().decode("utf-8", "replace")
        group = (process / "cgroup").read_text("utf-8", "replace")
        return self._is_own(words) or any(f"/{node}/" in group for node in nodes)
