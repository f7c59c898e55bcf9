"""A restore is time travel: whatever stands at its place, it harms nothing and repeats nothing."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import time_machine

from perlica.domain.clock import now_ms
from perlica.domain.errors import Misconfigured, Refused
from perlica.domain.ids import GroupId
from perlica.domain.sandbox import SandboxState
from perlica.stores.backup import back_up, restore_backup
from perlica.stores.database import Database
from perlica.stores.messages import MessageStore
from perlica.stores.migrations import APPLICATION_ID, check_target, migrate
from perlica.stores.old_time import RESTORED_AT_KEY
from perlica.stores.sandboxes import SandboxStore
from perlica.stores.service import ServiceStore
from tests.stores.rows import GROUP, OTHER_GROUP, OWNER, ROOT, message, reserve, stored

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


# --- what stands at its place -----------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal"])
def test_a_restore_refuses_beside_anything_of_another_database_and_names_it(
    db: Database, folder: Path, tmp_path: Path, suffix: str
) -> None:
    backup = back_up(db, folder).path
    target = tmp_path / "new" / "perlica.db"
    target.parent.mkdir()
    remains = target.with_name(target.name + suffix)
    remains.write_bytes(b"of another database")

    with pytest.raises(Refused, match=remains.name) as refusal:
        restore_backup(backup, target)

    assert "move it away" in refusal.value.remedy
    assert list(target.parent.iterdir()) == [remains]
    assert remains.read_bytes() == b"of another database"


def test_a_hot_log_that_a_crash_left_is_never_played_into_the_restored_database(
    db: Database, path: Path, folder: Path
) -> None:
    stored(db, "backed up")
    backup = back_up(db, folder).path
    writer = os.fork()
    if writer == 0:
        doomed = Database.open(path)
        for number in range(300):
            with doomed.transaction():
                ServiceStore(doomed).set(f"key-{number}", "x" * 900)
        os._exit(9)
    os.waitpid(writer, 0)
    path.rename(path.with_name("old"))

    with pytest.raises(Refused, match="-wal"):
        restore_backup(backup, path)
    move_away(path)
    restore_backup(backup, path)

    assert found(path) == ["backed up"]
    with Database.open(path) as restored:
        assert restored.query("PRAGMA integrity_check") == [{"integrity_check": "ok"}]
        assert ServiceStore(restored).find("key-1") is None


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
def test_a_log_beside_the_backup_is_not_read_into_it(
    db: Database, folder: Path, tmp_path: Path, suffix: str
) -> None:
    backup = back_up(db, folder).path
    backup.with_name(backup.name + suffix).write_bytes(b"of another database")

    with pytest.raises(Refused, match="backup_not_alone"):
        restore_backup(backup, tmp_path / "new" / "perlica.db")


def test_other_files_of_the_state_directory_stay_as_they_are(
    db: Database, folder: Path, tmp_path: Path
) -> None:
    target = tmp_path / "new" / "perlica.db"
    target.parent.mkdir()
    (target.parent / "notes.txt").write_text("mine")
    (target.parent / "perlica.db.partial").write_text("left by a restore that was killed")

    restore_backup(back_up(db, folder).path, target)

    assert sorted(p.name for p in target.parent.iterdir()) == ["notes.txt", "perlica.db"]
    assert (target.parent / "notes.txt").read_text() == "mine"


def test_a_backup_of_another_group_is_refused_before_anything_is_made(
    db: Database, folder: Path, tmp_path: Path
) -> None:
    target = tmp_path / "new" / "perlica.db"

    with pytest.raises(Refused, match="other_group"):
        restore_backup(back_up(db, folder).path, target, group_id=GroupId(OTHER_GROUP))

    assert not target.parent.exists()


def test_a_backup_of_a_newer_program_is_refused_and_leaves_nothing(
    db: Database, folder: Path, tmp_path: Path
) -> None:
    with db.transaction():
        db.change("INSERT INTO schema_versions VALUES (9999, 'later', 'x', 0)")
    target = tmp_path / "new" / "perlica.db"

    with pytest.raises(Misconfigured, match="schema_too_new"):
        restore_backup(back_up(db, folder).path, target)

    assert list(target.parent.iterdir()) == []


def test_a_database_of_another_program_is_no_backup(tmp_path: Path) -> None:
    alien = tmp_path / "alien.sqlite3"
    migrate(alien)
    raw = alien.read_bytes().replace(APPLICATION_ID.to_bytes(4, "big"), b"else", 1)
    alien.write_bytes(raw)

    with pytest.raises(Misconfigured, match="another program"):
        restore_backup(alien, tmp_path / "new" / "perlica.db")


@pytest.mark.root
def test_what_root_makes_belongs_to_the_owner_of_the_state_directory(
    db: Database, path: Path, folder: Path
) -> None:
    state = path.parent
    os.chown(state, 4_321, 4_322)
    stored(db, "one")
    with db.transaction():
        MessageStore(db).mark_recalled(message().message_id, now_ms())
    backup = back_up(db, state / "backups").path
    move_away(path)

    restore_backup(backup, path)

    made = (path, backup.parent, backup)
    assert {(p.stat().st_uid, p.stat().st_gid) for p in made} == {(4_321, 4_322)}
    assert [oct(p.stat().st_mode & 0o777) for p in (path, backup)] == ["0o600", "0o600"]


def test_a_restore_that_is_killed_at_any_line_leaves_no_database_or_a_whole_one(
    db: Database, folder: Path, tmp_path: Path
) -> None:
    for number in range(20):
        stored(db, f"message {number}")
    backup = back_up(db, folder).path

    ended = subprocess.run(
        [sys.executable, "-m", "tests.stores.restore_killer", str(backup), str(tmp_path / "k")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=55,
    )

    kills = [json.loads(line) for line in ended.stdout.splitlines()]
    assert len(kills) > 20
    assert {kill["there"] for kill in kills} == {True, False}
    # Without a database the next restore makes it; with one there is nothing beside it.
    assert all(kill["again"] is not kill["there"] for kill in kills)
    assert not any(kill["beside"] for kill in kills)


@pytest.mark.root
def test_a_restore_onto_a_full_disk_says_so_and_leaves_nothing(
    db: Database, folder: Path, tmp_path: Path
) -> None:
    backup = back_up(db, folder).path
    small = tmp_path / "small"
    small.mkdir()
    program = (
        "import sys; from pathlib import Path\n"
        "from perlica.domain.errors import PerlicaError\n"
        "from perlica.stores.backup import restore_backup\n"
        "target = Path(sys.argv[2]) / 'perlica.db'\n"
        "try: restore_backup(Path(sys.argv[1]), target)\n"
        "except PerlicaError as error: print(error.code, error.remedy)\n"
        "print(sorted(p.name for p in target.parent.iterdir()))\n"
    )

    script = 'mount -t tmpfs -o size=64k none "$3" && exec "$0" -c "$1" "$2" "$3"'
    ended = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, sys.executable, program, str(backup), str(small)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=50,
    )

    assert ended.stdout.splitlines() == ["database_full free disk space", "[]"]


# --- what was under way -----------------------------------------------------------------------


def test_no_sandbox_is_deleted_for_a_silence_that_only_the_backup_knows(
    db: Database, folder: Path, tmp_path: Path, clock: "time_machine.Traveller"
) -> None:
    row = reserve(db)
    with db.transaction():
        SandboxStore(db).move(row.id, before=SandboxState.creating, after=SandboxState.ready)
    backup = back_up(db, folder).path
    clock.shift(8 * DAY_S)
    target = tmp_path / "again" / "perlica.db"

    restore_backup(backup, target)

    with Database.open(target) as restored:
        (living,) = SandboxStore(restored).list_living()
    assert living.last_active_at_ms == now_ms()


def test_a_restore_dates_itself_by_a_group_whose_clock_is_ahead(
    db: Database, folder: Path, tmp_path: Path, clock: "time_machine.Traveller"
) -> None:
    stored(db, message("from the future", sent_at_ms=now_ms() + 90_000))
    target = tmp_path / "again" / "perlica.db"

    restore_backup(back_up(db, folder).path, target)

    with Database.open(target) as restored:
        assert ServiceStore(restored).find(RESTORED_AT_KEY) == str(now_ms() + 90_000)


def test_the_target_group_of_a_restored_database_is_that_of_the_backup(
    db: Database, folder: Path, tmp_path: Path
) -> None:
    target = tmp_path / "again" / "perlica.db"

    restore_backup(back_up(db, folder).path, target, group_id=GROUP)

    with Database.open(target) as restored:
        check_target(restored, GROUP, OWNER)
