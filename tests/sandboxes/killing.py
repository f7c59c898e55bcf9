"""A rig in a process of its own that dies at a chosen step.

`python -m tests.sandboxes.killing` reads one JSON line for each run, plays it in a fork, and
answers with the fork's exit code. A step is a commit or a call that changes something on the node;
each counts twice, before it and after it, and has a name: who made it, and for which time.
"""

import json
import os
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from perlica.clients.sandboxd import SandboxdClient, SandboxdSettings
from perlica.domain.cancel import CancelToken
from perlica.domain.ids import OperationId, SandboxName
from perlica.domain.sandbox import (
    Absence,
    Action,
    ActionOutcome,
    BackendSandbox,
    CommandOutcome,
    SandboxImage,
    SandboxSpec,
)
from perlica.stores import database as database_module
from perlica.stores.database import Database
from perlica.stores.orphans import OrphanStore
from tests.sandboxes.rig import Rig

QUIET_WITHIN_S = 3.0
ROOT = Path(__file__).parents[2]
NOT_THE_MAKER = {"contextlib.py", "killing.py", Path(database_module.__file__).name}


class Steps:
    """Names steps while the scenario is at what it shows, and kills at the chosen one."""

    def __init__(self, directory: Path, kill_at: str) -> None:
        self._trace = directory / "trace"
        self._armed = directory / "armed"
        self._kill_at = kill_at
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def armed(self) -> Iterator[None]:
        """The part of a scenario in which steps count; the daemon hears of it by the file."""
        self._armed.touch()
        yield
        self._armed.unlink()

    def step(self, what: str) -> None:
        """One step more."""
        if not self._armed.exists():
            return
        with self._lock:
            self._counts[what] += 1
            name = f"{what} #{self._counts[what]}"
            with self._trace.open("a", encoding="utf-8") as trace:
                trace.write(f"{name}\n")
            if name == self._kill_at:
                os.kill(os.getpid(), signal.SIGKILL)


class SteppingClient(SandboxdClient):
    """The real client; every change on the node is two steps."""

    def __init__(self, settings: SandboxdSettings, steps: Steps) -> None:
        super().__init__(settings)
        self._steps = steps

    def create(
        self, operation: OperationId, spec: SandboxSpec, image_digest: str
    ) -> BackendSandbox:
        self._steps.step("before create")
        made = super().create(operation, spec, image_digest)
        self._steps.step("after create")
        return made

    def execute(
        self,
        operation: OperationId,
        *,
        name: SandboxName,
        instance: str,
        action: Action,
        cancel: CancelToken,
    ) -> ActionOutcome:
        self._steps.step("before execute")
        outcome = super().execute(
            operation, name=name, instance=instance, action=action, cancel=cancel
        )
        self._steps.step("after execute")
        return outcome

    def stream_command(self, operation: OperationId, **more: Any) -> CommandOutcome:
        self._steps.step("before stream_command")
        outcome = super().stream_command(operation, **more)
        self._steps.step("after stream_command")
        return outcome

    def delete(self, operation: OperationId, name: SandboxName, instance: str) -> Absence:
        self._steps.step("before delete")
        gone = super().delete(operation, name, instance)
        self._steps.step("after delete")
        return gone

    def stop(self, operation: OperationId, name: SandboxName, instance: str) -> BackendSandbox:
        self._steps.step("before stop")
        stopped = super().stop(operation, name, instance)
        self._steps.step("after stop")
        return stopped


def count_commits(steps: Steps) -> None:
    """Make every commit of this process two steps, named by who commits.

    One that changes no row is none: how often somebody looks in vain hangs on the machine's load.
    """
    transaction = Database.transaction

    @contextmanager
    def counted(database: Database) -> Iterator[None]:
        maker = maker_of(sys._getframe())
        with transaction(database):
            before = changes_of(database)
            yield
            is_change = changes_of(database) != before
            if is_change:
                steps.step(f"{maker}, before the commit")
        if is_change:
            steps.step(f"{maker}, after the commit")

    Database.transaction = counted  # type: ignore[method-assign, assignment]


def changes_of(database: Database) -> object:
    """How many rows this connection has changed so far."""
    return database.query("SELECT total_changes() AS changes")[0]["changes"]


def maker_of(frame: FrameType | None) -> str:
    """The function that opened a transaction."""
    while frame is not None and Path(frame.f_code.co_filename).name in NOT_THE_MAKER:
        frame = frame.f_back
    assert frame is not None
    code = frame.f_code
    return f"{Path(code.co_filename).relative_to(ROOT).with_suffix('')} {code.co_qualname}"


def main() -> None:
    """Play one run for each line, each in a fork, so that only the first pays for the imports."""
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            play(json.loads(line))
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def play(spec: dict[str, Any]) -> None:
    """One scenario from its beginning to its end, or to the kill; never returns."""
    steps = Steps(Path(spec["directory"]), spec["kill_at"])
    count_commits(steps)
    settings = SandboxdSettings(socket_path=Path(spec["socket"]), epoch=1, node=spec["node"])
    rig = Rig(
        Path(spec["database"]),
        {spec["node"]: SteppingClient(settings, steps)},
        image=SandboxImage(**spec["image"]),
    )
    code = 1
    try:
        rig.start()
        SCENARIOS[spec["scenario"]](rig, steps, spec)
        rig.stop()
        code = 0
    finally:
        # A worker may still wait for the daemon: an ordinary end takes its libraries away.
        if code:
            traceback.print_exc()
        sys.stderr.flush()
        os._exit(code)


def create(rig: Rig, steps: Steps, _spec: dict[str, Any]) -> None:
    """One sandbox is made and used."""
    with steps.armed():
        rig.create("main")
        rig.run("true")


def delete(rig: Rig, steps: Steps, _spec: dict[str, Any]) -> None:
    """An Owner's deletion, from its approval on."""
    rig.create("main")
    rig.run("true")
    rig.order("sbx", action="delete", name="main")
    rig.wait(lambda: rig.pending() != [])
    ticket = rig.pending()[0]
    with steps.armed():
        rig.approve(ticket)
        tick_until(rig, lambda: rig.living() == [] or rig.column(SPENT) == [])
        tick_until(rig, lambda: rig.column(RUNNING) == [])
        rig.tick()


def expire(rig: Rig, steps: Steps, _spec: dict[str, Any]) -> None:
    """Nobody used it for eight days."""
    rig.create("main")
    rig.run("true")
    rig.age("main", 8)
    with steps.armed():
        tick_until(rig, lambda: rig.living() == [] or rig.column(ORPHANS) != [])
        tick_until(rig, lambda: rig.column(RUNNING) == [])
        rig.tick()


def switch(rig: Rig, steps: Steps, spec: dict[str, Any]) -> None:
    """The image is switched under two sandboxes, from the approval on."""
    rig.create("one")
    rig.create("two")
    rig.run("true", sandbox="two")
    rig.order("image", action="switch", digest=spec["second"])
    rig.wait(lambda: rig.pending() != [])
    ticket = rig.pending()[0]
    with steps.armed():
        rig.approve(ticket)
        tick_until(rig, lambda: rig.column(SWITCHES) in (["activated"], ["blocked"]))
        rig.tick()


def tick_until(rig: Rig, holds: Callable[[], bool]) -> None:
    """Tick until something holds, but not while jobs run.

    So a tick finds the same things however slow the machine is, and a scenario has the same steps.
    """

    def look() -> bool:
        quiet_at = time.monotonic() + QUIET_WITHIN_S
        while rig.column(RUNNING) and time.monotonic() < quiet_at:
            time.sleep(0.005)
        return holds()

    rig.wait(look)


def settle(rig: Rig) -> None:
    """Whatever was left: go on until nothing is open any more; waits of clean-up are over."""
    rig.end_task()
    with Database.open(rig.path) as database, database.transaction():
        OrphanStore(database).try_now()
    rig.tick()
    if rig.column(SWITCHES) == ["blocked"]:
        rig.wait(lambda: rig.column(ORPHANS_DUE) == [])
        rig.order("image", action="retry")
    rig.wait(lambda: rig.column(OPEN) == [] and rig.column(ORPHANS) == [])
    rig.wait(lambda: "switching" not in rig.column(SWITCHES))
    for _ in range(3):
        rig.tick()


OPEN = "SELECT id FROM operations WHERE state IN ('queued', 'started', 'unknown')"
RUNNING = "SELECT id FROM operations WHERE state IN ('queued', 'started')"
SPENT = "SELECT id FROM approvals WHERE state IN ('pending', 'approved')"
ORPHANS = "SELECT id FROM orphans WHERE state = 'open'"
ORPHANS_DUE = "SELECT id FROM orphans WHERE state = 'open' AND attempts = 0"
SWITCHES = "SELECT state FROM image_switches"
SCENARIOS = {"create": create, "delete": delete, "expire": expire, "switch": switch}

if __name__ == "__main__":
    main()
