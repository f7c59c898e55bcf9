"""Looks whether anything of a deleted sandbox is left: the proof that a deletion answers with.

The same look settles a deletion that a killed daemon finished without saying so.
"""

from sandboxd.faults import OutcomeUnknown
from sandboxd.kernel.loops import loops_backed_by
from sandboxd.kernel.mountinfo import mounts_below
from sandboxd.service.node import Node
from sandboxd.wire import DeletionProof, InstanceId, OperationId, SandboxName


def prove_absence(node: Node, name: str, instance: str, operation: str) -> DeletionProof:
    """Raises: OutcomeUnknown naming what is still there."""
    root = str(node.room.roots / instance)
    proof = DeletionProof(
        operation=OperationId(operation),
        name=SandboxName(name),
        instance=InstanceId(instance),
        runtime_absent=instance not in node.runtime.containers(),
        processes_absent=instance not in node.cgroups.groups(),
        mounts_absent=not mounts_below(root),
        loop_device_absent=not loops_backed_by(node.records.home(instance)),
        files_absent=not node.records.exists(instance),
        checked_at_ms=node.clock_ms(),
    )
    left = [field for field, is_gone in proof.model_dump().items() if is_gone is False]
    if left:
        raise OutcomeUnknown(f"after the deletion these are false: {', '.join(left)}")
    return proof
