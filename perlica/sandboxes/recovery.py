"""Jobs that were in hand at a crash, rebuilt from their rows so that they can be looked up.

Used by the gateway for calls of the living task and by the reconciler for everything else.
"""

from perlica.domain.ids import OperationId, SandboxName
from perlica.domain.ports import JobKind, SandboxJob
from perlica.stores.database import Database
from perlica.stores.sandboxes import SandboxStore


def job_to_look_up(database: Database, operation: OperationId) -> SandboxJob | None:
    """The job of a sandbox operation, without its work; None where no sandbox was touched."""
    sandboxes = SandboxStore(database)
    touched = sandboxes.find_operation(operation)
    if touched is None:
        return None
    row = sandboxes.find(touched.sandbox_id)
    if row is None:
        return None
    return SandboxJob(
        operation=operation,
        sandbox=row.id,
        slot=row.slot or 0,
        node=row.node,
        name=SandboxName(row.name),
        instance=row.instance,
        kind=JobKind(touched.kind),
    )
