"""kill -9 between the write and the answer: each answer reaches the group once, no task runs twice.

The whole service is killed again and again over one database; a warm process forks it anew.
"""

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import pytest

from perlica.app.layout import database_path
from perlica.demo.model import Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn, Settings
from perlica.demo.napcat.faults import NeverAnswer
from perlica.stores.database import Database
from tests.behaviour.live import MEMBER, config_text
from tests.napcat.rig import eventually
from tests.suite.sample import Sample

CHECKOUT = Path(__file__).parents[2]


class Killed:
    """A service that is started by a fork and ended by kill -9."""

    def __init__(self, warm: "subprocess.Popen[str]", database: Path) -> None:
        self._warm = warm
        self._pid = 0
        self._reader: Database | None = None
        self.database = database

    def __enter__(self) -> Self:
        assert self._warm.stdin is not None
        assert self._warm.stdout is not None
        self._warm.stdin.write("start\n")
        self._warm.stdin.flush()
        self._pid = int(self._warm.stdout.readline())
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()

    def open_rows(self) -> int:
        return self.count("SELECT count(*) AS n FROM outbox_messages WHERE state <> 'sent'")

    def count(self, sql: str) -> int:
        if self._reader is None:
            self._reader = Database.open(self.database, read_only=True)
        return int(self._reader.query(sql)[0]["n"])


@contextmanager
def warm_service(directory: Path, napcat: NapCatStandIn, model_url: str) -> Iterator[Killed]:
    config = directory / "perlica.toml"
    text = config_text(directory, napcat, model_url)
    config.write_text(text.replace("self_message_within_s = 0.3", "self_message_within_s = 0.05"))
    config.chmod(0o600)
    command = [sys.executable, "-m", "tests.napcat.warm", str(config), str(directory / "out")]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=CHECKOUT, text=True, **pipes) as warm:
        service = Killed(warm, database_path(directory / "state"))
        yield service
        service.close()


@pytest.mark.timeout(120)
@pytest.mark.evidence(20)
@pytest.mark.parametrize("reports", [False, True], ids=["history only", "own messages seen"])
def test_kills_between_write_and_answer_double_nothing(
    tmp_path: Path, sample: Sample, reports: bool
) -> None:
    rounds = sample.rounds("outbox")
    settings = Settings(heartbeat_interval_ms=0, reports_own_messages=reports)
    delivered = _deal(rounds, random.Random(sample.seed))
    with (
        ScriptedModel(afterwards=Reply(text="好")) as model,
        NapCatStandIn(settings=settings) as napcat,
        warm_service(tmp_path, napcat, model.base_url) as service,
    ):
        for number, is_delivered in enumerate(delivered, 1):
            with service:
                _wait_settled(service, napcat, number)
                _answer_into_the_void(napcat, is_delivered=is_delivered)
        with service:
            _wait_settled(service, napcat, rounds + 1)

            completed = service.count("SELECT count(*) AS n FROM tasks WHERE state = 'completed'")
            assert completed == rounds
        assert len(model.requests) == rounds
        assert Counter(m.text for m in napcat.sent).most_common(1)[0][1] == 1
        assert len(napcat.sent) == rounds


def _deal(rounds: int, dice: random.Random) -> list[bool]:
    """Which answers arrive although nobody says so: seven of ten, in any order."""
    lost = rounds * 3 // 10
    return dice.sample([True] * (rounds - lost) + [False] * lost, rounds)


def _wait_settled(service: Killed, napcat: NapCatStandIn, number: int) -> None:
    """The service is connected, and what it left unknown at the kill before is sent."""
    eventually(lambda: napcat.connection_count >= number and bool(napcat.connections), 20)
    eventually(lambda: service.open_rows() == 0, 20)


def _answer_into_the_void(napcat: NapCatStandIn, *, is_delivered: bool) -> None:
    """A task whose answer is sent, and maybe delivered, while nobody says so."""
    before = _sends(napcat)
    fault = NeverAnswer(delivered=is_delivered)
    napcat.faults.next_calls(fault)
    napcat.say(MEMBER, "做一件事", mention=True)
    napcat.wait_for_call("send_group_msg", 20, number=before + 1)


def _sends(napcat: NapCatStandIn) -> int:
    return sum(call.action == "send_group_msg" for call in napcat.calls)
