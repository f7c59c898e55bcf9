"""The order of what is done in one sandbox, and that none waits for another."""

import threading
import time
from collections.abc import Callable

from perlica.domain.cancel import CancelToken
from perlica.domain.ids import OperationId, SandboxName
from perlica.domain.sandbox import Action, ActionOutcome, ReadFile
from perlica.domain.texts import Language
from perlica.sandboxes.repairs import Repairs
from perlica.stores.database import Database
from perlica.stores.sandboxes import SandboxStore
from tests.behaviour.live import wait_until
from tests.sandboxes.rig import Rig
from tests.sandboxes.stage import TroubledBackend


class SlowReads(TroubledBackend):
    """A node on which reads wait until they may end."""

    def __init__(self) -> None:
        super().__init__()
        self.reading, self.may_end = threading.Event(), threading.Event()

    def execute(
        self,
        operation: OperationId,
        *,
        name: SandboxName,
        instance: str,
        action: Action,
        cancel: CancelToken,
    ) -> ActionOutcome:
        if isinstance(action, ReadFile):
            self.reading.set()
            self.may_end.wait(10)
        return super().execute(
            operation, name=name, instance=instance, action=action, cancel=cancel
        )


def test_a_read_goes_on_beside_a_command(rig: Rig) -> None:
    rig.create("main")
    rig.call("sandbox_write", sandbox="main", path="/a", content="x\n")
    running = threading.Thread(target=lambda: rig.run("sleep", "2"))
    running.start()
    wait_until(lambda: rig.backends["test-node"].met.count("execute") >= 2)
    began = time.monotonic()

    read = rig.call("sandbox_read", sandbox="main", path="/a")

    assert "x" in read
    assert time.monotonic() - began < 1.5
    running.join()


def test_a_deletion_waits_for_the_read_in_hand(make_rig: Callable[..., Rig]) -> None:
    backend = SlowReads()
    rig = make_rig(backends={"test-node": backend})
    rig.create("main")
    rig.call("sandbox_write", sandbox="main", path="/a", content="kept\n")
    results: list[str] = []
    reading = threading.Thread(
        target=lambda: results.append(rig.call("sandbox_read", sandbox="main", path="/a"))
    )
    reading.start()
    backend.reading.wait(10)
    deleting = threading.Thread(target=lambda: rig.remove("main"))
    deleting.start()
    wait_until(lambda: rig.count("SELECT 1 FROM operations WHERE action='sandbox.clean'") == 1)

    assert "delete" not in backend.met
    backend.may_end.set()
    reading.join()
    deleting.join()

    assert "kept" in results[0]
    assert rig.living() == []


def test_one_slow_sandbox_never_blocks_another(rig: Rig) -> None:
    rig.create("slow")
    rig.create("quick")
    running = threading.Thread(target=lambda: rig.run("sleep", "3", sandbox="slow"))
    running.start()
    wait_until(lambda: "execute" in rig.backends["test-node"].met)
    began = time.monotonic()

    for _ in range(3):
        assert "exit code 0" in rig.run("true", sandbox="quick")

    assert time.monotonic() - began < 2.5
    running.join()


def test_what_still_hangs_in_a_lost_sandbox_holds_up_nobody_in_its_slot(
    make_rig: Callable[..., Rig],
) -> None:
    rig = make_rig(nodes=("test-node", "node-2"))
    rig.create("lost", node="test-node")
    hanging = threading.Thread(target=lambda: rig.run("sleep", "4", sandbox="lost"))
    hanging.start()
    wait_until(lambda: "execute" in rig.backends["test-node"].met)
    with Database.open(rig.path) as database, database.transaction():
        row = SandboxStore(database).find_living(SandboxName("lost"))
        assert row is not None
        Repairs(database, Language.zh).lose(row, "written_off", {})
    began = time.monotonic()

    assert "is ready" in rig.create("next")
    assert "exit code 0" in rig.run("true", sandbox="next")

    assert rig.column("SELECT slot FROM sandboxes WHERE name = 'next'") == [1]
    assert time.monotonic() - began < 3
    hanging.join()
