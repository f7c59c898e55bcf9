"""What was sent in the group before a restore is talk only, whichever way it comes again."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actors.messages import CommandGiven, TaskRequested
from actors.napcat.position import StoredPosition
from actors.protection.intake import Intake
from actors.protection.restored import announce_undone
from perlica.clients.napcat import InboundFrame
from perlica.domain.texts import Language
from perlica.stores.audit import AuditStore
from perlica.stores.backup import back_up, restore_backup
from perlica.stores.database import Database
from perlica.stores.service import ServiceStore
from perlica.tasks.after_restore import tell_ended
from tests.napcat.intake import open_intake
from tests.napcat.rig import BOT, HONG, MING, OUR_GROUP


@pytest.fixture
def restored(tmp_path: Path) -> Iterator[Intake]:
    """An intake over a database that was restored from a backup of a moment ago."""
    with open_intake(tmp_path / "first" / "perlica.db") as intake:
        backup = back_up(intake.database, tmp_path / "backups").path
    path = tmp_path / "state" / "perlica.db"
    restore_backup(backup, path)
    with open_intake(path) as intake:
        yield intake


def say(
    number: int, text: str, *, at_s: float, user: int = MING, mention: bool = False
) -> dict[str, Any]:
    at = [{"type": "at", "data": {"qq": str(BOT)}}] if mention else []
    return {
        "time": int(at_s),
        "self_id": BOT,
        "post_type": "message",
        "message_type": "group",
        "group_id": OUR_GROUP,
        "user_id": user,
        "message_id": number,
        "real_seq": str(number),
        "message": [*at, {"type": "text", "data": {"text": text}}],
    }


def count(intake: Intake, table: str) -> int:
    return int(intake.database.query(f"SELECT count(*) AS n FROM {table}")[0]["n"])


def notices(intake: Intake) -> list[str]:
    sql = "SELECT content FROM outbox_messages WHERE kind = 'notice'"
    return [row["content"] for row in intake.database.query(sql)]


def before() -> list[dict[str, Any]]:
    """An order, an approval and a request of a minute ago."""
    return [
        say(1, ".sbx stop dev", at_s=time.time() - 60),
        say(2, ".approve T-1 123456", at_s=time.time() - 50),
        say(3, " 部署到测试环境", at_s=time.time() - 40, user=HONG, mention=True),
    ]


@pytest.mark.parametrize("from_history", [True, False], ids=["history", "live"])
def test_what_was_sent_between_backup_and_restore_runs_no_second_time(
    restored: Intake, *, from_history: bool
) -> None:
    told = restored.take(
        [InboundFrame(frame=frame, from_history=from_history) for frame in before()]
    )

    assert told == []
    assert count(restored, "group_messages") == 3
    assert count(restored, "commands") == count(restored, "tasks") == 0


def test_owners_are_told_once_how_much_was_left_undone(restored: Intake) -> None:
    restored.take([InboundFrame(frame=frame, from_history=True) for frame in before()])

    assert announce_undone(restored.database, Language.zh)
    assert not announce_undone(restored.database, Language.zh)

    (notice,) = notices(restored)
    assert "2 条命令" in notice
    assert "1 条 @我 的请求" in notice
    assert "Owner" in notice
    kinds = [event.kind for event in AuditStore(restored.database).list_events(limit=9)]
    assert kinds.count("restored.left_undone") == 1


def test_talk_from_before_the_restore_is_stored_without_a_word(restored: Intake) -> None:
    restored.take([InboundFrame(frame=say(1, "早上好", at_s=time.time() - 60), from_history=True)])

    assert count(restored, "group_messages") == 1
    assert not announce_undone(restored.database, Language.zh)


def test_the_first_history_after_a_restore_is_old_whatever_the_machines_clock_said(
    restored: Intake,
) -> None:
    late = [say(1, ".sbx stop dev", at_s=time.time() + 3_000)]

    told = restored.take([InboundFrame(frame=frame, from_history=True) for frame in late])

    assert told == []


def test_what_is_sent_after_the_restore_is_done(restored: Intake) -> None:
    later = time.time() + 2
    frames = [say(1, ".status", at_s=later), say(2, "做一件事", at_s=later, mention=True)]

    told = restored.take([InboundFrame(frame=frame) for frame in frames])

    assert {type(bell) for bell in told} >= {CommandGiven, TaskRequested}


def test_history_counts_again_once_that_of_the_restore_was_read(
    restored: Intake, tmp_path: Path
) -> None:
    StoredPosition(tmp_path / "state" / "perlica.db").release()
    missed = say(1, "断线时说的", at_s=time.time() + 2, mention=True)

    told = restored.take([InboundFrame(frame=missed, from_history=True)])

    assert any(isinstance(bell, TaskRequested) for bell in told)


def test_a_restore_that_a_wrong_clock_dated_into_the_future_silences_nobody(
    restored: Intake,
) -> None:
    with restored.database.transaction():
        tomorrow_ms = int((time.time() + 86_400) * 1_000)
        ServiceStore(restored.database).set("restored_at_ms", str(tomorrow_ms))

    told = restored.take([InboundFrame(frame=say(1, ".status", at_s=time.time()))])

    assert any(isinstance(bell, CommandGiven) for bell in told)


def test_a_database_that_was_never_restored_knows_no_old_time(tmp_path: Path) -> None:
    path = tmp_path / "state" / "perlica.db"
    with open_intake(path) as intake:
        told = intake.take([InboundFrame(frame=frame, from_history=True) for frame in before()])

    assert any(isinstance(bell, CommandGiven) for bell in told)
    with Database.open(path) as database:
        assert not announce_undone(database, Language.zh)


def test_a_member_whose_task_the_restore_ended_is_told_once(tmp_path: Path) -> None:
    with open_intake(tmp_path / "first" / "perlica.db") as intake:
        asked = say(1, "部署一下", at_s=time.time(), user=HONG, mention=True)
        intake.take([InboundFrame(frame=asked)])
        backup = back_up(intake.database, tmp_path / "backups").path
    path = tmp_path / "state" / "perlica.db"
    restore_backup(backup, path)
    with open_intake(path) as intake:
        first, again = (tell_ended(intake.database, Language.zh) for _ in range(2))

        (row,) = intake.database.query(
            "SELECT content, at_user_id FROM outbox_messages WHERE message_key LIKE 'restored-end%'"
        )
    assert (first, again) == (True, False)
    assert row["at_user_id"] == HONG
    assert "数据库从备份恢复了" in row["content"]
