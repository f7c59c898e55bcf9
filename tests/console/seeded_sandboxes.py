"""Sandboxes, nodes and an image switch of the seeded database."""

from datetime import datetime, timedelta

from perlica.domain.ids import RowId, TicketId, new_operation_id
from perlica.domain.node import NodeState
from perlica.domain.sandbox import SandboxState
from perlica.protection import JsonValue
from perlica.stores.database import Database
from perlica.stores.image_switches import Doomed, ImageSwitchStore, NewSwitch, SwitchState
from perlica.stores.nodes import NodeStore
from perlica.stores.orphans import OrphanStore
from tests.console.seeder import IMAGE, OLD_IMAGE, Seeder, at, sealed


def add_sandboxes(seeder: Seeder, now: datetime) -> RowId:
    with at(now - timedelta(days=9)):
        gone = seeder.reserve("scratch", "临时试验", OLD_IMAGE)
        seeder.settle(gone, SandboxState.ready, SandboxState.deleting, SandboxState.deleted)
    with at(now - timedelta(days=6, hours=3)):
        idle = seeder.reserve("docs", "生成文档站点，偶尔用")
        seeder.settle(idle, SandboxState.ready)
    with at(now - timedelta(days=3)):
        dev = seeder.reserve("dev", "构建和测试主仓库：gcc、make、pytest")
        seeder.settle(dev, SandboxState.ready)
    with at(now - timedelta(hours=5)):
        orphan = seeder.reserve("bench", "性能测试")
        seeder.settle(
            orphan,
            SandboxState.ready,
            SandboxState.deleting,
            SandboxState.unconfirmed,
            reason="backend_silent",
        )
        row = seeder.sandboxes.find(orphan)
        assert row is not None
        with seeder.db.transaction():
            OrphanStore(seeder.db).note(row, "unconfirmed", "backend_silent", failed=True)
    add_nodes(seeder, now)
    return dev


def add_nodes(seeder: Seeder, now: datetime) -> None:
    nodes = NodeStore(seeder.db)
    looks = {"node-1": NodeState.alive, "node-2": NodeState.unreachable}
    for name, state in looks.items():
        with at(now - timedelta(hours=2)), seeder.db.transaction():
            evidence: dict[str, JsonValue] = {"looks": 12, "last_fault": "", "control": "node-1"}
            nodes.set_state(name, state, identity={"machine_id": "3f9a"}, evidence=evidence)
    with at(now - timedelta(seconds=20)), seeder.db.transaction():
        nodes.note_seen("node-1", ())


def block_image_switch(db: Database, doomed: RowId) -> None:
    """A switch of the image that waits for an Owner."""
    switch = NewSwitch(
        ticket=TicketId("K9999"),
        operation=new_operation_id(),
        reference="registry.internal/perlica/next",
        digest="sha256:" + "77aa" * 16,
        introduction=sealed("Debian 13"),
        current=IMAGE,
        doomed=(Doomed(sandbox=doomed, name="dev", instance="b2f1c0", node="node-1"),),
    )
    with db.transaction():
        store = ImageSwitchStore(db)
        begun = store.begin(switch)
    with db.transaction():
        store.move(
            begun.id,
            before=SwitchState.switching,
            after=SwitchState.blocked,
            reason="node-2 unreachable",
        )
