"""What the pages read of sandboxes and operations, and what a missing folder or row gives."""

from dataclasses import replace
from pathlib import Path

from perlica.stores.backup import back_up, list_backups, prune
from perlica.stores.database import Database
from perlica.stores.sandboxes import SandboxStore
from perlica.stores.views.operations import (
    find_for_call,
    find_for_ticket,
    find_operation,
    list_for_task,
    list_in_sandbox,
    list_unknown,
)
from perlica.stores.views.sandboxes import find_image, find_sandbox, list_ended
from tests.stores.rows import queue, reserve, start


def test_a_folder_that_is_missing_holds_no_backups(tmp_path: Path) -> None:
    assert list_backups(tmp_path / "none") == ()
    assert prune(tmp_path / "none", keep_ms=1) == ()


def test_backups_are_listed_newest_first_and_old_ones_pruned(db: Database, tmp_path: Path) -> None:
    made = back_up(db, tmp_path / "kept")

    assert [one.path for one in list_backups(tmp_path / "kept")] == [made.path]
    assert prune(tmp_path / "kept", keep_ms=3_600_000) == ()
    assert prune(tmp_path / "kept", keep_ms=-3_600_000) == (made.path,)
    assert list_backups(tmp_path / "kept") == ()


def test_a_sandbox_is_read_with_what_was_done_in_it_newest_first(db: Database) -> None:
    row = reserve(db)
    first, second = queue(db), queue(db)
    with db.transaction():
        store = SandboxStore(db)
        store.insert_operation(first.id, row.id, "read", is_write=False)
        store.insert_operation(second.id, row.id, "exec", is_write=True)

    deeds = list_in_sandbox(db, row.id, limit=5)

    assert [deed.operation.id for deed in deeds] == [second.id, first.id]
    assert [(deed.kind, deed.is_write) for deed in deeds] == [("exec", True), ("read", False)]
    assert len(list_in_sandbox(db, row.id, limit=1)) == 1
    before = list_in_sandbox(db, row.id, limit=5, before=second.id)
    assert [deed.operation.id for deed in before] == [first.id]
    found = find_sandbox(db, row.id)
    assert found is not None
    assert found.name == row.name
    assert find_sandbox(db, row.id + 1) is None
    assert list_ended(db, 5) == ()
    assert find_image(db) is not None


def test_an_operation_is_found_by_its_id_and_took_no_time_before_its_end(db: Database) -> None:
    operation = queue(db)
    waiting = find_operation(db, operation.id)
    start(db, operation.id)
    running = find_operation(db, operation.id)

    assert waiting is not None
    assert running is not None
    assert (waiting.took_ms, running.took_ms) == (None, None)
    assert replace(running, started_at_ms=3, ended_at_ms=10).took_ms == 7
    assert replace(running, started_at_ms=None, ended_at_ms=10).took_ms is None
    assert running.ordered_by is None
    assert find_operation(db, "op-none") is None
    assert find_for_ticket(db, "none") is None
    assert find_for_call(db, "none") is None
    assert list_for_task(db, "none") == ()
    assert list_unknown(db) == ()
