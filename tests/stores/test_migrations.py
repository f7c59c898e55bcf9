"""How a database file is made, kept up to date, and refused."""

import sqlite3
import stat
import threading
from pathlib import Path

import pytest

from perlica.domain.errors import Misconfigured
from perlica.stores.database import Database
from perlica.stores.migrations import Migration, check_target, migrate, read_migrations
from tests.stores.rows import GROUP, OTHER_GROUP, ROOT, SELF

FIRST = Migration(version=1, name="first", sql="CREATE TABLE one (id INTEGER PRIMARY KEY) STRICT;")
SECOND = Migration(
    version=2, name="second", sql="CREATE TABLE two (id INTEGER PRIMARY KEY) STRICT;"
)
BROKEN = Migration(
    version=2,
    name="broken",
    sql="CREATE TABLE two (id INTEGER PRIMARY KEY) STRICT; INSERT INTO missing VALUES (1);",
)


def tables(file: Path) -> set[str]:
    plain = sqlite3.connect(file)
    try:
        rows = plain.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    finally:
        plain.close()
    return {name for (name,) in rows}


def test_the_steps_of_the_program_are_the_files_of_the_sql_room() -> None:
    files = sorted((ROOT / "sql").glob("*.sql"))

    steps = read_migrations()

    assert [f"{step.version:04d}_{step.name}.sql" for step in steps] == [f.name for f in files]


def test_a_fresh_database_is_whole_and_migrating_again_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "perlica.sqlite3"
    version = migrate(file)
    before = file.read_bytes()

    assert migrate(file) == version

    assert file.read_bytes() == before
    with Database.open(file) as db:
        assert db.query("PRAGMA integrity_check") == [{"integrity_check": "ok"}]
        recorded = db.query("SELECT version, name, sha256 FROM schema_versions ORDER BY version")
    assert [(r["version"], r["name"], r["sha256"]) for r in recorded] == [
        (step.version, step.name, step.sha256) for step in read_migrations()
    ]


def test_every_table_is_strict(tmp_path: Path) -> None:
    file = tmp_path / "perlica.sqlite3"
    migrate(file)

    with Database.open(file) as db:
        loose = db.query(
            "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' "
            "AND strict = 0 AND name NOT LIKE 'sqlite_%'"
        )

    assert loose == []


def test_nobody_else_can_read_the_database_or_its_folder(tmp_path: Path) -> None:
    file = tmp_path / "state" / "perlica.sqlite3"
    migrate(file)

    with Database.open(file) as db, db.transaction():
        db.change("INSERT INTO service_state (key, value) VALUES ('a', 'b')")
        modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in file.parent.iterdir()}

    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert set(modes.values()) == {0o600}
    assert len(modes) == 3


def test_a_newer_schema_than_the_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "perlica.sqlite3"
    migrate(file, steps=(FIRST, SECOND))

    with pytest.raises(Misconfigured, match="schema_too_new"):
        migrate(file, steps=(FIRST,))

    assert {"one", "two"} <= tables(file)


def test_an_applied_step_that_was_edited_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "perlica.sqlite3"
    migrate(file, steps=(FIRST,))
    edited = Migration(version=1, name="first", sql=FIRST.sql + "-- edited")

    with pytest.raises(Misconfigured, match="migration_edited"):
        migrate(file, steps=(edited, SECOND))

    assert "two" not in tables(file)


def test_a_failed_step_leaves_the_old_state_and_can_be_repaired(tmp_path: Path) -> None:
    file = tmp_path / "perlica.sqlite3"
    migrate(file, steps=(FIRST,))

    with pytest.raises(Misconfigured, match="migration_failed"):
        migrate(file, steps=(FIRST, BROKEN))
    after_failure = tables(file)
    migrate(file, steps=(FIRST, SECOND))

    assert "two" not in after_failure
    assert "two" in tables(file)


def test_two_programs_that_start_at_once_run_each_step_once(tmp_path: Path) -> None:
    file = tmp_path / "perlica.sqlite3"
    steps = tuple(
        Migration(
            version=n, name=f"s{n}", sql=f"CREATE TABLE t{n} (id INTEGER PRIMARY KEY) STRICT;"
        )
        for n in range(1, 9)
    )
    results: list[int] = []
    threads = [
        threading.Thread(target=lambda: results.append(migrate(file, steps=steps)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)

    assert results == [8, 8]
    with Database.open(file) as db:
        assert len(db.query("SELECT version FROM schema_versions")) == 8


def test_a_database_of_another_program_is_not_touched(tmp_path: Path) -> None:
    file = tmp_path / "other.sqlite3"
    foreign = sqlite3.connect(file)
    foreign.execute("CREATE TABLE theirs (id INTEGER)")
    foreign.commit()
    foreign.close()

    with pytest.raises(Misconfigured, match="not_our_database"):
        migrate(file)

    assert tables(file) == {"theirs"}


def test_a_folder_that_cannot_be_made_is_told_with_its_path(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("x")

    with pytest.raises(Misconfigured, match="cannot be made"):
        migrate(blocked / "perlica.sqlite3")


def test_a_database_belongs_to_one_group_for_ever(db: Database) -> None:
    with pytest.raises(Misconfigured, match="other_group"):
        check_target(db, OTHER_GROUP, SELF)

    assert db.query("SELECT group_id FROM target_group") == [{"group_id": GROUP}]


def test_a_new_account_of_our_own_replaces_the_old_one(db: Database) -> None:
    check_target(db, GROUP, SELF + 1)

    assert db.query("SELECT self_id FROM target_group") == [{"self_id": SELF + 1}]
