"""kill -9 between the write and the answer: every message reaches the group exactly once."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from perlica.demo.napcat import NapCatStandIn, Settings
from perlica.demo.napcat.faults import NeverAnswer
from perlica.domain.outbox import OutboxKind, OutboxState
from perlica.protection import Channel, protect
from perlica.stores.database import Database
from perlica.stores.migrations import check_target, migrate
from perlica.stores.outbox import OutboxStore
from tests.napcat.rig import eventually

ROUNDS = 8
CHECKOUT = Path(__file__).parents[2]


@pytest.mark.evidence(20)
@pytest.mark.parametrize("reports", [False, True], ids=["history only", "own messages seen"])
def test_kills_between_write_and_answer_double_nothing(tmp_path: Path, reports: bool) -> None:
    path = tmp_path / "state" / "perlica.sqlite3"
    settings = Settings(heartbeat_interval_ms=0, reports_own_messages=reports)
    with NapCatStandIn(settings=settings) as napcat:
        migrate(path)
        with Database.open(path) as database:
            check_target(database, napcat.group_id, napcat.self_id)

        for number in range(ROUNDS):
            _enqueue(path, f"第 {number} 轮")
            napcat.faults.next_calls(NeverAnswer(delivered=True))
            with _sender(path, napcat) as process:
                _wait_for_sends(napcat, number + 1)
                process.kill()
        napcat.faults.clear()
        with _sender(path, napcat):
            eventually(lambda: _states(path) == {"sent": ROUNDS}, 20)

        assert [m.text for m in napcat.sent] == [f"第 {number} 轮" for number in range(ROUNDS)]


def _wait_for_sends(napcat: NapCatStandIn, number: int) -> None:
    eventually(lambda: len(napcat.sent) >= number, 20)


@contextmanager
def _sender(path: Path, napcat: NapCatStandIn) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "tests.napcat.sender", str(path), napcat.url]
    with subprocess.Popen(command, cwd=CHECKOUT, stdin=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdin is not None
            process.stdin.write(f"{napcat.token}\n")
            process.stdin.flush()
            yield process
        finally:
            process.kill()


def _enqueue(path: Path, text: str) -> None:
    with Database.open(path) as database, database.transaction():
        OutboxStore(database).enqueue(
            key=text, kind=OutboxKind.final, content=protect(text, Channel.OUTBOX)
        )


def _states(path: Path) -> dict[str, int]:
    with Database.open(path) as database:
        counts = OutboxStore(database).counts()
    return {state.value: count for state, count in counts.items() if count and OutboxState(state)}
