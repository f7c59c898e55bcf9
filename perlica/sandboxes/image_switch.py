"""Switching the one image: begun by an approved ticket, taken forward until it is through.

Nothing new is made, every sandbox is stopped and destroyed, and only when all are known to be gone
the new image is in force; one that cannot be cleaned up blocks the switch.
Everything is in the tables, so a switch that a crash interrupted goes on where it was. The
gateway's commands begin and retry one; the keeper calls `advance`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from perlica.domain.clock import now_ms
from perlica.domain.errors import Refused
from perlica.domain.node import GIVEN_UP
from perlica.domain.policy import Policy
from perlica.domain.ports import SandboxJob
from perlica.domain.sandbox import SandboxImage, SandboxState
from perlica.protection import Channel, JsonValue, protect
from perlica.sandboxes.lifecycle import (
    Deletion,
    LifecycleAction,
    may_happen_by_itself,
    queue_deletion,
)
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.image_switches import (
    Doomed,
    ImageSwitch,
    ImageSwitchStore,
    NewSwitch,
    SwitchState,
)
from perlica.stores.nodes import NodeStore
from perlica.stores.orphans import Orphan, OrphanStore
from perlica.stores.sandboxes import SandboxRow, SandboxStore

_DESTROYABLE: Final = frozenset({SandboxState.ready, SandboxState.stopped})


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one look at a switch led to: jobs to hand over, and the switch where it moved."""

    jobs: tuple[SandboxJob, ...] = ()
    moved: ImageSwitch | None = None


def find_doomed(database: Database) -> tuple[Doomed, ...]:
    """Every sandbox that a switch would destroy now, by its whole identity.

    Raises: Refused while one is being made: its identity is not known yet.
    """
    living = SandboxStore(database).list_living()
    if any(row.state is SandboxState.creating for row in living):
        raise Refused("sandbox_in_motion", "a sandbox is being created; try again in a moment")
    return tuple(
        Doomed(sandbox=row.id, name=row.name, instance=row.instance, node=row.node)
        for row in living
    )


def begin(database: Database, switch: NewSwitch) -> ImageSwitch:
    """Begin it in the caller's transaction, which also spends the ticket.

    Raises: Refused while another switch is not through, or when what it destroys has changed.
    """
    if find_doomed(database) != switch.doomed:
        raise Refused("sandboxes_changed", "the sandboxes to be destroyed have changed")
    if SandboxStore(database).image() != switch.current:
        raise Refused("image_changed", "the global image has changed")
    begun = ImageSwitchStore(database).begin(switch)
    OrphanStore(database).try_now()
    _audit(database, begun)
    return begun


def retry(database: Database) -> ImageSwitch:
    """Let a blocked switch go on, in the caller's transaction: all clean-up is tried at once.

    Raises: Refused when none is blocked.
    """
    store = ImageSwitchStore(database)
    switch = store.current()
    if switch is None or switch.state is not SwitchState.blocked:
        raise Refused("nothing_blocked", "no image switch is blocked")
    OrphanStore(database).try_now()
    moved = store.move(switch.id, before=SwitchState.blocked, after=SwitchState.switching)
    _audit(database, moved)
    return moved


def is_under_way(database: Database) -> bool:
    """Whether `advance` has anything to do; a read."""
    switch = ImageSwitchStore(database).current()
    return switch is not None and switch.state is SwitchState.switching


def advance(database: Database, policy: Policy) -> Step:
    """Take the current switch one step further, in the caller's transaction."""
    store = ImageSwitchStore(database)
    switch = store.current()
    if switch is None or switch.state is not SwitchState.switching:
        return Step()
    living = SandboxStore(database).list_living()
    orphans = [o for o in OrphanStore(database).list_open() if o.cause != "node_lost"]
    if not living and not orphans:
        return Step(moved=_activate(database, switch))
    blocker = _find_blocker(database, policy, living, orphans)
    if blocker:
        moved = store.move(
            switch.id, before=SwitchState.switching, after=SwitchState.blocked, reason=blocker
        )
        _audit(database, moved)
        return Step(moved=moved)
    queued = [_destroy(database, policy, switch, row) for row in living]
    return Step(jobs=tuple(job for job in queued if job is not None))


def _destroy(
    database: Database, policy: Policy, switch: ImageSwitch, row: SandboxRow
) -> SandboxJob | None:
    if row.state not in _DESTROYABLE:
        return None
    reason: dict[str, str | int] = {"why": "image_switch", "switch": switch.id}
    deletion = Deletion(row=row, action=LifecycleAction.switch, reason=reason)
    return queue_deletion(database, policy, deletion)


def _find_blocker(
    database: Database,
    policy: Policy,
    living: Sequence[SandboxRow],
    orphans: Sequence[Orphan],
) -> str:
    """Why the switch cannot go on by itself, "" while it can."""
    action = LifecycleAction.switch
    if living and not may_happen_by_itself(policy, action):
        return "deletion_not_allowed"
    sandboxes = SandboxStore(database)
    for orphan in orphans:
        if sandboxes.has_open_lifecycle(orphan.sandbox_id):
            continue
        where = f"{orphan.name}@{orphan.node}"
        if orphan.cause == "unknown":
            return f"{where}: not ours, see .orphans"
        node = NodeStore(database).find(orphan.node)
        if node is not None and node.state in GIVEN_UP:
            return f"{where}: the node is {node.state}"
        if orphan.next_try_ms > now_ms():
            return f"{where}: {orphan.reason}"
    return ""


def _activate(database: Database, switch: ImageSwitch) -> ImageSwitch:
    """Nothing of the old image is left: the new one comes into force."""
    sandboxes = SandboxStore(database)
    current = sandboxes.image()
    revision = current.revision if current is not None else 0
    sandboxes.set_image(
        SandboxImage(
            reference=switch.reference,
            digest=switch.digest,
            introduction=switch.introduction,
            revision=revision + 1,
        )
    )
    moved = ImageSwitchStore(database).move(
        switch.id, before=SwitchState.switching, after=SwitchState.activated
    )
    _audit(database, moved)
    return moved


def _audit(database: Database, switch: ImageSwitch) -> None:
    facts: dict[str, JsonValue] = {
        "switch": switch.id,
        "state": switch.state.value,
        "reason": switch.reason,
        "from": switch.from_digest,
        "to": switch.digest,
        "destroys": [{"name": d.name, "instance": d.instance} for d in switch.doomed],
    }
    detail = protect(facts, Channel.AUDIT)
    AuditStore(database).add_event(
        f"image.{switch.state.value}",
        actor="lifecycle",
        detail=detail if detail.content else protect({}, Channel.AUDIT),
        ticket_id=switch.ticket,
        operation_id=switch.operation,
    )
