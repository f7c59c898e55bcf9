"""What lies on the node and belongs to nothing: found, listed, and removed only with evidence.

Evidence is a fact that shows that nobody can need it: a recorded deletion, a control group without
processes, a scratch directory while no import runs. A disk without a record may be all that is
left of somebody's work, so without evidence only an operator who names it has it removed.
"""

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from sandboxd.faults import Busy, Fault, NotFound
from sandboxd.kernel.loops import loops_backed_by
from sandboxd.kernel.mountinfo import mounts_below
from sandboxd.ledger.journal import Journal
from sandboxd.service.node import Node
from sandboxd.service.registry import Registry
from sandboxd.storage import door
from sandboxd.storage.disk import lock_disk
from sandboxd.storage.records import RECORD
from sandboxd.wire import (
    CollectRequest,
    GarbageCollected,
    GarbageReport,
    Orphan,
    OrphanKind,
    UnusedImage,
)


class Garbage:
    """Looks at the node; removes through the same rooms that made the things."""

    def __init__(self, node: Node, registry: Registry, journal: Journal) -> None:
        self._node = node
        self._registry = registry
        self._journal = journal

    def report(self) -> GarbageReport:
        """Everything that is found; changes nothing."""
        used = {sandbox.record.image_digest for sandbox in self._registry.all()}
        images = [
            UnusedImage.model_validate(held.model_dump(include=set(UnusedImage.model_fields)))
            for held in self._node.catalog.list()
            if held.digest not in used
        ]
        return GarbageReport(images=tuple(images), orphans=tuple(self._orphans()))

    def _orphans(self) -> Iterator[Orphan]:
        known = self._known()
        yield from self._disks(known)
        for name in sorted(self._node.cgroups.groups() - known):
            is_empty = not self._node.cgroups.members(name)
            yield _orphan("control_group", name, is_empty, "it holds no process")
        for name in sorted(set(self._node.runtime.containers()) - known):
            is_empty = not self._node.cgroups.members(name)
            yield _orphan("container", name, is_empty, "no process of it is alive")
        roots = self._node.room.roots
        for entry in mounts_below(str(roots)):
            if Path(entry.path).relative_to(roots).parts[:1] not in {(name,) for name in known}:
                yield Orphan(kind="mount", name=entry.path)
        for path in self._node.catalog.unrecorded():
            yield Orphan(
                kind="image_file",
                name=path.name,
                size_bytes=_size_of(path),
                evidence="no import runs, and no record names it",
            )

    def _known(self) -> set[str]:
        return {str(sandbox.instance) for sandbox in self._registry.all()}

    def _disks(self, known: set[str]) -> Iterator[Orphan]:
        for home in sorted(self._node.records.directory.iterdir()):
            if home.name in known or (home / RECORD).exists():
                continue
            yield Orphan(
                kind="disk",
                name=home.name,
                size_bytes=_size_of(home),
                evidence=self._deletion_of(home.name),
            )
            for device in loops_backed_by(home):
                yield Orphan(kind="loop", name=device)

    def _deletion_of(self, instance: str) -> str:
        for entry in self._journal.entries():
            if entry.kind == "delete" and entry.instance == instance and entry.succeeded:
                return f"the operation {entry.operation} deleted its sandbox"
        return ""

    def collect(self, request: CollectRequest) -> GarbageCollected:
        """Removes what may go. A single thing that resists is kept and named."""
        removed: list[str] = []
        kept: list[str] = []
        freed_bytes = 0
        for label, size_bytes, remove in self._candidates(request):
            try:
                remove()
            except Fault as fault:
                kept.append(f"{label}: {fault.message}")
            else:
                removed.append(label)
                freed_bytes += size_bytes
        return GarbageCollected(
            operation=request.operation,
            removed=tuple(removed),
            kept=tuple(kept),
            freed_bytes=freed_bytes,
        )

    def _candidates(
        self, request: CollectRequest
    ) -> Iterator[tuple[str, int, Callable[[], object]]]:
        report = self.report()
        if request.images_older_than_ms is not None:
            before_ms = self._node.clock_ms() - request.images_older_than_ms
            for image in report.images:
                if image.imported_at_ms <= before_ms:
                    yield image.digest, image.size_bytes, partial(self._drop, image.digest)
        found = {orphan.name for orphan in report.orphans if orphan.kind == "disk"}
        for orphan in report.orphans:
            is_named = orphan.kind == "disk" and orphan.name in request.disks
            if is_named or (request.orphans and orphan.evidence):
                label = f"{orphan.kind} {orphan.name}"
                yield label, orphan.size_bytes, partial(self._remove, orphan)
        for name in sorted(set(request.disks) - found):
            yield f"disk {name}", 0, partial(self._remove_disk, name)

    def _drop(self, digest: str) -> None:
        if self._registry.collect_image(digest) is None:
            raise Busy("a sandbox is made of it")

    def _remove(self, orphan: Orphan) -> None:
        node = self._node
        match orphan.kind:
            case "disk":
                self._remove_disk(orphan.name)
            case "control_group":
                node.cgroups.remove(orphan.name)
            case "container":
                node.runtime.remove(orphan.name)
            case "image_file":
                for path in node.catalog.unrecorded():
                    if path.name == orphan.name:
                        door.remove_tree("orphan", path)
            case "mount" | "loop":
                raise Busy("the kernel still uses it")

    def _remove_disk(self, name: str) -> None:
        if not any(orphan.name == name for orphan in self._disks(self._known())):
            raise NotFound("there is no such orphaned disk")
        home = self._node.records.home(name)
        if loops_backed_by(home):
            raise Busy("a loop device holds it")
        lock = lock_disk(self._node.records.lock(name))
        try:
            self._node.records.remove(name)
        finally:
            os.close(lock)


def _orphan(kind: OrphanKind, name: str, has_evidence: bool, evidence: str) -> Orphan:  # noqa: FBT001
    return Orphan(kind=kind, name=name, evidence=evidence if has_evidence else "")


def _size_of(path: Path) -> int:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_blocks * 512 for file in files)
