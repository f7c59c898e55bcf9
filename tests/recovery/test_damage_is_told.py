"""Damage of the database is looked for at the start and daily, and everybody who must know does."""

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from actors.reconciler import database_watch
from actors.reconciler.database_watch import DatabaseWatch
from perlica.demo.model import ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from perlica.domain.texts import Language
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.health import Finding, Severity, last_check
from perlica.stores.migrations import check_target, migrate
from tests.behaviour.conftest import MakeLive, make_live, model, napcat
from tests.behaviour.live import wait_until
from tests.stores.rows import GROUP, SELF

__all__ = ["make_live", "model", "napcat"]

FAULT = Finding(code="database_corrupt", severity=Severity.fault, text="page 7", remedy="restore")


class Stage:
    """A watch over a database of its own, with a check that finds what it is told to."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "perlica.db"
        migrate(self.path)
        with Database.open(self.path) as database:
            check_target(database, GROUP, SELF)
        self.findings: Sequence[Finding] = ()
        self.looks = 0
        self.health: list[str] = []
        self.watch = DatabaseWatch(
            self.path, language=Language.zh, tell_health=self.health.append, check=self._check
        )

    def _check(self, _path: Path) -> Sequence[Finding]:
        self.looks += 1
        return self.findings

    def look_through(self, database: Database) -> None:
        """Tick until a look is through."""
        told = len(self.health)

        def is_through() -> bool:
            self.watch.look(database)
            return len(self.health) > told

        wait_until(is_through)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_a_look_comes_at_the_start_and_again_after_a_day(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    time_s = 1_000.0
    monkeypatch.setattr(database_watch, "monotonic_s", lambda: time_s)
    with Database.open(stage.path) as database:
        stage.look_through(database)
        time_s += 86_399
        stage.watch.look(database)
        assert stage.looks == 1
        time_s += 2
        stage.look_through(database)

    assert stage.looks == 2


def test_damage_is_told_to_the_group_health_and_audit_once_a_day(stage: Stage) -> None:
    stage.findings = (FAULT,)
    with Database.open(stage.path) as database:
        stage.look_through(database)

        (notice,) = database.query("SELECT content FROM outbox_messages")
        assert "Owner" in notice["content"]
        assert "database_corrupt" in notice["content"]
        assert stage.health == ["database_corrupt"]
        assert last_check(database).faults == ("database_corrupt",)
        (event,) = AuditStore(database).list_events(limit=9)
        assert event.kind == "database.damaged"


def test_a_database_that_is_well_again_is_not_called_damaged(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    time_s = 0.0
    monkeypatch.setattr(database_watch, "monotonic_s", lambda: time_s)
    stage.findings = (FAULT,)
    with Database.open(stage.path) as database:
        stage.look_through(database)
        stage.findings = ()
        time_s += 86_401
        stage.look_through(database)

        assert stage.health == ["database_corrupt", ""]
        assert last_check(database).faults == ()
        assert last_check(database).at_ms > 0


def test_no_tick_waits_for_a_look_that_takes_long(stage: Stage) -> None:
    is_over = threading.Event()
    slow = DatabaseWatch(
        stage.path,
        language=Language.zh,
        tell_health=stage.health.append,
        check=lambda _: (is_over.wait(30), ())[1],
    )
    with Database.open(stage.path) as database:
        assert not slow.look(database)
        assert not slow.look(database)
        is_over.set()
        wait_until(lambda: slow.look(database) or bool(stage.health))

    assert stage.health == [""]


def test_the_running_service_finds_damage_and_says_so_in_the_group(
    make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    live = make_live(model.base_url)
    live.stop()
    with Database.open(live.path) as database:
        database.query("PRAGMA foreign_keys = OFF")
        with database.transaction():
            database.change(
                "INSERT INTO attachments (message_row, kind, name, protection_status,"
                " policy_version, finding_count, handle, created_at_ms)"
                " VALUES (99, 'x', '', 'redacted', '1', 0, '', 1)"
            )

    live.start()

    napcat.wait_for_reply(lambda said: "数据库检查发现损坏" in said.text)
    assert live.wires.database_fault == "database_dangling"
