"""A clock that was far ahead once costs no restore what was said after it was put right."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import time_machine

from perlica.stores.backup import back_up, restore_backup
from perlica.stores.database import Database
from perlica.stores.retention import Retention
from tests.stores.rows import message, stored
from tests.stores.test_deletions import found, move_away

DAY_S = 86_400
NOW_S = 1_800_000_000


@pytest.fixture
def clock() -> Iterator["time_machine.Traveller"]:
    with time_machine.travel(NOW_S, tick=False) as moved:
        yield moved


def run_ahead(db: Database, clock: "time_machine.Traveller") -> None:
    """The clock is four hundred days ahead, records are deleted by it, and it is put right."""
    clock.move_to(NOW_S + 400 * DAY_S)
    Retention(db).clean_up()
    clock.move_to(NOW_S + DAY_S)


@pytest.mark.parametrize("days_later", [2, 380])
def test_what_was_said_after_the_clock_was_put_right_is_restored(
    db: Database, path: Path, tmp_path: Path, clock: "time_machine.Traveller", days_later: int
) -> None:
    stored(db, message("before"))
    run_ahead(db, clock)
    clock.move_to(NOW_S + (days_later - 1) * DAY_S)
    stored(db, message("after"))
    Retention(db).clean_up()
    backup = back_up(db, tmp_path / "backups").path
    db.close()
    move_away(path)

    clock.move_to(NOW_S + days_later * DAY_S)
    restore_backup(backup, path)

    assert found(path) == ["after"]


def test_what_the_wrong_clock_deleted_does_not_come_back_from_an_older_backup(
    db: Database, path: Path, tmp_path: Path, clock: "time_machine.Traveller"
) -> None:
    stored(db, message("before"))
    backup = back_up(db, tmp_path / "backups").path
    run_ahead(db, clock)
    db.close()
    move_away(path)

    restore_backup(backup, path)

    assert found(path) == []


def test_a_second_restore_keeps_what_was_said_after_the_first(
    db: Database, path: Path, tmp_path: Path, clock: "time_machine.Traveller"
) -> None:
    backup = back_up(db, tmp_path / "backups").path
    stored(db, message("before"))
    run_ahead(db, clock)
    db.close()
    move_away(path)
    restore_backup(backup, path)
    for file in path.parent.glob("old-*"):
        file.unlink()

    with Database.open(path) as again:
        stored(again, message("after"))
        second = back_up(again, tmp_path / "backups").path
    move_away(path)
    clock.move_to(NOW_S + 2 * DAY_S)
    restore_backup(second, path)

    assert found(path) == ["after"]
