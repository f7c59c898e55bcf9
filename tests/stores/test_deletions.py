"""What was deleted or recalled after a backup does not come back with it."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import time_machine

from perlica.domain.clock import now_ms
from perlica.domain.errors import Misconfigured, StoreUnavailable
from perlica.domain.ids import MessageId
from perlica.domain.outbox import OutboxKind
from perlica.stores.answers import AnswerStore
from perlica.stores.backup import back_up, restore_backup
from perlica.stores.database import Database
from perlica.stores.deletions import LOG_IN_BACKUPS, DeletionLog
from perlica.stores.messages import MessageStore
from perlica.stores.outbox import OutboxStore
from perlica.stores.pressure import DiskPressure
from perlica.stores.retention import Retention, RetentionAges
from tests.stores.rows import OWNER, SELF, message, sealed, stored

DAY_MS = 86_400_000
DAY_S = 86_400


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "backups"


@pytest.fixture
def clock() -> Iterator["time_machine.Traveller"]:
    with time_machine.travel(1_800_000_000.0, tick=False) as moved:
        yield moved


def found(path: Path) -> list[str]:
    """What can be read of the messages."""
    with Database.open(path) as db:
        sql = "SELECT content FROM group_messages WHERE recalled_at_ms IS NULL ORDER BY id"
        return [row["content"] for row in db.query(sql)]


def move_away(path: Path) -> None:
    """As an operator does it: the database alone, the deletion log stays."""
    for name in (path.name, path.name + "-wal", path.name + "-shm"):
        if (file := path.with_name(name)).exists():
            file.rename(path.with_name("old-" + name))


def test_a_message_that_was_recalled_after_the_backup_stays_hidden(
    db: Database, path: Path, folder: Path
) -> None:
    taken_back, left = message("taken back"), message("left")
    stored(db, taken_back)
    stored(db, left)
    backup = back_up(db, folder).path
    with db.transaction():
        MessageStore(db).mark_recalled(taken_back.message_id, now_ms(), author=OWNER)
    move_away(path)

    restore_backup(backup, path)

    assert found(path) == ["left"]
    with Database.open(path) as restored:
        span = {"after_ms": 0, "before_ms": now_ms(), "limit": 9}
        assert MessageStore(restored).search("taken", **span) == ()


def test_what_pressure_deleted_after_the_backup_does_not_come_back(
    db: Database, path: Path, folder: Path, clock: "time_machine.Traveller"
) -> None:
    stored(db, "龘靐龖")
    clock.shift(20 * DAY_S)
    stored(db, "younger")
    backup = back_up(db, folder).path
    pressure = DiskPressure(db, RetentionAges(), min_free_bytes=2**60)
    while not getattr(pressure.relieve(), "is_spent", True):
        pass
    move_away(path)

    restore_backup(backup, path)

    assert found(path) == ["younger"]
    assert "龘".encode() not in path.read_bytes()


def test_what_shorter_ages_deleted_does_not_come_back_under_longer_ones(
    db: Database, path: Path, folder: Path, clock: "time_machine.Traveller"
) -> None:
    stored(db, "old")
    clock.shift(10 * DAY_S)
    stored(db, "younger")
    backup = back_up(db, folder).path
    Retention(db, RetentionAges(message_ms=5 * DAY_MS)).clean_up()
    move_away(path)

    restore_backup(backup, path, RetentionAges())

    assert found(path) == ["younger"]


def test_a_backup_on_another_machine_knows_what_was_deleted_before_the_newest_one(
    db: Database, folder: Path, tmp_path: Path, clock: "time_machine.Traveller"
) -> None:
    stored(db, "old")
    older = back_up(db, folder).path
    clock.shift(10 * DAY_S)
    Retention(db, RetentionAges(message_ms=5 * DAY_MS)).clean_up()
    back_up(db, folder)
    target = tmp_path / "elsewhere" / "perlica.db"

    restore_backup(older, target)

    assert (folder / LOG_IN_BACKUPS).is_file()
    assert found(target) == []
    assert DeletionLog.beside(target).read() == DeletionLog.beside(db.path).read()


def test_the_deletion_log_holds_ids_and_times_and_no_content(
    db: Database, path: Path, clock: "time_machine.Traveller"
) -> None:
    taken_back = message("a very private sentence")
    stored(db, taken_back)
    with db.transaction():
        MessageStore(db).mark_recalled(taken_back.message_id, now_ms(), author=OWNER)
    clock.shift(91 * DAY_S)
    Retention(db).clean_up()

    text = path.with_name(path.name + ".deletions").read_text()

    assert "private" not in text
    assert str(taken_back.message_id) in text
    assert oct(path.with_name(path.name + ".deletions").stat().st_mode & 0o777) == "0o600"


def test_a_recall_is_on_disk_before_the_deletion_is_committed(
    db: Database, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken_back = message("taken back")
    stored(db, taken_back)
    synced: list[bytes] = []
    real = os.fsync

    def sync(descriptor: int) -> None:
        real(descriptor)
        if Path(f"/proc/self/fd/{descriptor}").readlink().suffix == ".deletions":
            assert db.in_transaction
            synced.append(os.pread(descriptor, 1_000, 0))

    monkeypatch.setattr(os, "fsync", sync)
    with db.transaction():
        MessageStore(db).mark_recalled(taken_back.message_id, 7)

    assert len(synced) == 1
    assert json.loads(synced[0])["recalled"] == taken_back.message_id


def test_an_answer_of_ours_that_was_recalled_is_in_the_log_too(db: Database) -> None:
    with db.transaction():
        (row,) = OutboxStore(db).enqueue(key="k", kind=OutboxKind.final, content=sealed("x"))
    with db.transaction():
        OutboxStore(db).begin_attempt(row, "echo", "0" * 64, now_ms())
    with db.transaction():
        AnswerStore(db).mark_recalled(MessageId(7), 5, author=SELF)

    assert {one.message_id for one in DeletionLog.beside(db.path).read().recalled} == {7}


def test_a_log_that_grows_is_rewritten_with_what_still_matters(
    tmp_path: Path, clock: "time_machine.Traveller"
) -> None:
    log = DeletionLog.beside(tmp_path / "perlica.db")
    log.note_kept_since({"message_ms": 5})
    log.note_recalled(1, None, now_ms())
    clock.shift(92 * DAY_S)
    log.note_recalled(2, 3, now_ms())
    file = tmp_path / "perlica.db.deletions"
    file.write_bytes(file.read_bytes() + b'{"kept_since":{"message_ms":6}}\n' * 4_000)
    log.note_kept_since({"message_ms": 7})

    kept = log.read()

    assert file.stat().st_size < 200
    assert kept.kept_since == {"message_ms": 7}
    assert 2 in {one.message_id for one in kept.recalled}
    assert 1 not in {one.message_id for one in kept.recalled}


def test_a_line_that_a_crash_cut_is_passed_over_and_the_next_one_is_whole(tmp_path: Path) -> None:
    log = DeletionLog.beside(tmp_path / "perlica.db")
    file = tmp_path / "perlica.db.deletions"
    log.note_recalled(1, None, 10)
    file.write_bytes(file.read_bytes() + b'{"recal')

    assert {one.message_id for one in log.read().recalled} == {1}
    log.note_recalled(2, None, 20)
    assert {one.message_id for one in log.read().recalled} == {1, 2}


def test_a_damaged_log_stops_the_restore_and_names_line_and_remedy(
    db: Database, folder: Path, tmp_path: Path
) -> None:
    backup = back_up(db, folder).path
    target = tmp_path / "new" / "perlica.db"
    target.parent.mkdir()
    (target.parent / "perlica.db.deletions").write_text("garbage\n{}\n")

    with pytest.raises(Misconfigured, match="line 1") as damage:
        restore_backup(backup, target)

    assert "move the file away" in damage.value.remedy
    assert not target.exists()


def test_without_room_for_the_log_nothing_is_deleted(
    db: Database, clock: "time_machine.Traveller", monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(db, "old")
    clock.shift(91 * DAY_S)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StoreUnavailable, match="database_full"):
        Retention(db).clean_up()

    assert found(db.path) == ["old"]
