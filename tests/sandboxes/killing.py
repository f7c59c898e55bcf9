"""A rig in a process of its own that dies, or kills the node daemon, at a chosen step.

`python -m tests.sandboxes.killing SPEC` with a JSON file that says what to do. A step is a commit
or a call that changes something on the node; each counts twice, before it and after it.
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from perlica.clients.sandboxd import SandboxdClient, SandboxdSettings
from perlica.domain.cancel import CancelToken
from perlica.domain.ids import OperationId, SandboxName
from perlica.domain.sandbox import (
    Absence,
    Action,
    ActionOutcome,
    BackendSandbox,
    SandboxImage,
    SandboxSpec,
)
from perlica.stores.database import Database
from tests.sandboxes.rig import Rig


class Steps:
    """Counts steps once it is armed, and kills at the chosen one."""

    def __init__(self, kill_at: int, victim: int) -> None:
        self.count = 0
        self.is_armed = False
        self._kill_at = kill_at
        self._victim = victim or os.getpid()
        self._lock = threading.Lock()

    def step(self) -> None:
        """One step more."""
        if not self.is_armed:
            return
        with self._lock:
            self.count += 1
            if self.count == self._kill_at:
                os.kill(self._victim, signal.SIGKILL)


class SteppingClient(SandboxdClient):
    """The real client; every change on the node is two steps."""

    def __init__(self, settings: SandboxdSettings, steps: Steps) -> None:
        super().__init__(settings)
        self._steps = steps

    def create(
        self, operation: OperationId, spec: SandboxSpec, image_digest: str
    ) -> BackendSandbox:
        self._steps.step()
        made = super().create(operation, spec, image_digest)
        self._steps.step()
        return made

    def execute(
        self,
        operation: OperationId,
        *,
        name: SandboxName,
        instance: str,
        action: Action,
        cancel: CancelToken,
        **more: Any,
    ) -> ActionOutcome:
        self._steps.step()
        outcome = super().execute(
            operation, name=name, instance=instance, action=action, cancel=cancel, **more
        )
        self._steps.step()
        return outcome

    def delete(self, operation: OperationId, name: SandboxName, instance: str) -> Absence:
        self._steps.step()
        gone = super().delete(operation, name, instance)
        self._steps.step()
        return gone


def count_commits(steps: Steps) -> None:
    """Make every commit of this process two steps."""
    transaction = Database.transaction

    @contextmanager
    def counted(database: Database) -> Iterator[None]:
        with transaction(database):
            yield
            steps.step()
        steps.step()

    Database.transaction = counted  # type: ignore[method-assign, assignment]


def main() -> int:
    """Do what the file says; prints how many steps there were."""
    spec = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    steps = Steps(spec["kill_at"], spec["victim"])
    count_commits(steps)
    settings = SandboxdSettings(socket_path=Path(spec["socket"]), epoch=1, node=spec["node"])
    rig = Rig(
        Path(spec["database"]),
        {spec["node"]: SteppingClient(settings, steps)},
        image=SandboxImage(**spec["image"]),
        look_every_s=spec["look_every_s"],
    )
    rig.start()
    {"create": create, "delete": delete, "expire": expire, "switch": switch, "settle": settle}[
        spec["scenario"]
    ](rig, steps, spec)
    print(json.dumps({"steps": steps.count}))
    rig.stop()
    return 0


def create(rig: Rig, steps: Steps, _spec: dict[str, Any]) -> None:
    """One sandbox is made and used."""
    steps.is_armed = True
    rig.create("main")
    rig.run("true")
    steps.is_armed = False


def delete(rig: Rig, steps: Steps, _spec: dict[str, Any]) -> None:
    """An Owner's deletion, from its approval on."""
    rig.create("main")
    rig.order("sbx", action="delete", name="main")
    rig.wait(lambda: rig.pending() != [])
    ticket = rig.pending()[0]
    steps.is_armed = True
    rig.approve(ticket)
    rig.wait(lambda: rig.living() == [] or rig.column(SPENT) == [])
    rig.wait(lambda: rig.column(OPEN) == [])
    steps.is_armed = False


def expire(rig: Rig, steps: Steps, _spec: dict[str, Any]) -> None:
    """Nobody used it for eight days."""
    rig.create("main")
    rig.age("main", 8)
    steps.is_armed = True
    rig.wait(lambda: rig.living() == [] or rig.column(ORPHANS) != [])
    rig.tick()
    steps.is_armed = False


def switch(rig: Rig, steps: Steps, spec: dict[str, Any]) -> None:
    """The image is switched under two sandboxes, from the approval on."""
    rig.create("one")
    rig.create("two")
    rig.order("image", action="switch", digest=spec["second"])
    rig.wait(lambda: rig.pending() != [])
    ticket = rig.pending()[0]
    steps.is_armed = True
    rig.approve(ticket)
    rig.wait(lambda: rig.column(SWITCHES) in (["activated"], ["blocked"]))
    rig.tick()
    steps.is_armed = False


def settle(rig: Rig, _steps: Steps, _spec: dict[str, Any]) -> None:
    """Whatever was left: go on until nothing is open any more."""
    rig.end_task()
    rig.tick()
    if rig.column(SWITCHES) == ["blocked"]:
        rig.wait(lambda: rig.column(ORPHANS_DUE) == [])
        rig.order("image", action="retry")
    rig.wait(lambda: rig.column(OPEN) == [] and rig.column(ORPHANS) == [])
    rig.wait(lambda: "switching" not in rig.column(SWITCHES))
    for _ in range(3):
        rig.tick()


OPEN = "SELECT id FROM operations WHERE state IN ('queued', 'started', 'unknown')"
SPENT = "SELECT id FROM approvals WHERE state IN ('pending', 'approved')"
ORPHANS = "SELECT id FROM orphans WHERE state = 'open'"
ORPHANS_DUE = "SELECT id FROM orphans WHERE state = 'open' AND attempts = 0"
SWITCHES = "SELECT state FROM image_switches"

if __name__ == "__main__":
    sys.exit(main())
