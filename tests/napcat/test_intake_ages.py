"""How late a message may begin something, two messages with one id, and a clock behind QQ's."""

from pathlib import Path

import pytest

from actors.messages import TaskRequested
from perlica.clients.napcat import InboundFrame
from perlica.domain.clock import now_ms
from perlica.stores.database import Database
from perlica.stores.messages import MessageStore
from tests.napcat.intake import open_intake
from tests.napcat.rig import BOT, MING, OUR_GROUP

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS


def frame(text: str, *, age_ms: int, message_id: int = 1, seq: int = 1) -> dict[str, object]:
    """A mention by a member."""
    segments = [
        {"type": "at", "data": {"qq": str(BOT)}},
        {"type": "text", "data": {"text": text}},
    ]
    return {
        "time": (now_ms() - age_ms) // 1000,
        "self_id": BOT,
        "post_type": "message",
        "message_type": "group",
        "group_id": OUR_GROUP,
        "user_id": MING,
        "message_id": message_id,
        "real_seq": str(seq),
        "raw_message": text,
        "message": segments,
    }


@pytest.mark.parametrize("from_history", [False, True], ids=["live", "from history"])
def test_a_mention_that_is_hours_old_makes_no_task_and_is_told_as_missed(
    tmp_path: Path, from_history: bool
) -> None:
    with open_intake(tmp_path / "p.db") as intake:
        late = InboundFrame(frame=frame("部署", age_ms=2 * HOUR_MS), from_history=from_history)

        told = intake.take([late])

        assert told == []
        assert count(intake.database, "tasks") == 0
        assert intake.announce_missed()


def test_a_live_mention_makes_a_task_although_qqs_clock_is_twenty_minutes_behind(
    tmp_path: Path,
) -> None:
    with open_intake(tmp_path / "p.db") as intake:
        told = intake.take([InboundFrame(frame=frame("部署", age_ms=20 * MINUTE_MS))])

        assert any(isinstance(bell, TaskRequested) for bell in told)


def test_two_messages_with_one_id_are_both_kept_and_counted(tmp_path: Path) -> None:
    with open_intake(tmp_path / "p.db") as intake:
        first = InboundFrame(frame=frame("甲", age_ms=2000, seq=1))
        second = InboundFrame(frame=frame("乙", age_ms=1000, seq=2))

        intake.take([first, second])
        intake.take([second])

        assert count(intake.database, "group_messages") == 2
        assert collisions(intake.database) == 1


def test_messages_with_ids_of_their_own_are_no_collision(tmp_path: Path) -> None:
    with open_intake(tmp_path / "p.db") as intake:
        frames = [frame(f"第 {n} 条", age_ms=1000, message_id=n, seq=n) for n in range(1, 4)]
        intake.take([InboundFrame(frame=raw) for raw in frames])

        assert collisions(intake.database) == 0


def test_what_was_just_said_is_found_although_qqs_clock_is_ahead_of_ours(tmp_path: Path) -> None:
    with open_intake(tmp_path / "p.db") as intake:
        intake.take([InboundFrame(frame=frame("今天发布", age_ms=-20 * MINUTE_MS))])
        store = MessageStore(intake.database)
        now, day = now_ms(), 24 * HOUR_MS

        assert len(store.list_recent(before_ms=now + 1, after_ms=now - day, limit=30)) == 1
        assert len(store.search("发布", before_ms=now + 1, after_ms=now - day, limit=30)) == 1
        assert store.search("发布", before_ms=now - HOUR_MS, after_ms=now - day, limit=30) == ()


def count(database: Database, table: str) -> int:
    (row,) = database.query(f"SELECT count(*) AS count FROM {table}")
    return int(row["count"])


def collisions(database: Database) -> int:
    (row,) = database.query(
        "SELECT count(*) AS count FROM audit_events WHERE kind = 'intake.id_collision'"
    )
    return int(row["count"])
