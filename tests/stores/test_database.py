"""One connection: whose it is, what it promises, and what it refuses."""

import sqlite3
import threading
from pathlib import Path

import pytest

from perlica.domain.clock import monotonic_s
from perlica.domain.errors import Misconfigured, Refused, Retryable
from perlica.stores import database
from perlica.stores.database import Database
from tests.stores.rows import stored

SET_FACT = "INSERT INTO service_state (key, value) VALUES (:key, 'x')"
FACTS = "SELECT key FROM service_state ORDER BY key"


def keys(db: Database) -> list[str]:
    return [row["key"] for row in db.query(FACTS)]


def test_a_connection_used_from_a_second_thread_raises(db: Database) -> None:
    caught: list[BaseException] = []

    def use() -> None:
        for act in (lambda: db.query(FACTS), lambda: db.transaction().__enter__(), db.close):
            try:
                act()
            except RuntimeError as error:
                caught.append(error)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join(timeout=10)

    assert len(caught) == 3
    assert keys(db) == []


def test_an_exception_takes_the_whole_transaction_back(db: Database) -> None:
    def fail() -> None:
        with db.transaction():
            db.change(SET_FACT, {"key": "a"})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    assert keys(db) == []
    assert not db.in_transaction


def test_a_broken_rule_takes_the_whole_transaction_back(db: Database) -> None:
    def set_twice() -> None:
        with db.transaction():
            db.change(SET_FACT, {"key": "a"})
            db.change(SET_FACT, {"key": "a"})

    with pytest.raises(Refused):
        set_twice()

    assert keys(db) == []


def test_a_transaction_inside_a_transaction_raises_and_leaves_the_outer_one_usable(
    db: Database,
) -> None:
    with db.transaction():
        with pytest.raises(RuntimeError), db.transaction():
            pass
        db.change(SET_FACT, {"key": "a"})

    assert keys(db) == ["a"]


def test_a_store_writes_only_inside_a_transaction(db: Database) -> None:
    with pytest.raises(RuntimeError):
        db.change(SET_FACT, {"key": "a"})

    assert keys(db) == []


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("journal_mode", "wal"),
        ("synchronous", 2),
        ("foreign_keys", 1),
        ("secure_delete", 1),
        ("trusted_schema", 0),
        ("temp_store", 2),
    ],
)
def test_a_connection_has_the_settings_that_the_promises_rest_on(
    db: Database, setting: str, value: object
) -> None:
    (row,) = db.query(f"PRAGMA {setting}")

    assert row[setting] == value


def test_a_relaxed_connection_commits_without_waiting_for_the_disk(path: Path) -> None:
    with Database.open(path, relaxed=True) as marks:
        (row,) = marks.query("PRAGMA synchronous")

    assert row["synchronous"] == 1


def test_a_read_only_connection_reads_and_cannot_write(path: Path, db: Database) -> None:
    with db.transaction():
        db.change(SET_FACT, {"key": "a"})

    with Database.open(path, read_only=True) as reader:
        assert keys(reader) == ["a"]
        with pytest.raises(Misconfigured), reader.transaction():
            pass
        with pytest.raises(Misconfigured):
            reader.query(SET_FACT, {"key": "b"})


def test_a_missing_database_is_not_made_by_opening_it(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="no_database"):
        Database.open(tmp_path / "none.sqlite3")

    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_says_so(tmp_path: Path) -> None:
    file = tmp_path / "noise.sqlite3"
    file.write_bytes(b"\xff" * 8192)

    with pytest.raises(Misconfigured, match="database_corrupt"):
        Database.open(file).query(FACTS)


def test_a_writer_who_cannot_have_the_lock_is_told_to_try_again(
    path: Path, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_TIMEOUT_MS", 10)

    with (
        db.transaction(),
        Database.open(path) as late,
        pytest.raises(Retryable, match="database_busy"),
        late.transaction(),
    ):
        pass


def test_a_transaction_over_fifty_milliseconds_is_counted(db: Database) -> None:
    with db.transaction():
        pass
    assert db.slow_transactions == 0

    with db.transaction():
        until = monotonic_s() + 0.06
        while monotonic_s() < until:
            db.query(FACTS)

    assert db.slow_transactions == 1


def test_one_connection_sees_what_another_committed_and_nothing_before(
    db: Database, other: Database
) -> None:
    with db.transaction():
        db.change(SET_FACT, {"key": "a"})
        assert keys(other) == []

    assert keys(other) == ["a"]


def test_the_wal_can_be_emptied_but_not_under_a_reader(
    path: Path, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_TIMEOUT_MS", 10)
    with Database.open(path) as cleaner, db.transaction():
        db.change(SET_FACT, {"key": "a"})
        assert not cleaner.truncate_wal()

    with Database.open(path) as cleaner:
        assert cleaner.truncate_wal()
    assert path.with_name(path.name + "-wal").stat().st_size == 0


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO message_index_data (id, block) VALUES (99, x'00')",
        "DELETE FROM message_index_config",
        "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema",
    ],
)
def test_plain_sql_cannot_reach_below_the_search_index_or_the_schema(
    db: Database, sql: str
) -> None:
    with pytest.raises(Exception, match=r"may not be modified|not authorized|malformed"):
        db.query(sql)


def test_a_plain_sqlite_program_can_read_the_ordinary_tables(path: Path, db: Database) -> None:
    stored(db, "读得到")

    plain = sqlite3.connect(path)
    try:
        found = plain.execute("SELECT content FROM group_messages").fetchall()
        names = plain.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    finally:
        plain.close()

    assert found == [("读得到",)]
    assert ("group_messages",) in names


def test_a_full_disk_is_told_and_takes_the_transaction_back(db: Database) -> None:
    stored(db, "before")
    pages = int(db.query("PRAGMA page_count")[0]["page_count"])
    db.query(f"PRAGMA max_page_count = {pages + 2}")

    def fill() -> None:
        with db.transaction():
            db.change("INSERT INTO service_state VALUES ('first', 'x')")
            db.change("INSERT INTO service_state VALUES ('large', :text)", {"text": "x" * 100_000})

    with pytest.raises(Retryable, match="database_full"):
        fill()

    assert not db.in_transaction
    assert keys(db) == []
    db.query("PRAGMA max_page_count = 1000000")
    stored(db, "after")
