"""The service and the daemon die together at every step of an action that prints a credential.

Wherever they died, what was printed is nowhere outside the sandbox's own disk: not in the service's
database and its journal files, not in logs, not in what the daemon keeps.
"""

import base64
import json
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from perlica.stores.database import Database
from sandboxd.images import demo
from sandboxd.milestones import Milestone
from tests.printing import printer
from tests.sandboxd.client import Box, Client
from tests.sandboxd.mortal import Mortal, mortal_daemon

pytestmark = [pytest.mark.root, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
MILESTONES: tuple[Milestone, ...] = (
    "journal started",
    "container ended",
    "mounted",
    "container started",
    "command started",
    "command ended",
    "effect done",
    "output kept",
    "journal finished",
)
MOST_STEPS = 60
RUN_WITHIN_S = 60
_OPERATIONS = "SELECT id FROM operations WHERE action = 'sandbox.exec'"


@dataclass(frozen=True, slots=True)
class Canary:
    """A token of a service that does not exist; the command puts it together from two halves."""

    text: str

    @property
    def script(self) -> str:
        half = len(self.text) // 2
        return (
            f"a={self.text[:half]}; b={self.text[half:]}; echo $a$b > /root/kept; sync;"
            "echo $a$b; echo $a$b >&2"
        )

    @property
    def forms(self) -> tuple[bytes, ...]:
        """As it is, and as it travels: in base64 at each of the three offsets."""
        raw = self.text.encode("ascii")
        shifted = (base64.b64encode(b"\n" * n + raw)[4:-4] for n in range(3))
        return (raw, *shifted)


class Action:
    """One action of a fresh service on the mortal daemon, and what is left of it."""

    def __init__(self, mortal: Mortal, home: Path) -> None:
        self.mortal = mortal
        self.home = home
        self.database = home / "perlica.db"
        self.canary = Canary(f"ghp_{uuid.uuid4().hex}Zx9Q")
        home.mkdir()

    def perform(self, *, kill_at: int = 0, milestone: Milestone | None = None) -> dict[str, Any]:
        """Acts to the end, or until both are dead. Returns what it printed; empty after a kill."""
        spec = self.home / "spec.json"
        spec.write_text(json.dumps(self._spec(kill_at)), "utf-8")
        words = [sys.executable, "-m", "tests.sandboxd.serving", str(spec)]
        with (
            (self.home / "service.log").open("wb") as log,
            subprocess.Popen(
                words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
            ) as service,
        ):
            assert service.stdin is not None
            assert service.stdout is not None
            assert service.stdout.readline() == b"ready\n", self._log()
            if milestone is not None:
                self.mortal.condemn(milestone, companion=service.pid)
            printed, _ = service.communicate(b"\n", RUN_WITHIN_S)
        if service.returncode == -9:
            self.mortal.see_it_die()
            return {}
        assert service.returncode == 0, self._log()
        done: dict[str, Any] = json.loads(printed)
        return done

    def _log(self) -> str:
        return (self.home / "service.log").read_text("utf-8")

    def _spec(self, kill_at: int) -> dict[str, Any]:
        (held,) = self.mortal.client.images()
        image = {"reference": demo.REFERENCE, "digest": held.digest}
        return {
            "database": str(self.database),
            "socket": str(self.mortal.daemon.socket),
            "daemon": self.mortal.daemon.pid,
            "node": "test-node",
            "image": image | {"introduction": "busybox", "revision": 1},
            "kill_at": kill_at,
            "script": self.canary.script,
        }

    def places(self, *, memory: bool = False) -> list[Path]:
        """Where the canary is, although it must not be."""
        found = [
            self.mortal.places_of(form, self.home, memory=memory) for form in self.canary.forms
        ]
        return sorted({path for paths in found for path in paths})

    def recover(self) -> None:
        """The next daemon, asked about every command of the service, as the next service would."""
        self.mortal.daemon.ensure_running()
        client = self.mortal.client
        with Database.open(self.database, read_only=True) as database:
            operations = [str(row["id"]) for row in database.query(_OPERATIONS)]
        for operation in operations:
            if client.report(operation).state != "unknown":
                client.acknowledge(operation)

    def clear(self) -> None:
        """Its sandbox goes."""
        self.mortal.daemon.ensure_running()
        client = Client(self.mortal.daemon.socket)
        for state in client.sandboxes():
            Box(client, state).delete()


@pytest.fixture(scope="module")
def mortal(
    layout: Path, needs_node: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mortal]:
    with mortal_daemon(layout, tmp_path_factory.mktemp("mortal")) as mortal:
        yield mortal


def check(action: Action) -> None:
    """Nothing of it is anywhere, right after the kill and after the next daemon was asked."""
    after_the_kill = action.places()
    action.recover()
    after_recovery = action.places(memory=True)
    action.clear()
    assert after_the_kill == []
    assert after_recovery == []


def test_an_action_that_nobody_kills_shows_that_the_search_finds_and_the_group_sees_nothing(
    mortal: Mortal, tmp_path: Path
) -> None:
    action = Action(mortal, tmp_path / "whole")

    done = action.perform()

    assert mortal.disks_with(action.canary.forms[0]) != []
    assert action.places(memory=True) != []  # Until the answer is acknowledged, in memory.
    assert action.canary.text not in done["said"]
    check(action)


def test_killed_together_at_any_step_of_the_service_they_leave_no_canary(
    mortal: Mortal, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    steps = 0
    for kill_at in range(1, MOST_STEPS):
        mortal.daemon.ensure_running()
        action = Action(mortal, tmp_path / f"step-{kill_at}")
        done = action.perform(kill_at=kill_at)
        check(action)
        if done:
            steps = int(done["steps"])
            break
    printer(pytestconfig)(
        f"canary: service and sandboxd killed together at {steps} steps of the service"
        f" and {len(MILESTONES)} of sandboxd, found nowhere"
    )

    assert steps >= 8
    assert kill_at == steps + 1


@pytest.mark.parametrize("milestone", MILESTONES)
def test_killed_together_at_any_step_of_the_daemon_they_leave_no_canary(
    mortal: Mortal, tmp_path: Path, milestone: Milestone
) -> None:
    mortal.daemon.ensure_running()
    action = Action(mortal, tmp_path / "milestone")

    done = action.perform(milestone=milestone)

    assert done == {}
    check(action)


def test_a_sandbox_that_is_deleted_takes_its_outputs_with_it(
    mortal: Mortal, tmp_path: Path
) -> None:
    action = Action(mortal, tmp_path / "deleted")
    action.perform()

    action.clear()

    assert action.places(memory=True) == []
    with Database.open(action.database, read_only=True) as database:
        (operation,) = [str(row["id"]) for row in database.query(_OPERATIONS)]
    assert mortal.client.report(operation).state == "output_lost"
