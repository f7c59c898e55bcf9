"""SIGKILL at every step of a creation, a deletion, an expiry and a switch, service and daemon.

The steps are those of a run in which nobody dies; each is then died at, in the ordinary run each
kind at least once. After a restart no slot is lost, no sandbox is there twice, no old image stands
beside a new one.
"""

import contextlib
import json
import select
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

import pytest

from perlica.domain.sandbox import HeldImage, SandboxImage
from perlica.stores.database import Database
from tests.printing import printer
from tests.sandboxd.process import Daemon
from tests.sandboxes.killing import settle
from tests.sandboxes.real import NODE, client_of, delete_all, demo_image, import_second_image
from tests.sandboxes.rig import Rig
from tests.sandboxes.test_races import NEVER
from tests.suite.sample import Sample

pytestmark = [pytest.mark.root, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
PROGRAM = (str(Path(__file__).with_name("mortal_daemon.py")),)
RUN_WITHIN_S = 60
KILLED = -9


@dataclass(slots=True)
class Player:
    """The process that forks once for each run."""

    process: "subprocess.Popen[str]"
    faults: IO[str]

    def play(self, spec: Mapping[str, object], meanwhile: Callable[[], None]) -> int:
        """One run to its end; how it exited. `meanwhile` is called again and again."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(spec) + "\n")
        self.process.stdin.flush()
        deadline = time.monotonic() + RUN_WITHIN_S
        while not select.select([self.process.stdout], [], [], 0.02)[0]:
            assert time.monotonic() < deadline, f"no end of {spec['scenario']}"
            meanwhile()
        return int(self.process.stdout.readline())

    def said(self) -> str:
        """What it wrote of faults."""
        self.faults.seek(0)
        return self.faults.read()


@dataclass(slots=True)
class Stage:
    """A mortal daemon, its images and the player."""

    daemon: Daemon
    player: Player
    directory: Path
    image: SandboxImage
    second: HeldImage

    def revive(self) -> None:
        """Start the daemon again if it is dead, as systemd would."""
        if not Path(f"/proc/{self.daemon.pid}/exe").exists():
            self.daemon.kill()
            self.daemon.start()


@pytest.fixture(scope="module")
def stage(layout: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """One for all tests of this file; nothing of it is left."""
    directory = tmp_path_factory.mktemp("milestones")
    run = Path("/dev/shm") / f"sbx-{uuid.uuid4().hex[:8]}"
    with contextlib.ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("SANDBOXD_TEST_MILESTONES", str(directory))
        run.mkdir()
        stack.callback(shutil.rmtree, run)
        home = tmp_path_factory.mktemp("mortal")
        daemon = Daemon(home / "state", run, extra="first_host_id = 1970000000", program=PROGRAM)
        imported = daemon.command("image", "import", str(layout))
        assert imported.returncode == 0, imported.stderr
        with pytest.MonkeyPatch.context() as other:
            second = import_second_image(daemon, home / "second", other)
        daemon.start()
        stack.callback(_end, daemon)
        faults = stack.enter_context((home / "faults").open("w+", encoding="utf-8"))
        process = stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-m", "tests.sandboxes.killing"],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=faults,
                text=True,
            )
        )
        stack.callback(process.kill)
        held = demo_image(daemon)
        image = SandboxImage(
            reference=held.reference, digest=held.digest, introduction="busybox", revision=1
        )
        yield Stage(daemon, Player(process, faults), directory, image, second)


def _end(daemon: Daemon) -> None:
    delete_all(daemon)
    daemon.stop()
    assert daemon.leftovers() == []


@dataclass(slots=True)
class Run:
    """One scenario over a database of its own."""

    stage: Stage
    scenario: str
    database: Path

    def play(self, *, service_dies_at: str = "", daemon_dies_at: str = "") -> int:
        """To its end or to the kill; how it exited."""
        directory = self.stage.directory
        for name in ("trace", "seen", "armed", "kill-at"):
            (directory / name).unlink(missing_ok=True)
        if daemon_dies_at:
            (directory / "kill-at").write_text(daemon_dies_at, "ascii")
        spec = {
            "scenario": self.scenario,
            "directory": str(directory),
            "database": str(self.database),
            "socket": str(self.stage.daemon.socket),
            "node": NODE,
            "image": asdict(self.stage.image),
            "second": self.stage.second.digest,
            "kill_at": service_dies_at,
        }
        code = self.stage.player.play(spec, self.stage.revive)
        (directory / "armed").unlink(missing_ok=True)
        assert code in (0, KILLED), self.stage.player.said()
        return code

    def traced(self, what: str) -> list[str]:
        """The steps of the service ("trace") or of the daemon ("seen")."""
        return (self.stage.directory / what).read_text("utf-8").splitlines()

    def settle(self) -> None:
        """Start the service again and let it deal with what was left."""
        self.stage.revive()
        node = {NODE: client_of(self.stage.daemon)}
        rig = Rig(self.database, node, image=self.stage.image, look_every_s=0.05)
        rig.start()
        try:
            settle(rig)
        finally:
            rig.stop()

    def column(self, sql: str) -> list[object]:
        """The first column of a query."""
        with Database.open(self.database, read_only=True) as database:
            return [next(iter(row.values())) for row in database.query(sql)]

    def check(self) -> None:
        """What must hold whatever was killed when: in the tables and between tables and node."""
        for what, sql in NEVER.items():
            assert self.column(sql) == [], what
        booked = self.column("SELECT name || ' ' || instance FROM sandboxes WHERE slot NOT NULL")
        there = [f"{box.name} {box.instance}" for box in client_of(self.stage.daemon).reconcile()]
        assert sorted(map(str, booked)) == sorted(there)
        JUDGES[self.scenario](self)


@pytest.fixture
def begin(stage: Stage, tmp_path: Path) -> Iterator[Callable[[str], Run]]:
    """A run over a fresh database, on a node without a sandbox."""
    numbers = iter(range(10_000))

    def make(scenario: str) -> Run:
        delete_all(stage.daemon)
        return Run(stage, scenario, tmp_path / f"run-{next(numbers)}.db")

    yield make
    delete_all(stage.daemon)


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
        assert in_force == [run.stage.second.digest]
        assert run.column("SELECT DISTINCT state FROM sandboxes") == ["deleted"]
    else:
        assert in_force == [run.stage.image.digest]
        assert run.column("SELECT DISTINCT state FROM sandboxes") == ["ready"]


JUDGES: dict[str, Callable[[Run], None]] = {
    "create": judge_creation,
    "delete": judge_deletion,
    "expire": judge_expiry,
    "switch": judge_switch,
}
SCENARIOS = [
    pytest.param(scenario, marks=pytest.mark.evidence(17 if scenario == "switch" else 14))
    for scenario in JUDGES
]


def kinds(step: str) -> tuple[str, ...]:
    """What happens at a step, whichever time it is."""
    return (step.rpartition(" #")[0],)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_service_may_die_at_any_step(
    begin: Callable[[str], Run], scenario: str, sample: Sample, pytestconfig: pytest.Config
) -> None:
    whole = begin(scenario)
    assert whole.play() == 0
    traced = whole.traced("trace")
    steps = sample.pick("sandbox kills", traced, of=f"service, {scenario}", kinds=kinds)

    killed = []
    for step in steps:
        run = begin(scenario)
        if run.play(service_dies_at=step) == KILLED:
            killed.append(step)
        run.settle()
        run.check()

    assert killed == steps
    assert len(traced) >= 8
    printer(pytestconfig)(f"service killed at {len(killed)} of {len(traced)} steps of '{scenario}'")


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_daemon_may_die_at_any_step(
    begin: Callable[[str], Run], scenario: str, sample: Sample, pytestconfig: pytest.Config
) -> None:
    whole = begin(scenario)
    assert whole.play() == 0
    traced = whole.traced("seen")
    steps = sample.pick("sandbox kills", traced, of=f"daemon, {scenario}", kinds=kinds)

    killed = []
    for milestone in steps:
        run = begin(scenario)
        assert run.play(daemon_dies_at=milestone) == 0
        if not (run.stage.directory / "kill-at").exists():
            killed.append(milestone)
        run.settle()
        run.check()

    assert killed == steps
    assert len(traced) >= 7
    printer(pytestconfig)(
        f"node daemon killed at {len(killed)} of {len(traced)} steps of '{scenario}'"
    )
