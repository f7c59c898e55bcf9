"""A backup is whole, a restored database belongs to a new time, and nothing old comes back."""

import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
import time_machine

from perlica.domain.approval import TicketState
from perlica.domain.clock import now_ms
from perlica.domain.errors import Misconfigured, Refused
from perlica.domain.operation import OperationState
from perlica.domain.outbox import OutboxKind, OutboxState
from perlica.domain.task import TaskState
from perlica.stores import database
from perlica.stores.approvals import ApprovalStore
from perlica.stores.audit import AuditStore
from perlica.stores.backup import (
    LAST_BACKUP_KEY,
    back_up,
    list_backups,
    prune,
    restore_backup,
    verify,
)
from perlica.stores.commands import CommandStore
from perlica.stores.database import Database
from perlica.stores.operations import OperationStore
from perlica.stores.outbox import OutboxStore
from perlica.stores.service import ServiceStore
from perlica.stores.tasks import TaskStore
from tests.stores.rows import (
    OWNER,
    begin_task,
    draw,
    new_ticket,
    queue,
    sealed,
    start,
    stored,
)

DAY_S = 86_400


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "backups"


@pytest.fixture
def clock() -> Iterator["time_machine.Traveller"]:
    with time_machine.travel(1_800_000_000.0, tick=False) as moved:
        yield moved


def contents(path: Path) -> list[str]:
    with Database.open(path) as db:
        rows = db.query("SELECT content FROM group_messages ORDER BY id")
    return [row["content"] for row in rows]


def test_a_backup_is_one_private_file_that_holds_everything(db: Database, folder: Path) -> None:
    stored(db, "一")

    backup = back_up(db, folder)

    assert list(folder.iterdir()) == [backup.path]
    assert stat.S_IMODE(backup.path.stat().st_mode) == 0o600
    assert backup.size_bytes == backup.path.stat().st_size
    assert list_backups(folder) == (backup,)
    assert ServiceStore(db).find(LAST_BACKUP_KEY) == str(backup.made_at_ms)
    plain = sqlite3.connect(f"file:{backup.path}?mode=ro&immutable=1", uri=True)
    try:
        assert plain.execute("SELECT content FROM group_messages").fetchall() == [("一",)]
    finally:
        plain.close()


def test_a_backup_is_of_one_moment_while_others_write(
    path: Path, db: Database, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_TIMEOUT_MS", 10)
    stored(db, "committed")
    with db.transaction(), Database.open(path) as copied:
        db.change("INSERT INTO service_state VALUES ('open', 'x')")
        backup = back_up(copied, folder).path

    restore_backup(backup, tmp_path / "again.sqlite3")

    with Database.open(tmp_path / "again.sqlite3") as restored:
        assert restored.query("SELECT key FROM service_state WHERE key = 'open'") == []
    assert contents(tmp_path / "again.sqlite3") == ["committed"]


def test_a_restored_database_can_be_searched_and_written(
    db: Database, folder: Path, tmp_path: Path
) -> None:
    stored(db, "沙箱")
    target = tmp_path / "new" / "perlica.sqlite3"

    restore_backup(back_up(db, folder).path, target)

    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert sorted(p.name for p in target.parent.iterdir()) == ["perlica.sqlite3"]
    with Database.open(target) as restored:
        stored(restored, "新的")
        assert restored.query("PRAGMA journal_mode") == [{"journal_mode": "wal"}]


def test_a_restore_ends_the_old_time(
    db: Database, folder: Path, tmp_path: Path, clock: "time_machine.Traveller"
) -> None:
    task = begin_task(db)
    ticket = draw(db, new_ticket(task=task.id))
    queued, started = queue(db), queue(db)
    start(db, started.id)
    command = stored(db, ".status", kind="control")
    with db.transaction():
        CommandStore(db).insert_command(command, OWNER, "status", {})
        (unsent,) = OutboxStore(db).enqueue(key="k", kind=OutboxKind.final, content=sealed("x"))
    target = tmp_path / "again.sqlite3"

    result = restore_backup(back_up(db, folder).path, target)

    assert (result.tasks_ended, result.tickets_void) == (1, 1)
    assert (result.operations_unknown, result.sends_held) == (2, 1)
    with Database.open(target) as restored:
        ended = TaskStore(restored).find_task(task.id)
        void = ApprovalStore(restored).find_ticket(ticket.id)
        held = OutboxStore(restored).find(unsent)
        operations = OperationStore(restored)
        left, doubted = operations.find(queued.id), operations.find(started.id)
        assert CommandStore(restored).take_pending() == ()
        assert ServiceStore(restored).find("restored_from") is not None
        assert [event.kind for event in AuditStore(restored).list_events(limit=5)] == ["restored"]
    assert ended is not None
    assert (ended.state, ended.end_reason) == (TaskState.failed, "restored")
    assert void is not None
    assert void.state is TicketState.void
    assert held is not None
    assert (held.state, held.last_error) == (OutboxState.dead, "restored")
    assert left is not None
    assert doubted is not None
    # What was queued then may have been done since: both are looked up.
    assert (left.state, doubted.state) == (OperationState.unknown, OperationState.unknown)


def test_each_restore_begins_a_later_epoch_even_of_the_same_backup(
    db: Database, folder: Path, tmp_path: Path, clock: "time_machine.Traveller"
) -> None:
    backup = back_up(db, folder).path

    first = restore_backup(backup, tmp_path / "one.sqlite3").epoch
    clock.shift(1)
    second = restore_backup(backup, tmp_path / "two.sqlite3").epoch

    assert ServiceStore(db).epoch() < first < second
    with Database.open(tmp_path / "two.sqlite3") as restored:
        assert ServiceStore(restored).epoch() == second


def test_what_expired_since_the_backup_does_not_come_back(
    db: Database, folder: Path, tmp_path: Path, clock: "time_machine.Traveller"
) -> None:
    stored(db, "龘靐龖")
    clock.shift(80 * DAY_S)
    stored(db, "younger")
    backup = back_up(db, folder).path
    clock.shift(11 * DAY_S)
    target = tmp_path / "again" / "perlica.sqlite3"

    restore_backup(backup, target)

    assert contents(target) == ["younger"]
    assert "龘".encode() not in target.read_bytes()


def test_a_restore_never_replaces_a_database(db: Database, path: Path, folder: Path) -> None:
    backup = back_up(db, folder).path

    with pytest.raises(Refused, match="database_exists"):
        restore_backup(backup, path)


@pytest.mark.parametrize("damage", ["cut", "noise", "empty"])
def test_a_damaged_backup_is_refused_and_leaves_nothing(
    db: Database, folder: Path, tmp_path: Path, damage: str
) -> None:
    for _ in range(200):
        stored(db, "沙箱" * 20)
    backup = back_up(db, folder).path
    whole = backup.read_bytes()
    middle = len(whole) // 2
    ruined = {
        "cut": whole[:middle],
        "noise": whole[:middle] + b"\xa5" * 8_192 + whole[middle + 8_192 :],
        "empty": b"",
    }
    backup.write_bytes(ruined[damage])
    target = tmp_path / "target" / "perlica.sqlite3"

    with pytest.raises(Misconfigured):
        restore_backup(backup, target)

    assert not target.parent.exists() or list(target.parent.iterdir()) == []


def test_a_backup_that_cannot_be_written_leaves_no_half_file(db: Database, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("x")

    with pytest.raises(Misconfigured, match="backup_failed"):
        back_up(db, blocked)

    assert blocked.read_text() == "x"


def test_a_backup_is_not_made_inside_a_transaction(db: Database, folder: Path) -> None:
    with pytest.raises(RuntimeError), db.transaction():
        back_up(db, folder)


def test_old_backups_go_and_other_files_stay(
    db: Database, folder: Path, clock: "time_machine.Traveller"
) -> None:
    old = back_up(db, folder).path
    clock.shift(2 * DAY_S)
    new = back_up(db, folder).path
    (folder / "notes.txt").write_text("mine")

    gone = prune(folder, keep_ms=DAY_S * 1000)

    assert gone == (old,)
    assert sorted(p.name for p in folder.iterdir()) == ["notes.txt", new.name]
    verify(new)
    assert now_ms() == 1_800_000_000_000 + 2 * DAY_S * 1000
