"""SIGKILL at every step of a creation, a deletion, an expiry and a switch, service and daemon.

After a restart no slot is lost, no sandbox is there twice, no old image stands beside a new one.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from perlica.domain.sandbox import HeldImage, SandboxImage
from perlica.stores.database import Database
from tests.sandboxd.process import Daemon
from tests.sandboxes.real import NODE, client_of, delete_all, demo_image, import_second_image
from tests.sandboxes.test_races import NEVER

pytestmark = [pytest.mark.root, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
RUN_WITHIN_S = 60
MOST_STEPS = 80


@dataclass(slots=True)
class Run:
    """One database, and the processes over it."""

    database: Path
    daemon: Daemon
    image: SandboxImage
    second: str = ""

    def start(self, scenario: str, *, kill_at: int = 0, victim: int = 0) -> int:
        """Run a scenario to its end or to the kill; how many steps it had, 0 if it was killed."""
        spec = self.database.with_suffix(".json")
        spec.write_text(
            json.dumps(
                {
                    "scenario": scenario,
                    "database": str(self.database),
                    "socket": str(self.daemon.socket),
                    "node": NODE,
                    "image": asdict(self.image),
                    "second": self.second,
                    "look_every_s": 0.05 if scenario == "settle" else 3600,
                    "kill_at": kill_at,
                    "victim": victim,
                }
            ),
            "utf-8",
        )
        done = subprocess.run(
            [sys.executable, "-m", "tests.sandboxes.killing", str(spec)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=RUN_WITHIN_S,
            check=False,
        )
        if done.returncode == -9:
            return 0
        assert done.returncode == 0, done.stderr
        return int(json.loads(done.stdout.splitlines()[-1])["steps"])

    def column(self, sql: str) -> list[object]:
        """The first column of a query."""
        with Database.open(self.database, read_only=True) as database:
            return [next(iter(row.values())) for row in database.query(sql)]

    def check(self) -> None:
        """What must hold whatever was killed when: in the tables and between tables and node."""
        for what, sql in NEVER.items():
            assert self.column(sql) == [], what
        booked = self.column("SELECT name || ' ' || instance FROM sandboxes WHERE slot NOT NULL")
        there = [f"{box.name} {box.instance}" for box in client_of(self.daemon).reconcile()]
        assert sorted(map(str, booked)) == sorted(there)


@pytest.fixture
def make_run(daemon: Daemon, tmp_path: Path) -> Iterator[Callable[[int, str], Run]]:
    """A run over a fresh database; its sandboxes are gone before the next one."""
    held = demo_image(daemon)
    image = SandboxImage(
        reference=held.reference, digest=held.digest, introduction="busybox", revision=1
    )

    def make(number: int, second: str = "") -> Run:
        delete_all(daemon)
        return Run(tmp_path / f"run-{number}.db", daemon, image, second)

    yield make
    delete_all(daemon)


@contextmanager
def restarting(daemon: Daemon) -> Iterator[None]:
    """Start the daemon again whenever it dies."""
    ending = threading.Event()

    def watch() -> None:
        while not ending.wait(0.05):
            daemon.ensure_running()

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        ending.set()
        watcher.join()


def kill_everywhere(
    make_run: Callable[..., Run],
    scenario: str,
    judge: Callable[[Run], None],
    *,
    second: str = "",
    of_daemon: bool = False,
) -> int:
    """The scenario again and again, killed at each of its steps; how many there were."""
    for kill_at in range(1, MOST_STEPS):
        run = make_run(kill_at, second)
        victim = run.daemon.pid if of_daemon else 0
        steps = run.start(scenario, kill_at=kill_at, victim=victim)
        run.daemon.ensure_running()
        run.start("settle")
        run.check()
        judge(run)
        if steps and steps < kill_at:
            return steps
    raise AssertionError(f"{scenario} has more than {MOST_STEPS} steps")


def judge_creation(run: Run) -> None:
    assert run.column("SELECT state FROM sandboxes") in (["ready"], ["deleted"], [])


def judge_deletion(run: Run) -> None:
    spent = run.column("SELECT 1 FROM approvals WHERE state = 'consumed'")
    done = run.column("SELECT state FROM operations WHERE action = 'sandbox.delete'")
    assert len(spent) == len(done) <= 1
    assert run.column("SELECT state FROM sandboxes") == (
        ["deleted"] if done == ["succeeded"] else ["ready"]
    )


def judge_expiry(run: Run) -> None:
    assert run.column("SELECT state FROM sandboxes") == ["deleted"]


def judge_switch(run: Run) -> None:
    in_force = run.column("SELECT digest FROM sandbox_image_config")
    if run.column("SELECT 1 FROM image_switches"):
        assert run.column("SELECT state FROM image_switches") == ["activated"]
        assert in_force == [run.second]
        assert run.column("SELECT DISTINCT state FROM sandboxes") == ["deleted"]
    else:
        assert in_force == [run.image.digest]
        assert run.column("SELECT DISTINCT state FROM sandboxes") == ["ready"]


SCENARIOS = {"create": judge_creation, "delete": judge_deletion, "expire": judge_expiry}


@pytest.mark.evidence(14)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_service_may_die_at_any_step(make_run: Callable[..., Run], scenario: str) -> None:
    steps = kill_everywhere(make_run, scenario, SCENARIOS[scenario])

    assert steps >= 8


@pytest.mark.evidence(17)
def test_the_service_may_die_at_any_step_of_a_switch(
    make_run: Callable[..., Run], second: HeldImage
) -> None:
    steps = kill_everywhere(make_run, "switch", judge_switch, second=second.digest)

    assert steps >= 16


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_daemon_may_die_at_any_step(
    make_run: Callable[..., Run], daemon: Daemon, scenario: str
) -> None:
    with restarting(daemon):
        kill_everywhere(make_run, scenario, SCENARIOS[scenario], of_daemon=True)


@pytest.fixture
def second(daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HeldImage:
    """Another image on the node."""
    return import_second_image(daemon, tmp_path / "second", monkeypatch)
