"""A service that restarts often expires its sandboxes too."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from perlica.sandboxes.expiry import Settling, SettlingStore
from perlica.stores.database import Database
from perlica.stores.migrations import migrate


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    path = tmp_path / "perlica.db"
    migrate(path)
    with Database.open(path) as opened:
        yield opened


def due(*rows: int) -> Any:
    return tuple(SimpleNamespace(row=SimpleNamespace(id=row)) for row in rows)


class Process:
    """The part of a keeper that counts, from a start to a stop."""

    def __init__(self, database: Database, began_s: float) -> None:
        self._store = SettlingStore(database)
        self._settling = Settling(due_for_s=3_600.0, due_s=self._store.read())
        self._began_s = began_s

    def look(self, deletions: Any, at_s: float) -> Any:
        through = self._settling.let_through(deletions, self._began_s + at_s)
        self._store.keep(self._settling.due_s)
        return through


def test_what_an_earlier_process_counted_counts_on(database: Database) -> None:
    for boot in range(3):
        process = Process(database, began_s=1_000.0 * boot)
        assert {process.look(due(1), at_s) for at_s in range(0, 1_001, 100)} == {()}

    fourth = Process(database, began_s=7.0)

    assert fourth.look(due(1), 0) == ()
    assert fourth.look(due(1), 599) == ()
    assert fourth.look(due(1), 601) == due(1)


def test_the_time_between_two_processes_does_not_count(database: Database) -> None:
    Process(database, 0.0).look(due(1), 0)

    after = Process(database, 999_999.0)

    assert after.look(due(1), 0) == ()
    assert after.look(due(1), 3_599) == ()
    assert after.look(due(1), 3_600) == due(1)


def test_a_sandbox_that_was_used_in_between_begins_anew(database: Database) -> None:
    first = Process(database, 0.0)
    first.look(due(1), 0)
    first.look(due(1), 3_000)
    Process(database, 0.0).look((), 0)

    third = Process(database, 0.0)

    third.look(due(1), 0)
    assert third.look(due(1), 3_000) == ()


def test_looks_without_anything_due_write_nothing(database: Database) -> None:
    process = Process(database, 0.0)
    before = database.query("PRAGMA data_version"), database.query("SELECT * FROM service_state")

    for at_s in range(100):
        process.look((), at_s)

    after = database.query("PRAGMA data_version"), database.query("SELECT * FROM service_state")
    assert after == before
