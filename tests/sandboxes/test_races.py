"""Two who want different things of the same sandboxes at the same moment, again and again.

Real actors, real database; only the node is in memory. Whatever came of a round, the tables are
asked for what must hold always.
"""

import itertools
import threading
import time
from collections.abc import Callable
from functools import partial

import pytest

from perlica.domain.ids import TicketId
from tests.behaviour.live import wait_until
from tests.sandboxes.rig import OWNERS, Rig
from tests.sandboxes.stage import NEW, OLD, THIRD
from tests.suite.sample import Sample

pytestmark = pytest.mark.timeout(900)

IN_FORCE = "SELECT digest FROM sandbox_image_config"
NEVER = {
    "more than three hold a slot": """
        SELECT count(*) FROM sandboxes WHERE slot IS NOT NULL HAVING count(*) > 3""",
    "two of a name": """
        SELECT name FROM sandboxes WHERE slot IS NOT NULL GROUP BY name HAVING count(*) > 1""",
    "an old image beside the one in force": """
        SELECT id FROM sandboxes WHERE slot IS NOT NULL
            AND image_digest <> (SELECT digest FROM sandbox_image_config)""",
    "made while the image was switched": """
        SELECT sandboxes.id FROM sandboxes JOIN image_switches AS switch
        WHERE sandboxes.created_at_ms > switch.started_at_ms
            AND (switch.state <> 'activated' OR sandboxes.created_at_ms < switch.changed_at_ms)""",
    "a ticket that paid twice": """
        SELECT ticket_id FROM operations WHERE ticket_id IS NOT NULL
        GROUP BY ticket_id HAVING count(*) > 1""",
    "a High operation without a spent ticket": """
        SELECT operations.id FROM operations LEFT JOIN approvals ON approvals.id = ticket_id
        WHERE level = 'high' AND operations.state NOT IN ('queued', 'abandoned')
            AND approvals.state IS NOT 'consumed'""",
    "a use that began after the deletion did": """
        SELECT used.id FROM operations AS used
        JOIN sandbox_operations AS use ON use.operation_id = used.id AND use.kind = 'exec'
        JOIN sandbox_operations AS deletion ON deletion.sandbox_id = use.sandbox_id
            AND deletion.kind = 'delete'
        JOIN operations AS deleted ON deleted.id = deletion.operation_id
        WHERE deleted.state = 'succeeded' AND used.started_at_ms > deleted.started_at_ms""",
    "an operation that nobody ended": """
        SELECT id FROM operations WHERE state IN ('queued', 'started', 'unknown')""",
    "two switches under way": """
        SELECT count(*) FROM image_switches WHERE state <> 'activated' HAVING count(*) > 1""",
}


def check(rig: Rig) -> None:
    """What must never be seen in the tables, and that node and tables agree."""
    for what, sql in NEVER.items():
        assert rig.column(sql) == [], what
    backend = rig.backends["test-node"]
    assert sorted(box.name for box in backend.reconcile()) == sorted(map(str, rig.living()))


# Who comes first must not hang on how busy the machine is: the acts of each meeting get head
# starts in turn, from none to long enough for one to be over.
HEAD_STARTS_S = (0.0, 0.001, 0.004, 0.016, 0.05)
_meetings = itertools.count()


def together(*acts: Callable[[], object]) -> list[object]:
    """Do everything at once, give or take a head start; the results in the order of the acts."""
    meeting = next(_meetings)
    head_start_s = HEAD_STARTS_S[meeting // len(acts) % len(HEAD_STARTS_S)]
    gate = threading.Barrier(len(acts), timeout=30)
    results: list[object] = [None] * len(acts)

    def run(number: int, act: Callable[[], object]) -> None:
        gate.wait()
        if number != meeting % len(acts):
            time.sleep(head_start_s)
        results[number] = act()

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(acts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results


@pytest.mark.evidence(13)
def test_of_two_creations_at_the_third_slot_one_gets_it(rig: Rig, sample: Sample) -> None:
    rig.create("one")
    rig.create("two")
    winners: set[str] = set()

    for _ in range(sample.rounds("sandbox races")):
        results = together(lambda: rig.create("left"), lambda: rig.create("right"))
        made = [
            name
            for name, said in zip(("left", "right"), results, strict=True)
            if "is ready" in str(said)
        ]
        assert len(made) == 1, results
        assert any("上限" in str(said) for said in results)
        check(rig)
        winners.update(made)
        rig.remove(made[0])

    assert winners == {"left", "right"}


@pytest.mark.evidence(17)
def test_a_creation_and_a_switch_never_both_have_their_way(rig: Rig, sample: Sample) -> None:
    outcomes = {
        _create_against_switch(rig, f"box-{number}")
        for number in range(sample.rounds("sandbox races"))
    }

    assert outcomes == {"created", "switched"}


def _create_against_switch(rig: Rig, name: str) -> str:
    """One round: which of the two came first."""
    target = NEW if rig.column(IN_FORCE) == [OLD] else OLD
    ticket = _ask_for_switch(rig, target)
    rig.approve(ticket)
    _wait_for(rig, ticket, "approved")

    said, _ = together(lambda: rig.create(name), rig.tick)
    rig.wait(lambda: rig.column(_UNDER_WAY) == [])

    check(rig)
    is_switched = rig.column(IN_FORCE) == [target]
    assert is_switched == (_state(rig, ticket) == "consumed")
    if "is ready" not in str(said):
        assert is_switched
        assert rig.living() == []
    rig.deny_all()
    rig.remove(name)
    return "created" if "is ready" in str(said) else "switched"


@pytest.mark.evidence(13)
def test_a_command_and_a_deletion_come_one_after_the_other(rig: Rig, sample: Sample) -> None:
    outcomes: set[bool] = set()
    for _ in range(sample.rounds("sandbox races")):
        rig.create("main")
        said, _ = together(lambda: rig.run("echo", "x"), lambda: rig.remove("main"))

        ran = "exit code 0" in str(said)
        assert ran or "changed" in str(said) or "deleted" in str(said) or "no sandbox" in str(said)
        assert rig.living() == []
        check(rig)
        outcomes.add(ran)

    assert outcomes == {True, False}


@pytest.mark.evidence(15)
def test_a_use_at_the_last_moment_wins_or_is_told_that_it_is_too_late(
    rig: Rig, sample: Sample
) -> None:
    outcomes: set[bool] = set()
    rig.create("main")
    for _ in range(sample.rounds("sandbox races")):
        rig.age("main", 8)
        said, _ = together(lambda: rig.run("true"), rig.tick)
        rig.wait(lambda: rig.column(_OPEN) == [])

        won = "exit code 0" in str(said)
        assert rig.living() == (["main"] if won else [])
        assert won or "deleted" in str(said) or "changed" in str(said) or "no sandbox" in str(said)
        check(rig)
        outcomes.add(won)
        if not won:
            assert "is ready" in rig.create("main")

    assert outcomes == {True, False}


@pytest.mark.evidence(17)
def test_two_owners_who_switch_at_once_make_one_switch_after_the_other(
    rig: Rig, sample: Sample
) -> None:
    winners = {_switch_against_switch(rig) for _ in range(sample.rounds("sandbox races"))}

    assert winners == {0, 1}


def _switch_against_switch(rig: Rig) -> int:
    """One round: whose switch it was."""
    current = str(rig.column(IN_FORCE)[0])
    targets = [digest for digest in (OLD, NEW, THIRD) if digest != current]
    tickets = [_ask_for_switch(rig, target, owner=n) for n, target in enumerate(targets)]
    switches = rig.count("SELECT 1 FROM image_switches")

    together(
        *(partial(rig.approve, t, user=o) for t, o in zip(tickets, OWNERS, strict=True)), rig.tick
    )
    rig.wait(lambda: not {"pending", "approved"} & {_state(rig, ticket) for ticket in tickets})
    rig.wait(lambda: rig.column(_UNDER_WAY) == [])

    states = [_state(rig, ticket) for ticket in tickets]
    assert sorted(states) == ["consumed", "void"]
    assert rig.count("SELECT 1 FROM image_switches") == switches + 1
    assert rig.column(IN_FORCE) == [targets[states.index("consumed")]]
    check(rig)
    rig.deny_all()
    return states.index("consumed")


_UNDER_WAY = "SELECT 1 FROM image_switches WHERE state = 'switching'"
_STATE = "SELECT state FROM approvals WHERE id = '{}'"
_OPEN = "SELECT id FROM operations WHERE state IN ('queued', 'started')"


def _state(rig: Rig, ticket: TicketId) -> str:
    return str(rig.column(_STATE.format(ticket))[0])


def _wait_for(rig: Rig, ticket: TicketId, state: str) -> None:
    """Without a tick, which would carry the ticket's order out."""
    wait_until(lambda: _state(rig, ticket) == state)


def _ask_for_switch(rig: Rig, digest: str, *, owner: int = 0) -> TicketId:
    known = set(rig.pending())
    rig.order("image", user=OWNERS[owner], action="switch", digest=digest)
    rig.tick()
    (ticket,) = set(rig.pending()) - known
    return ticket
