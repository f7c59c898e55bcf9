"""kill -9 at every milestone of every kind of operation: none repeated, none lost, nothing left.

What a command printed is looked for afterwards wherever it must not be.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import pytest

from sandboxd import wire
from sandboxd.milestones import Milestone
from tests.printing import printer
from tests.sandboxd.client import Answered, Box, new_id
from tests.sandboxd.mortal import Mortal, mortal_daemon

pytestmark = pytest.mark.root
CANARY = b"canary-91c4d2"
# The shell puts it together, so that only the output holds it whole.
COUNT_AND_SAY = "echo x >> /root/count; sync; a=canary; echo $a-91c4d2; echo $a-91c4d2 >&2"

MILESTONES: dict[str, tuple[Milestone, ...]] = {
    "create": (
        "journal started",
        "record creating",
        "disk allocated",
        "disk made",
        "record present",
        "effect done",
        "journal finished",
    ),
    "exec": (
        "journal started",
        "container ended",
        "mounted",
        "container started",
        "command started",
        "command ended",
        "effect done",
        "output kept",
        "journal finished",
    ),
    "write": (
        "journal started",
        "command started",
        "command ended",
        "effect done",
        "journal finished",
    ),
    "stop": ("journal started", "container ended", "unmounted", "effect done", "journal finished"),
    "delete": (
        "journal started",
        "record deleting",
        "container ended",
        "unmounted",
        "disk removed",
        "effect done",
        "journal finished",
    ),
}
CASES = [(kind, milestone) for kind, found in MILESTONES.items() for milestone in found]


@pytest.fixture(scope="module")
def mortal(
    layout: Path, needs_node: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mortal]:
    with mortal_daemon(layout, tmp_path_factory.mktemp("mortal")) as mortal:
        yield mortal


@pytest.fixture
def empty(mortal: Mortal) -> Iterator[Mortal]:
    mortal.daemon.ensure_running()
    yield mortal
    mortal.daemon.ensure_running()
    for state in mortal.client.sandboxes():
        Box(mortal.client, state).delete()


def call_of(mortal: Mortal, kind: str, box: Box | None) -> Callable[[wire.OperationId], object]:
    """The same request each time it is called with the same id."""
    (held,) = mortal.client.images()
    if box is None:
        return lambda op: mortal.client.create("box", held.digest, operation=op)
    known = box
    calls: dict[str, Callable[[wire.OperationId], object]] = {
        "exec": lambda op: known.shell(COUNT_AND_SAY, operation=op),
        "write": lambda op: known.write("/root/file", b"written", operation=op),
        "stop": lambda op: known.stop(operation=op),
        "delete": lambda op: known.delete(operation=op),
    }
    return calls[kind]


def prepare(mortal: Mortal, kind: str) -> Box | None:
    if kind == "create":
        return None
    box = mortal.make_box()
    if kind != "exec":  # An exec begins with a stopped sandbox, to see that mounted as well.
        box.run("/bin/true")
    return box


@pytest.mark.parametrize("kind", list(MILESTONES))
def test_the_table_names_every_milestone_of_an_operation(empty: Mortal, kind: str) -> None:
    act = call_of(empty, kind, prepare(empty, kind))
    empty.seen()

    act(new_id())

    assert empty.seen() == MILESTONES[kind]


def test_the_table_names_every_milestone_there_is(pytestconfig: pytest.Config) -> None:
    counts = ", ".join(f"{kind} {len(found)}" for kind, found in MILESTONES.items())
    printer(pytestconfig)(f"kill -9 of sandboxd at {len(CASES)} steps of its operations: {counts}")

    assert {milestone for _, milestone in CASES} == set(get_args(Milestone))


@pytest.mark.evidence(14)
@pytest.mark.parametrize(("kind", "milestone"), CASES)
def test_a_daemon_killed_there_repeats_nothing_loses_nothing_and_leaves_nothing(
    empty: Mortal, kind: str, milestone: Milestone
) -> None:
    box = prepare(empty, kind)
    act = call_of(empty, kind, box)
    operation = new_id()
    empty.die_at(milestone, lambda: act(operation))
    places = empty.places_of(CANARY)
    empty.daemon.start()

    report = empty.client.report(operation)
    try:
        again: object = act(operation)
    except Answered as answered:
        again = answered.answer.error
    garbage = empty.client.call(wire.GarbageReport, "GET", wire.GARBAGE_PATH)

    assert report.state in {"finished", "interrupted"}
    assert (again == "unknown_outcome") == (report.state == "interrupted")
    if milestone == "journal finished":
        assert report.state == "finished"
    assert garbage.orphans == ()
    assert places == []
    assert empty.places_of(CANARY) == []
    check_what_is_there(empty, kind, milestone, report)


def check_what_is_there(
    mortal: Mortal, kind: str, milestone: Milestone, report: wire.OperationReport
) -> None:
    states = mortal.client.sandboxes()
    if kind == "create":
        made = report.state == "finished"
        assert len(states) == made
        assert len(list((mortal.daemon.state / "sandboxes").iterdir())) == made
    elif kind == "delete" and milestone != "journal started":
        assert report.state == "finished"
        assert isinstance(report.outcome, wire.DeletionProof)
        assert states == ()
    else:
        assert len(states) == 1
        box = Box(mortal.client, states[0])
        if kind == "exec":
            before = MILESTONES["exec"].index(milestone) < MILESTONES["exec"].index("command ended")
            count = int(box.says("cat /root/count 2>/dev/null | wc -l"))
            assert count <= 1 if before else count == 1
        elif kind == "stop":
            assert report.state == "finished"


@pytest.mark.evidence(14)
def test_a_create_that_was_interrupted_can_be_asked_for_under_a_new_id(empty: Mortal) -> None:
    act = call_of(empty, "create", None)
    empty.die_at("disk made", lambda: act(new_id()))
    empty.daemon.start()

    assert isinstance(act(new_id()), wire.SandboxState)


@pytest.mark.evidence(14)
def test_an_output_is_in_memory_until_it_is_acknowledged_and_nowhere_afterwards(
    empty: Mortal,
) -> None:
    box = empty.make_box()
    operation = new_id()
    box.shell(COUNT_AND_SAY, operation=operation)
    outputs = empty.daemon.run / "outputs"
    held = [file.name for file in outputs.iterdir() if CANARY in file.read_bytes()]
    empty.daemon.kill()
    empty.daemon.start()
    report = empty.client.report(operation)
    empty.client.acknowledge(operation)

    left = [file.name for file in outputs.iterdir() if file.name == operation]

    assert operation in held
    assert isinstance(report.outcome, wire.ExecOutcome)
    assert report.outcome.stdout == CANARY + b"\n"
    assert left == []
    assert empty.places_of(CANARY) == []
