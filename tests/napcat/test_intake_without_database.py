"""While the database takes nothing, no message is lost and none is blamed for it."""

import time
from pathlib import Path
from typing import Any

import pytest

from actors.messages import TaskRequested
from actors.protection.intake import Intake
from perlica.clients.napcat import InboundFrame
from perlica.domain.errors import StoreUnavailable
from perlica.stores.messages import MessageStore
from tests.napcat.intake import open_intake
from tests.napcat.rig import BOT, MING, OUR_GROUP

LONG_TEXT = "要做的事" * 4_000


def _mention() -> InboundFrame:
    segments: list[dict[str, Any]] = [
        {"type": "at", "data": {"qq": str(BOT)}},
        {"type": "text", "data": {"text": LONG_TEXT}},
    ]
    frame = {
        "time": int(time.time()),
        "self_id": BOT,
        "post_type": "message",
        "message_type": "group",
        "group_id": OUR_GROUP,
        "user_id": MING,
        "message_id": 1,
        "real_seq": "1",
        "message": segments,
    }
    return InboundFrame(frame=frame)


def _fill(intake: Intake) -> None:
    """There is room for small rows, but for no message."""
    pages = int(intake.database.query("PRAGMA page_count")[0]["page_count"])
    intake.database.query(f"PRAGMA max_page_count = {pages}")


def _count(intake: Intake, table: str) -> int:
    return int(intake.database.query(f"SELECT count(*) AS n FROM {table}")[0]["n"])


def test_a_full_disk_turns_no_message_into_an_unreadable_one(tmp_path: Path) -> None:
    with open_intake(tmp_path / "state" / "perlica.sqlite3") as intake:
        _fill(intake)
        with pytest.raises(StoreUnavailable):
            intake.take([_mention()])
        assert _count(intake, "audit_events") == 0

        intake.database.query("PRAGMA max_page_count = 1000000")
        told = intake.take([_mention()])

        assert any(isinstance(bell, TaskRequested) for bell in told)
        assert _count(intake, "group_messages") == 1


def test_a_full_disk_at_four_starts_quarantines_nobody(tmp_path: Path) -> None:
    with open_intake(tmp_path / "state" / "perlica.sqlite3") as intake:
        _fill(intake)
        for _ in range(4):
            intake.note_crashes()
            with pytest.raises(StoreUnavailable):
                intake.take([_mention()])

        assert MessageStore(intake.marks).list_crashed() == ()
