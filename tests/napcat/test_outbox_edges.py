"""Rows that cannot be scanned, answers that belong to another attempt, clocks that lag behind."""

import time
from pathlib import Path
from typing import Any

import pytest

from actors.base import Alarm
from actors.messages import ConnectionChanged, Look, OutboxRung, Ready, Send, SendAnswered
from actors.outbox.actor import Outbox, OutboxPorts, OutboxSettings
from actors.outbox.reconciliation import ReconciliationSettings, SendReconciliation
from perlica.clients.napcat.catch_up import read_missed
from perlica.demo.napcat import NapCatStandIn
from perlica.domain.ids import GroupId, MessageId, OutboxId, UserId
from perlica.domain.outbox import OutboxKind, OutboxState
from perlica.protection import Channel, protect
from perlica.protection.rules import added
from perlica.protection.sheet import Sheet
from perlica.stores.database import Database
from perlica.stores.migrations import check_target, migrate
from perlica.stores.outbox import OutboxRow, OutboxStore
from tests.napcat.bare import bare_settings, message_frame
from tests.napcat.rig import BOT, OUR_GROUP, QUICK_OUTBOX, Service, eventually

MARK = "扫描不了的"
OK: dict[str, Any] = {"status": "ok", "retcode": 0, "data": {"message_id": 7}, "echo": "x"}
REFUSED: dict[str, Any] = {"status": "failed", "retcode": 1200, "message": "消息体无法解析"}


def _fail_on_mark(sheet: Sheet) -> None:
    if MARK.encode() in sheet.data:
        raise RuntimeError("a rule that fails")


def test_a_row_that_cannot_be_scanned_is_withheld_and_the_group_is_told(
    napcat: NapCatStandIn, tmp_path: Path
) -> None:
    with added(_fail_on_mark), Service(napcat, tmp_path / "db" / "p.sqlite3") as service:
        row = service.enqueue_unscanned(f"{MARK}答案")
        refused = service.wait_row(row, "refused")
        eventually(lambda: service.sent_texts() == [QUICK_OUTBOX.withheld_text])

        assert refused.last_error == "scan_incomplete"
        assert ("withheld", {"outbox": row}) in service.alerts


class Bench:
    """An outbox whose connection only keeps what it was told to send."""

    def __init__(self, path: Path, settings: OutboxSettings) -> None:
        self.path, self.sent, self.looks = path, list[Send](), list[Look]()
        migrate(path)
        with Database.open(path) as database:
            check_target(database, OUR_GROUP, BOT)
        ports = OutboxPorts(
            tell_connection=self._keep, undeliverable=lambda *_: None, alert=lambda *_: None
        )
        self.ref = Outbox.start(
            settings=settings,
            database_path=path,
            group_id=GroupId(OUR_GROUP),
            self_id=UserId(BOT),
            ports=ports,
            alarm=Alarm(),
        )
        self.ref.ask(Ready(), timeout=5)
        self.ref.tell(ConnectionChanged(ready=True, reason="ready"))

    def _keep(self, told: Send | Look) -> bool:
        if isinstance(told, Send):
            self.sent.append(told)
        else:
            self.looks.append(told)
        return True

    def enqueue(self) -> OutboxId:
        with Database.open(self.path) as database, database.transaction():
            (row,) = OutboxStore(database).enqueue(
                key="k", kind=OutboxKind.final, content=protect("答案", Channel.OUTBOX)
            )
        self.ref.tell(OutboxRung())
        return row

    def answer(self, row: OutboxId, attempt: int, response: dict[str, Any] | None) -> OutboxRow:
        fault = "" if response else "no_response"
        self.ref.tell(
            SendAnswered(outbox=row, attempt=attempt, wrote=True, response=response, fault=fault)
        )
        self.ref.ask(Ready(), timeout=5)
        return self.row(row)

    def row(self, row: OutboxId) -> OutboxRow:
        with Database.open(self.path) as database:
            found = OutboxStore(database).find(row)
        assert found is not None
        return found


@pytest.fixture
def bench(tmp_path: Path) -> Any:
    made = Bench(tmp_path / "p.db", QUICK_OUTBOX)
    yield made
    made.ref.stop(timeout=5)


@pytest.mark.parametrize("response", [OK, REFUSED], ids=["sent", "refused"])
def test_the_answer_to_another_attempt_changes_nothing(
    bench: Bench, response: dict[str, Any]
) -> None:
    row = bench.enqueue()
    eventually(lambda: len(bench.sent) == 1)

    for attempt in (bench.sent[0].attempt - 1, bench.sent[0].attempt + 1):
        assert bench.answer(row, attempt, response).state is OutboxState.sending


def test_a_late_refusal_does_not_settle_a_row_in_doubt(bench: Bench) -> None:
    row = bench.enqueue()
    eventually(lambda: len(bench.sent) == 1)
    attempt = bench.sent[0].attempt
    assert bench.answer(row, attempt, None).state is OutboxState.unknown

    assert bench.answer(row, attempt, REFUSED).state is OutboxState.unknown
    assert bench.answer(row, attempt + 1, OK).state is OutboxState.unknown
    assert bench.answer(row, attempt, OK).state is OutboxState.sent


@pytest.mark.parametrize(
    ("behind_ms", "is_found"), [(0, True), (50_000, True), (70_000, False)], ids=str
)
def test_our_own_message_is_known_again_by_a_clock_that_lags_as_far_as_is_known(
    bench: Bench, behind_ms: int, is_found: bool
) -> None:
    row = bench.enqueue()
    eventually(lambda: len(bench.sent) == 1)
    unknown = bench.answer(row, bench.sent[0].attempt, None)
    doubts = SendReconciliation(
        ReconciliationSettings(clock_slack_s=5.0),
        group_id=GroupId(OUR_GROUP),
        self_id=UserId(BOT),
        clock_lag_ms=lambda: 60_000,
    )
    doubts.add([unknown])
    assert unknown.text_sha256 is not None
    assert unknown.attempted_at_ms is not None

    seen = doubts.recognise(unknown.text_sha256, unknown.attempted_at_ms - behind_ms)

    assert (seen is not None) == is_found


def test_a_history_that_mixes_groups_gives_only_ours(napcat: NapCatStandIn) -> None:
    ours = {**message_frame(napcat, "我们的"), "time": int(time.time())}
    others = [
        {**ours, "message_id": 2, "real_seq": "2", "group_id": OUR_GROUP + 1},
        {**ours, "message_id": 3, "real_seq": "3", "group_id": None},
        {**ours, "message_id": 4, "real_seq": "4", "self_id": BOT + 1},
        {**ours, "message_id": 5, "real_seq": "5", "message_type": "private"},
    ]
    page = {"status": "ok", "retcode": 0, "data": {"messages": [ours, *others]}}

    found = read_missed(
        lambda _action, _params: page, bare_settings("ws://127.0.0.1:1"), None, page_messages=10
    )

    assert [frame["message_id"] for frame in found.frames] == [MessageId(1)]
