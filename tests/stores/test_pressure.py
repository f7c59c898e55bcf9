"""A disk that runs full: the oldest talk goes first, that is said, and the newest stays."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import time_machine

from actors.reconciler.disk_pressure import DiskWatch
from perlica.domain.texts import Language
from perlica.stores.database import Database
from perlica.stores.health import DatabaseSize
from perlica.stores.pressure import DiskPressure
from perlica.stores.retention import RetentionAges
from tests.stores.rows import stored

DAY_S = 86_400
WANTED = 1_000


class Disk:
    """A disk of which a test says how much is free."""

    def __init__(self, free_bytes: int) -> None:
        self.free_bytes = free_bytes

    def measure(self, path: Path) -> DatabaseSize:
        return DatabaseSize(database_bytes=1, wal_bytes=0, free_bytes=self.free_bytes)


@pytest.fixture
def clock() -> Iterator["time_machine.Traveller"]:
    with time_machine.travel("2026-06-01T00:00:00Z", tick=False) as traveller:
        yield traveller


@pytest.fixture
def talk(db: Database, clock: "time_machine.Traveller") -> Database:
    """One message on each of twelve days; the last was said just now."""
    for day in range(12):
        if day:
            clock.shift(DAY_S)
        stored(db, f"第 {day} 天")
    return db


def watch(db: Database, disk: Disk) -> DiskWatch:
    pressure = DiskPressure(db, RetentionAges(), min_free_bytes=WANTED, measure_disk=disk.measure)
    return DiskWatch(db, pressure, language=Language.zh)


def texts(db: Database, table: str = "group_messages") -> list[str]:
    return [row["content"] for row in db.query(f"SELECT content FROM {table} ORDER BY id")]


def test_with_enough_room_nothing_happens(talk: Database) -> None:
    assert watch(talk, Disk(WANTED)).look() is False

    assert len(texts(talk)) == 12
    assert not texts(talk, "outbox_messages")


def test_the_oldest_days_go_until_there_is_room(talk: Database) -> None:
    disk = Disk(WANTED - 1)
    watcher = watch(talk, disk)

    assert watcher.look() is True
    assert watcher.look() is True
    disk.free_bytes = WANTED
    assert watcher.look() is False

    assert texts(talk) == [f"第 {day} 天" for day in range(2, 12)]


def test_the_newest_days_stay_whatever_the_disk_says(talk: Database) -> None:
    watcher = watch(talk, Disk(0))

    for _ in range(20):
        if not watcher.look():
            break

    assert texts(talk) == [f"第 {day} 天" for day in range(4, 12)]
    assert watcher.look() is False


def test_the_group_reads_one_line_a_day_and_each_deletion_is_audited(talk: Database) -> None:
    watcher = watch(talk, Disk(0))

    for _ in range(20):
        watcher.look()

    said = texts(talk, "outbox_messages")
    assert [("提前清理" in line, "尽快" in line) for line in said] == [(True, False), (True, True)]
    events = talk.query("SELECT kind FROM audit_events")
    assert [event["kind"] for event in events] == ["retention.early"] * 4


def test_what_went_early_is_in_no_file(talk: Database) -> None:
    watch(talk, Disk(0)).look()

    raw = b"".join(path.read_bytes() for path in talk.path.parent.iterdir())
    assert "第 0 天".encode() not in raw
    assert "第 11 天".encode() in raw
