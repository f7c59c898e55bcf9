"""SIGTERM in the middle of things: the next process takes up what the last one left."""

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from perlica.app.layout import database_path
from perlica.demo.model import Reply, ScriptedModel, Silent
from perlica.demo.napcat import NapCatStandIn
from perlica.stores.database import Database
from tests.behaviour.asking import APPROVE, create, delete, run
from tests.behaviour.live import MEMBER, OWNER, PATIENCE_S, config_text, is_final, wait_until
from tests.crash.child import Order
from tests.crash.far_backend import BackendServer
from tests.crash.nursery import Child, Nursery

STOPS_WITHIN_S = 45.0


class Stage:
    """A service in its own process, with everything outside in this one."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.model = ScriptedModel()
        self.napcat = NapCatStandIn()
        self.backend = BackendServer(directory / "node.sock")
        self.nursery = Nursery()
        self.child: Child | None = None

    def start(self) -> None:
        """Bring the service up."""
        met = self.napcat.connection_count
        config = config_text(self.directory, self.napcat, self.model.base_url)
        self.child = self.nursery.start(
            Order(
                config=config,
                backend=str(self.backend.path),
                log=str(self.directory / "service.log"),
            )
        )
        wait_until(lambda: self.napcat.connection_count > met)
        self.napcat.wait_for_connection()

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        assert self.child is not None
        os.kill(self.child.pid, signal.SIGTERM)
        return self.nursery.wait_for_end(self.child, STOPS_WITHIN_S)

    def count(self, sql: str) -> int:
        """The first number of a query."""
        path = database_path(self.directory / "state")
        with Database.open(path, read_only=True) as database:
            row = database.query_one(sql)
        assert row is not None
        return int(next(iter(row.values())))


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """Started, and ended in any case."""
    made = Stage(tmp_path)
    with made.nursery, made.model, made.napcat, made.backend:
        made.start()
        yield made


def _results(model: ScriptedModel) -> list[str]:
    last: list[dict[str, Any]] = model.requests[-1]["messages"]
    return [str(m["content"]) for m in last if m["role"] == "tool"]


@pytest.mark.evidence(14)
def test_a_command_that_runs_at_a_stop_goes_on_and_its_result_arrives_after_the_restart(
    stage: Stage,
) -> None:
    stage.model.add(Reply(calls=(create(), run("sleep", "3"))), *[Reply(text="好")] * 3)
    asked = stage.napcat.say(MEMBER, "跑", mention=True)
    wait_until(lambda: stage.backend.effects["exec main sleep 3"] == 1)

    code = stage.stop()
    stage.start()

    stage.napcat.wait_for_reply(is_final, PATIENCE_S, after=asked)
    assert code == 0
    assert "exit code 0" in _results(stage.model)[1]
    assert stage.backend.effects["exec main sleep 3"] == 1
    assert stage.count("SELECT crashes FROM tasks") == 0


@pytest.mark.evidence(14)
def test_any_number_of_ordered_stops_costs_a_task_nothing(stage: Stage) -> None:
    stage.model.add(*[Silent()] * 5, Reply(text="endlich"))
    asked = stage.napcat.say(MEMBER, "想很久", mention=True)

    for number in range(1, 6):
        stage.model.wait_for_request(number)
        assert stage.stop() == 0
        stage.start()

    answer = stage.napcat.wait_for_reply(is_final, PATIENCE_S, after=asked)
    assert "endlich" in answer.text


@pytest.mark.evidence(14)
def test_three_crashes_end_a_task_and_say_why(stage: Stage) -> None:
    stage.model.add(*[Silent()] * 5)
    asked = stage.napcat.say(MEMBER, "想很久", mention=True)

    for number in range(1, 4):
        stage.model.wait_for_request(number)
        assert stage.child is not None
        stage.child.kill()
        stage.nursery.wait_for_end(stage.child)
        stage.start()

    answer = stage.napcat.wait_for_reply(is_final, PATIENCE_S, after=asked)
    assert "服务多次中断" in answer.text
    assert len(stage.model.requests) == 3


@pytest.mark.evidence(14)
def test_a_question_that_waits_at_a_stop_is_answered_after_the_restart_once(stage: Stage) -> None:
    stage.model.add(Reply(calls=(create(),)), Reply(calls=(delete(),)), Reply(text="删好了"))
    stage.napcat.say(OWNER, "删掉", mention=True)
    question = stage.napcat.wait_for_reply(lambda m: bool(APPROVE.search(m.text)))
    found = re.search(APPROVE, question.text)
    assert found is not None

    code = stage.stop()
    stage.napcat.say(OWNER, f".approve {found.group(1)} {found.group(2)}")
    stage.start()

    stage.napcat.wait_for_reply(is_final, PATIENCE_S, after=question)
    assert code == 0
    assert stage.backend.effects["delete main"] == 1
    questions = [m for m in stage.napcat.sent if APPROVE.search(m.text)]
    assert len(questions) == 1


@pytest.mark.evidence(14)
def test_a_cancel_after_a_restart_stops_what_still_runs(stage: Stage) -> None:
    stage.model.add(Reply(calls=(create(), run("sleep", "600"))), Reply(text="下一个"))
    stage.napcat.say(MEMBER, "跑", mention=True)
    wait_until(lambda: stage.backend.effects["exec main sleep 600"] == 1)
    stage.stop()
    stage.start()

    stage.napcat.say(MEMBER, ".cancel")

    cancelled = "SELECT count(*) FROM operations WHERE state = 'cancelled'"
    wait_until(lambda: stage.count(cancelled) == 1)
    following = stage.napcat.say(MEMBER, "下一件", mention=True)
    answer = stage.napcat.wait_for_reply(lambda m: "下一个" in m.text, PATIENCE_S, after=following)
    assert answer.text
