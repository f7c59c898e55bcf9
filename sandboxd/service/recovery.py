"""What a daemon does before it answers: ends what an earlier one left, and settles its journal.

Containers outlive a killed daemon and hold its mounts. They are ended, not adopted: their commands
lost their pipes and their callers. Files are safe, the next command mounts them again.
"""

import logging

from sandboxd.faults import Fault, OutcomeUnknown
from sandboxd.kernel.loops import loops_backed_by
from sandboxd.kernel.steps import wait_until
from sandboxd.ledger.journal import Entry, Journal
from sandboxd.service.absence import prove_absence
from sandboxd.service.node import Node
from sandboxd.service.registry import Registry
from sandboxd.service.sandbox import Sandbox
from sandboxd.wire import DeletionProof, ErrorAnswer, SandboxState

_log = logging.getLogger(__name__)
_LOOPS_GONE_WITHIN_S = 10.0


def recover(node: Node, registry: Registry, journal: Journal) -> None:
    """Brings node, registry and journal to a state that new requests can start from.

    Raises: OutcomeUnknown when something of the earlier daemon cannot be ended.
    """
    _end_containers(node)
    _wait_for_loops(node)
    for record in node.records.load_all():
        if record.phase == "creating":
            _log.warning("removing the unfinished creation of %s", record.instance)
            node.records.remove(record.instance)
        else:
            registry.adopt(record)
    for entry in journal.entries():
        if entry.phase == "started":
            _settle(entry, node, registry, journal)
    for sandbox in registry.all():
        if sandbox.record.phase == "deleting":
            _finish_deletion(registry, sandbox, f"recovery-{sandbox.instance}")


def _end_containers(node: Node) -> None:
    for container in sorted({*node.runtime.containers(), *node.cgroups.groups()}):
        _log.warning("ending the container %s of an earlier daemon", container)
        node.cgroups.end_all(container)
        node.runtime.remove(container)
        node.cgroups.remove(container)


def _wait_for_loops(node: Node) -> None:
    """The kernel unmounts a dead container's file systems a moment after its last process."""
    directory = node.config.state_dir
    if not wait_until(lambda: not loops_backed_by(directory), within_s=_LOOPS_GONE_WITHIN_S):
        held = ", ".join(loops_backed_by(directory))
        raise OutcomeUnknown(
            f"{held} still hold files of the state directory",
            remedy="find who has them mounted (grep -l loop /proc/*/mountinfo) and end it",
        )


def _settle(entry: Entry, node: Node, registry: Registry, journal: Journal) -> None:
    """What the state of the node shows to be done is recorded as done; the rest was interrupted.

    A command cannot be settled: how far it came is known to nobody.
    """
    outcome = _settled_outcome(entry, node, registry)
    if outcome is None:
        _log.warning("the operation %s was interrupted", entry.operation)
        journal.interrupt(entry.operation, at_ms=node.clock_ms())
        return
    journal.finish(
        entry.operation,
        at_ms=node.clock_ms(),
        succeeded=not isinstance(outcome, ErrorAnswer),
        outcome=outcome.model_dump_json(),
    )


def _settled_outcome(
    entry: Entry, node: Node, registry: Registry
) -> SandboxState | DeletionProof | ErrorAnswer | None:
    sandboxes = registry.all()
    match entry.kind:
        case "create":
            made = [s for s in sandboxes if s.record.operation == entry.operation]
            return made[0].state() if made else None
        case "stop":
            stopped = [s for s in sandboxes if s.instance == entry.instance]
            return stopped[0].state() if stopped else None
        case "delete":
            left = [s for s in sandboxes if s.instance == entry.instance]
            if not left:
                return prove_absence(node, entry.sandbox, entry.instance, entry.operation)
            if left[0].record.phase == "deleting":
                return _finish_deletion(registry, left[0], entry.operation)
    return None


def _finish_deletion(
    registry: Registry, sandbox: Sandbox, operation: str
) -> DeletionProof | ErrorAnswer:
    _log.warning("finishing the deletion of %s", sandbox.instance)
    try:
        return registry.delete(sandbox, operation)
    except Fault as fault:
        _log.error("the deletion of %s failed: %s", sandbox.instance, fault.message)
        fault.is_recorded = True
        return fault.answer()
