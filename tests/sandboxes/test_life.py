"""Seven days without a use, and clean-up that fails."""

import datetime as dt
import json
import threading
from types import SimpleNamespace
from typing import Any

import pytest
import time_machine

from perlica.domain.errors import OutcomeUnknown, Retryable
from perlica.gateway.core.policy_file import read_policy
from perlica.sandboxes.expiry import Settling
from tests.behaviour.live import OWNER, wait_until
from tests.sandboxes.conftest import MakeStage
from tests.sandboxes.rig import Rig
from tests.sandboxes.stage import DAY_S, Stage, exec_, manage


def _shift(days: float) -> time_machine.travel:
    target = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=days * DAY_S)
    return time_machine.travel(target, tick=True)


@pytest.mark.evidence(15)
def test_a_sandbox_that_nobody_used_for_seven_days_is_deleted_by_policy_and_the_group_is_told(
    stage: Stage,
) -> None:
    stage.make("main")

    with _shift(7.01):
        told = stage.wait_for_reply(lambda m: "已按策略删除" in m.text)

    assert "main" in told.text
    assert stage.states() == {"main": "deleted"}
    assert stage.backend.reconcile() == ()
    (identity,) = stage.column("SELECT identity FROM operations WHERE action = 'sandbox.expire'")
    (ticket,) = stage.column("SELECT ticket_id FROM operations WHERE action = 'sandbox.expire'")
    (detail,) = stage.column("SELECT detail FROM audit_events WHERE kind = 'lifecycle.deletion'")
    facts = json.loads(str(detail))
    assert (identity, ticket) == ("lifecycle", None)
    assert facts["reason"]["why"] == "idle"
    assert facts["reason"]["idle_ms"] == 7 * DAY_S * 1000
    assert facts["policy_version"] == read_policy(None).version


@pytest.mark.evidence(15)
def test_a_use_puts_the_expiry_off_and_looks_and_descriptions_do_not(stage: Stage) -> None:
    stage.make("used", "seen")

    with _shift(6):
        stage.do(
            exec_("true", sandbox="used"),
            manage("describe", "seen", purpose="只看看"),
            manage("keep", "seen"),
            manage("list"),
        )
        stage.order(".sbx show seen")
        stage.order(".status")
    with _shift(7.01):
        stage.wait(lambda: stage.states()["seen"] == "deleted")
        for _ in range(3):
            stage.tick()

    assert stage.states() == {"used": "ready", "seen": "deleted"}


def test_a_configuration_may_shorten_the_seven_days(make_stage: MakeStage) -> None:
    stage = make_stage(sandbox="idle_days = 2\n")
    stage.make("main")

    with _shift(2.01):
        stage.wait(lambda: stage.states()["main"] == "deleted")


def test_the_time_that_is_left_is_shown(stage: Stage) -> None:
    stage.make("main")

    with _shift(2):
        status = stage.order(".status").text
        listed = stage.order(".sbx").text
        (told,) = stage.do(manage("list"))

    assert "4 天 23 小时后删除" in status
    assert "4 天 23 小时后删除" in listed
    assert "deleted in 4 d 23 h unless used" in told


@pytest.mark.evidence(15)
def test_a_command_that_runs_is_never_killed_by_expiry(rig: Rig) -> None:
    rig.create("main")
    results: list[str] = []
    running = threading.Thread(target=lambda: results.append(rig.run("sleep", "1.5")))
    running.start()
    wait_until(lambda: "execute" in rig.backends["test-node"].met)

    with _shift(7.01):
        rig.wait(lambda: rig.count("SELECT 1 FROM operations WHERE action='sandbox.expire'") == 1)
        running.join(15)
        expiry = "SELECT state FROM operations WHERE action = 'sandbox.expire'"
        rig.wait(lambda: rig.column(expiry) == ["abandoned"])

    assert "exit code 0" in results[0]
    assert rig.living() == ["main"]


def test_a_use_that_comes_too_late_is_told_so(stage: Stage) -> None:
    stage.make("main")
    stage.backend.troubles["delete"] = OutcomeUnknown("sandboxd_gone", "it may be half gone")

    with _shift(7.01):
        stage.wait(lambda: stage.states()["main"] == "unconfirmed")
        (refused,) = stage.do(exec_("true"))

    assert "unconfirmed" in refused or "being deleted" in refused
    assert stage.backend.met.count("execute") == 0


def test_a_clean_up_that_fails_is_an_orphan_that_is_announced_once_and_tried_again(
    stage: Stage,
) -> None:
    stage.make("main")
    stage.backend.troubles["delete"] = Retryable("node_busy", "nothing was done")

    with _shift(7.01):
        told = stage.wait_for_reply(lambda m: "没有清理干净" in m.text)
        assert "node_busy" in told.text
        assert stage.states() == {"main": "unconfirmed"}
        tries = stage.backend.met.count("delete")
        stage.tick()
        listed = stage.order(".orphans").text
        (refused,) = stage.do(manage("create", "main"))
    with _shift(7.02):
        stage.wait(lambda: stage.backend.met.count("delete") > tries)
        stage.backend.recover()
    with _shift(8):
        stage.wait(lambda: stage.column("SELECT state FROM orphans") == ["cleared"])
        stage.make("main")

    assert "main" in listed
    assert "删除失败" in listed
    assert "exists already" in refused
    assert len([m for m in stage.napcat.sent if "没有清理干净" in m.text]) == 1
    assert [row for row in stage.backend.reconcile() if row.name == "main"]


def test_a_sandbox_that_cannot_be_cleaned_up_keeps_its_slot(stage: Stage) -> None:
    stage.make("one", "two")
    stage.backend.troubles["delete"] = Retryable("node_busy", "nothing was done")
    with _shift(7.01):
        stage.wait(lambda: set(stage.states().values()) == {"unconfirmed"})
        (third, fourth) = stage.do(manage("create", "three"), manage("create", "four"))

    assert "is ready" in third
    assert "上限" in fourth
    said = stage.napcat.say(OWNER, ".sbx")
    stage.wait_for_reply(lambda m: "【沙箱 3/3】" in m.text, after=said)


def test_a_clock_that_jumped_eight_days_ahead_and_was_corrected_deletes_nothing(
    make_stage: MakeStage,
) -> None:
    stage = make_stage(sandbox="expire_after_due_s = 3600\n")
    stage.make("main")

    with _shift(8):
        stage.order(".status")
        for _ in range(3):
            stage.tick()

    assert stage.states() == {"main": "ready"}
    assert stage.column("SELECT id FROM operations WHERE action = 'sandbox.expire'") == []


def test_a_sandbox_is_let_go_only_after_it_was_due_without_a_break() -> None:
    settling = Settling(due_for_s=3600.0)
    row = SimpleNamespace(id=1)
    due: Any = (SimpleNamespace(row=row),)

    assert settling.let_through(due, 10.0) == ()
    assert settling.let_through(due, 3609.0) == ()
    assert settling.let_through((), 3610.0) == ()
    assert settling.let_through(due, 3620.0) == ()
    assert settling.let_through(due, 7220.0) == due
