"""Three slots, names in use once, one image: held by the database."""

import threading
from pathlib import Path

import pytest
import time_machine

from perlica.domain.clock import now_ms
from perlica.domain.errors import Refused, StaleState
from perlica.domain.ids import SandboxName
from perlica.domain.sandbox import MAX_SANDBOXES, OCCUPYING, SandboxImage, SandboxState
from perlica.stores.database import Database
from perlica.stores.operations import OperationStore
from perlica.stores.orphans import OrphanStore
from perlica.stores.sandboxes import SandboxRow, SandboxStore
from tests.stores.rows import IMAGE, LIMITS, queue, reserve, sealed, spec, start

RAW_FOURTH_SLOT = """
INSERT INTO sandboxes SELECT NULL, 'raw', 4, state, '', purpose, protection_status, policy_version,
    finding_count, node, '', image_digest, image_revision, limits, network, 1, 1, NULL,
    idle_ms
FROM sandboxes LIMIT 1
"""
NEXT_IMAGE = SandboxImage(
    reference="local/base:2", digest="sha256:" + "2" * 64, introduction="新的", revision=2
)


def move(db: Database, row: SandboxRow, after: SandboxState) -> SandboxRow:
    sandboxes = SandboxStore(db)
    now = sandboxes.find(row.id)
    assert now is not None
    with db.transaction():
        return sandboxes.move(row.id, before=now.state, after=after, instance="i-1")


def test_a_reserved_sandbox_holds_slot_name_image_and_limits(db: Database) -> None:
    row = reserve(db)

    assert (row.slot, row.name, row.state) == (1, "dev", SandboxState.creating)
    assert (row.image_digest, row.image_revision) == (IMAGE.digest, IMAGE.revision)
    assert (row.limits, row.purpose.content) == (LIMITS, "building")
    assert SandboxStore(db).find_living(SandboxName("dev")) == row


@pytest.mark.parametrize("state", OCCUPYING)
def test_a_fourth_sandbox_is_refused_whatever_state_the_third_is_in(
    db: Database, state: SandboxState
) -> None:
    rows = [reserve(db, name) for name in ("one", "two", "three")]
    if state is not SandboxState.creating:
        move(db, rows[2], state)

    with pytest.raises(Refused, match="sandbox_capacity"):
        reserve(db, "four")

    assert len(SandboxStore(db).list_living()) == MAX_SANDBOXES


@pytest.mark.parametrize("state", OCCUPYING)
def test_a_name_is_taken_until_its_clean_up_is_confirmed(db: Database, state: SandboxState) -> None:
    row = reserve(db)
    if state is not SandboxState.creating:
        move(db, row, state)

    with pytest.raises(Refused, match="sandbox_name_taken"):
        reserve(db)


def test_a_deletion_gives_slot_and_name_back(db: Database) -> None:
    for name in ("one", "two"):
        reserve(db, name)
    gone = move(db, reserve(db), SandboxState.deleted)

    again = reserve(db)

    assert (gone.slot, gone.ended_at_ms is not None) == (None, True)
    assert (again.slot, again.name) == (3, "dev")
    assert again.id != gone.id
    assert SandboxStore(db).find(gone.id) == gone


def test_a_loss_gives_the_slot_back_and_keeps_the_name_until_the_clean_up_is_confirmed(
    db: Database,
) -> None:
    gone = move(db, reserve(db), SandboxState.lost)

    with pytest.raises(Refused, match="sandbox_name_taken"):
        reserve(db)
    other = reserve(db, "other")
    with db.transaction():
        OrphanStore(db).clear(gone.id)

    assert (gone.slot, other.slot) == (None, 1)
    assert reserve(db).name == gone.name


@pytest.mark.parametrize(
    "sql",
    [
        RAW_FOURTH_SLOT,
        "UPDATE sandboxes SET slot = 1",
        "UPDATE sandboxes SET slot = NULL",
        "UPDATE sandboxes SET name = 'renamed'",
        "UPDATE sandboxes SET image_digest = 'sha256:0'",
        "UPDATE sandboxes SET node = 'elsewhere'",
    ],
)
def test_capacity_name_image_and_node_hold_even_against_raw_sql(db: Database, sql: str) -> None:
    before = [reserve(db, name) for name in ("one", "two")]

    with pytest.raises(Refused), db.transaction():
        db.query(sql)

    assert SandboxStore(db).list_living() == tuple(before)


def test_a_deleted_sandbox_does_not_come_back(db: Database) -> None:
    row = move(db, reserve(db), SandboxState.deleted)

    with pytest.raises(Refused):
        move(db, row, SandboxState.ready)


@pytest.mark.evidence(13)
def test_of_two_connections_that_want_the_third_slot_one_gets_it(path: Path) -> None:
    with Database.open(path) as db:
        for name in ("one", "two"):
            reserve(db, name)
    gate = threading.Barrier(2, timeout=30)
    outcomes: list[str] = []

    def take(name: str) -> None:
        with Database.open(path) as mine:
            gate.wait()
            try:
                reserve(mine, name)
                outcomes.append("reserved")
            except Refused as refusal:
                outcomes.append(refusal.code)

    threads = [threading.Thread(target=take, args=(name,)) for name in ("left", "right")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)

    assert sorted(outcomes) == ["reserved", "sandbox_capacity"]


@pytest.mark.evidence(16)
def test_a_creation_from_an_image_that_is_no_longer_the_global_one_misses(db: Database) -> None:
    sandboxes = SandboxStore(db)
    with db.transaction():
        sandboxes.set_image(IMAGE)
        sandboxes.set_image(NEXT_IMAGE)

    with pytest.raises(StaleState, match="image_changed"), db.transaction():
        sandboxes.reserve(spec(), IMAGE, sealed("late"))

    assert sandboxes.list_living() == ()


def test_the_image_only_moves_forward(db: Database) -> None:
    sandboxes = SandboxStore(db)
    assert sandboxes.image() is None
    with db.transaction():
        sandboxes.set_image(NEXT_IMAGE)
        sandboxes.set_image(NEXT_IMAGE)

    with pytest.raises(StaleState), db.transaction():
        sandboxes.set_image(IMAGE)

    assert sandboxes.image() == NEXT_IMAGE


def test_a_late_move_misses(db: Database) -> None:
    row = reserve(db)
    move(db, row, SandboxState.ready)

    with pytest.raises(StaleState), db.transaction():
        SandboxStore(db).move(row.id, before=SandboxState.creating, after=SandboxState.deleted)


@pytest.mark.evidence(15)
def test_a_use_puts_the_expiry_off_and_a_description_does_not(db: Database) -> None:
    sandboxes = SandboxStore(db)
    with time_machine.travel(1_000.0, tick=False) as clock:
        row = move(db, reserve(db), SandboxState.ready)
        clock.shift(60)
        with db.transaction():
            described = sandboxes.set_purpose(row.id, sealed("testing"))
            used = sandboxes.touch(row.id, now_ms())
            earlier = sandboxes.touch(row.id, now_ms() - 30_000)

    assert (described.last_active_at_ms, described.purpose.content) == (1_000_000, "testing")
    assert used.last_active_at_ms == earlier.last_active_at_ms == 1_060_000


@pytest.mark.evidence(15)
def test_a_use_of_a_sandbox_that_is_being_deleted_is_told_so(db: Database) -> None:
    row = move(db, reserve(db), SandboxState.deleting)

    with pytest.raises(StaleState, match="sandbox_ending"), db.transaction():
        SandboxStore(db).touch(row.id, now_ms())


@pytest.mark.evidence(14)
def test_an_unknown_operation_is_seen_at_the_sandbox_that_it_touched(db: Database) -> None:
    sandboxes = SandboxStore(db)
    touched, untouched = reserve(db, "one"), reserve(db, "two")
    operation = queue(db)
    with db.transaction():
        sandboxes.insert_operation(operation.id, touched.id, "exec", is_write=True)
    assert not sandboxes.has_unknown(touched.id)
    start(db, operation.id)

    with db.transaction():
        OperationStore(db).mark_unknown(operation.id, "no_answer")

    assert sandboxes.has_unknown(touched.id)
    assert not sandboxes.has_unknown(untouched.id)
    (listed,) = sandboxes.list_operations(touched.id, 5)
    assert (listed.operation_id, listed.kind, listed.is_write) == (operation.id, "exec", True)
    assert sandboxes.find_operation(operation.id) == listed
