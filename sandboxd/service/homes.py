"""What a sandbox has on the node's disk: made whole or not at all, and removed."""

import contextlib
from pathlib import Path

from sandboxd.faults import Fault, OutcomeUnknown
from sandboxd.kernel.loops import loops_backed_by
from sandboxd.kernel.steps import explained, wait_until
from sandboxd.milestones import reached
from sandboxd.service.node import Node
from sandboxd.storage.disk import create_disk
from sandboxd.storage.records import Record

_LOOPS_GONE_WITHIN_S = 5.0


def make_home(node: Node, record: Record) -> Record:
    """Makes the disk; durable on return. Returns the record of a sandbox that is present.

    Raises: Retryable, with nothing left behind; OutcomeUnknown when the disk fails so badly that
    what was begun cannot be removed.
    """
    try:
        node.records.save(record)
        reached("record creating")
        create_disk(
            node.records.disk(record.instance),
            size_bytes=record.limits.disk_bytes,
            loops=node.loops,
        )
        present = record.model_copy(update={"phase": "present"})
        reached("disk made")
        node.records.save(present)
        reached("record present")
    except Fault as fault:
        _undo(node, record, fault)
        raise
    return present


def _undo(node: Node, record: Record, fault: Fault) -> None:
    try:
        node.records.remove(record.instance)
    except Fault as left:
        raise OutcomeUnknown(
            f"{fault.message}; what was begun is still there: {left.message}",
            remedy=left.remedy,
            kernel=left.kernel,
        ) from left


def remove_home(node: Node, instance: str, root: Path) -> None:
    """Removes mount point, disk and record. Raises: Fault; some of it may be gone then."""
    with explained("remove the mount point"), contextlib.suppress(FileNotFoundError):
        root.rmdir()
    disk = node.records.disk(instance)
    if not wait_until(lambda: not loops_backed_by(disk), within_s=_LOOPS_GONE_WITHIN_S):
        raise OutcomeUnknown("a loop device keeps the disk")
    node.records.remove(instance)
