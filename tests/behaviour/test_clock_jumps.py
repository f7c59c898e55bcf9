"""The wall clock may be set by hours: no budget of a running task ends or grows by that."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import time_machine

from actors.coordinator import work_meter
from actors.coordinator.work_meter import WorkMeter
from actors.messages import Tick
from perlica.demo.model import Held, Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from perlica.domain.clock import now_ms
from perlica.domain.outbox import OutboxKind, OutboxState
from perlica.domain.task import TaskState
from perlica.stores.database import Database
from perlica.stores.migrations import check_target, migrate
from perlica.stores.outbox import OutboxStore
from perlica.stores.tasks import TaskStore
from tests.behaviour.conftest import MakeLive
from tests.behaviour.live import MEMBER, LivePerlica, is_final
from tests.stores.rows import GROUP, SELF, begin_task, move, sealed

HOUR_S = 3_600


def tick(live: LivePerlica) -> None:
    """The coordinator looks at its deadlines, and is through."""
    assert live.wires.coordinator is not None
    live.wires.coordinator.ask(Tick(), timeout=20)


@pytest.mark.parametrize("hours", [5, -5])
def test_a_jump_of_the_clock_ends_no_task(
    make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn, hours: int
) -> None:
    live = make_live(model.base_url)
    held = Held(reply=Reply(text="算好了"))
    model.add(held)
    asked = napcat.say(MEMBER, "想一想", mention=True)
    model.wait_for_request()
    tick(live)

    with time_machine.travel(now_ms() / 1000 + hours * HOUR_S):
        tick(live)
        tick(live)
        held.released.set()
        answer = napcat.wait_for_reply(is_final, after=asked)

    assert "算好了" in answer.text


def test_a_clock_that_was_set_back_prolongs_no_task(
    make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    live = make_live(model.base_url, extra="[task]\nwall_time_s = 1\n")
    held = Held(reply=Reply(text="太晚"))
    model.add(held)
    asked = napcat.say(MEMBER, "想很久", mention=True)
    model.wait_for_request()
    tick(live)

    with time_machine.travel(now_ms() / 1000 - 5 * HOUR_S):
        ended = napcat.wait_for_reply(is_final, after=asked)
    held.released.set()

    assert "超过了总时长上限" in ended.text


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    path = tmp_path / "perlica.db"
    migrate(path)
    with Database.open(path) as opened:
        check_target(opened, GROUP, SELF)
        yield opened


def test_a_restart_goes_on_counting_where_the_last_process_was(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    time_s = 100.0
    monkeypatch.setattr(work_meter, "monotonic_s", lambda: time_s)
    task = begin_task(database)
    first = WorkMeter()
    first.count(database, task)
    time_s += 60
    assert first.count(database, task) == 60_000

    time_s = 7.0  # another boot
    after = TaskStore(database).find_task(task.id)
    assert after is not None
    second = WorkMeter()
    second.count(database, after)
    time_s += 3

    assert second.count(database, after) == 63_000


def test_waiting_for_an_owner_costs_no_time(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    time_s = 0.0
    monkeypatch.setattr(work_meter, "monotonic_s", lambda: time_s)
    task = begin_task(database)
    meter = WorkMeter()
    meter.count(database, task)
    time_s = 10.0
    waits = move(
        database, task.id, TaskState.contextualizing, TaskState.running, TaskState.waiting_approval
    )
    meter.count(database, waits)
    time_s = 500.0
    runs = move(database, task.id, TaskState.running)
    meter.count(database, runs)
    time_s = 505.0

    assert meter.count(database, runs) == 15_000


def test_a_message_that_waits_goes_out_although_the_clock_was_set_back(
    database: Database,
) -> None:
    with time_machine.travel(1_800_000_000, tick=False) as clock:
        with database.transaction():
            outbox = OutboxStore(database)
            (row,) = outbox.enqueue(key="k", kind=OutboxKind.notice, content=sealed("x"))
        with database.transaction():
            outbox.begin_attempt(row, "echo", "0" * 64, now_ms())
        with database.transaction():
            outbox.retry_later(row, now_ms() + 5_000, "refused")
        assert outbox.next_due(now_ms()) is None
        clock.shift(-5 * HOUR_S)

        due = outbox.next_due(now_ms())

    assert due is not None
    assert due.state is OutboxState.queued
