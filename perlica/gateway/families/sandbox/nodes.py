"""Where a sandbox is made, and what an Owner decides about a node that does not come back.

Facts come from the reconciler's looks; writing off and deleting what was never ours are High.
"""

from typing import Final

from perlica.domain.errors import Refused
from perlica.domain.ids import RowId
from perlica.domain.node import ANSWERING, GIVEN_UP, NodeState
from perlica.domain.plan import JsonValue
from perlica.domain.texts import Language
from perlica.gateway.core.tool import CallContext, Planned
from perlica.gateway.core.work import Mandate, ToolResult
from perlica.gateway.families.sandbox.facts import plan_change
from perlica.gateway.families.sandbox.settings import SandboxContext
from perlica.sandboxes.repairs import Repairs
from perlica.stores.nodes import NodeStore
from perlica.stores.orphans import Orphan, OrphanStore
from perlica.stores.sandboxes import SandboxRow, SandboxStore

WRITE_OFF: Final = "node.write_off"
DELETE_ORPHAN: Final = "orphan.delete"
_SOURCE: Final = "nodes"


def choose_node(context: SandboxContext, wanted: str) -> str:
    """The wanted node, or of those that answer the one with the fewest sandboxes.

    Raises: Refused when there is none, or the wanted one cannot take a sandbox now.
    """
    names = context.settings.nodes
    if wanted and wanted not in names:
        raise Refused("no_such_node", f"there is no node {wanted!r}; nodes: {', '.join(names)}")
    usable = [name for name in names if not _find_fault(context, name)]
    if wanted and wanted not in usable:
        raise Refused("node_not_usable", f"node {wanted}: {_find_fault(context, wanted)}")
    if not usable:
        raise Refused("no_node", "no node can take a sandbox now")
    living = SandboxStore(context.database).list_living()
    counts = {name: sum(row.node == name for row in living) for name in usable}
    return wanted or min(usable, key=lambda name: counts[name])


def _find_fault(context: CallContext, name: str) -> str:
    """Why nothing may be made on a node now, "" when something may."""
    node = NodeStore(context.database).find(name)
    if node is not None and node.state not in ANSWERING:
        return f"it is {node.state.value} now"
    orphans = OrphanStore(context.database).list_open()
    if any(orphan.node == name and orphan.cause == "node_lost" for orphan in orphans):
        return "it came back, and what is left on it is not known yet"
    return ""


def plan_write_off(context: SandboxContext, name: str, language: Language) -> Planned:
    """Give a node up: its sandboxes are lost, their slots are free.

    Raises: Refused while the node answers, or has not been silent for long enough.
    """
    node = NodeStore(context.database).find(name)
    is_configured = name in context.settings.nodes
    rows = [row for row in SandboxStore(context.database).list_living() if row.node == name]
    if node is None and not rows:
        raise Refused("no_such_node", f"there is no node {name!r}")
    if is_configured and (node is None or node.state not in GIVEN_UP):
        state = node.state.value if node is not None else "not looked at yet"
        raise Refused("node_not_given_up", f"node {name} is {state}; only a silent one can go")
    verdict = node.state.value if node is not None and is_configured else "not configured"
    since_ms = node.since_ms if node is not None else 0

    def run(_mandate: Mandate) -> ToolResult:
        repairs = Repairs(context.database, language)
        evidence = {**(node.evidence if node else {}), "by": str(context.requester)}
        for row in rows:
            repairs.lose(row, "written_off", evidence)
        NodeStore(context.database).set_state(
            name,
            NodeState.written_off,
            identity=node.identity if node is not None else {},
            evidence=evidence,
        )
        return ToolResult(text=f"{len(rows)} sandboxes are lost", source=_SOURCE)

    return plan_change(
        context,
        WRITE_OFF,
        scope="node",
        destination=f"node:{name}",
        target={"node": name},
        effect={"verdict": verdict, "since_ms": since_ms, "loses": _shown(rows)},
        run=run,
    )


def plan_orphan_deletion(context: CallContext, number: int) -> Planned:
    """Let something be deleted that lies on a node and was never ours.

    Raises: Refused when there is no such orphan, or it is cleaned up by itself.
    """
    orphan = OrphanStore(context.database).find(RowId(number))
    if orphan is None:
        raise Refused("no_such_orphan", f"there is no orphan {number}")
    if orphan.cause != "unknown":
        raise Refused("orphan_cleans_itself", "this one is cleaned up without being asked")

    def run(_mandate: Mandate) -> ToolResult:
        _release(context, orphan)
        return ToolResult(text="it is deleted next", source=_SOURCE)

    return plan_change(
        context,
        DELETE_ORPHAN,
        scope="node",
        destination=f"node:{orphan.node}",
        target={
            "orphan": number,
            "sandbox": orphan.name,
            "instance": orphan.instance,
            "node": orphan.node,
        },
        effect={"files": "destroyed"},
        run=run,
    )


def _release(context: CallContext, orphan: Orphan) -> None:
    """From here on the keeper cleans it up like a remnant of ours."""
    row = SandboxStore(context.database).find(orphan.sandbox_id)
    if row is None:
        raise Refused("no_such_orphan", f"orphan {orphan.id} is gone")
    OrphanStore(context.database).note(row, "returned", "an Owner let it go", failed=False)


def _shown(rows: list[SandboxRow]) -> list[JsonValue]:
    return [{"name": row.name, "instance": row.instance} for row in rows]
