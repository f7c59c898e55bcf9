"""Nothing of another group can be stored, whatever the code does."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from perlica.domain.errors import Refused
from perlica.stores.database import Database
from perlica.stores.messages import MessageKey, MessageStore
from perlica.stores.tasks import TaskStore
from tests.stores.rows import (
    GROUP,
    OTHER_GROUP,
    OWNER,
    message,
    store,
    stored,
)

CANARY = "外群的话"

RAW_ROWS: Mapping[str, str] = {
    "group_messages": (
        "INSERT INTO group_messages (group_id, message_id, order_seq, user_id, sent_at_ms,"
        " stored_at_ms, kind, display_name, display_name_status, content, protection_status,"
        " policy_version, finding_count) VALUES (:group, 1, 1, 1, 1, 1, 'chat', '',"
        f" 'redacted', '{CANARY}', 'redacted', '1', 0)"
    ),
    "messages_in_hand": (
        "INSERT INTO messages_in_hand (group_id, message_id, real_seq, marked_at_ms)"
        " VALUES (:group, 1, 1, 1)"
    ),
    "tasks": (
        "INSERT INTO tasks (id, group_id, requester_id, state, created_at_ms, policy_version,"
        " context_version) VALUES ('T-1', :group, 1, 'received', 1, '1', '1')"
    ),
    "approvals": (
        "INSERT INTO approvals (id, group_id, origin_kind, origin_id, action, plan_hash, plan,"
        " target_summary, protection_status, policy_version, finding_count, owners, code_digest,"
        " state, created_at_ms, expires_at_ms) VALUES ('K', :group, 'command', '1', 'a', 'h',"
        " '{}', '', 'redacted', '1', 0, '[1]', 'd', 'pending', 1, 2)"
    ),
    "outbox_messages": (
        "INSERT INTO outbox_messages (idempotency_key, message_key, part, parts, group_id, kind,"
        " content, protection_status, policy_version, finding_count, state, created_at_ms,"
        " updated_at_ms) VALUES ('k#1', 'k', 1, 1, :group, 'final', 'x', 'redacted', '1', 0,"
        " 'queued', 1, 1)"
    ),
}


def insert_raw(db: Database, table: str, group: int) -> None:
    with db.transaction():
        db.query(RAW_ROWS[table], {"group": group})


@pytest.mark.evidence(1)
@pytest.mark.parametrize("table", RAW_ROWS)
def test_a_row_of_another_group_cannot_be_inserted_even_by_raw_sql(
    path: Path, db: Database, table: str
) -> None:
    with pytest.raises(Refused, match="other_group"):
        insert_raw(db, table, OTHER_GROUP)

    assert db.query(f"SELECT * FROM {table}") == []
    assert CANARY.encode() not in b"".join(p.read_bytes() for p in path.parent.iterdir())


@pytest.mark.parametrize("table", RAW_ROWS)
def test_the_same_row_of_the_own_group_can_be_inserted(db: Database, table: str) -> None:
    insert_raw(db, table, GROUP)

    assert len(db.query(f"SELECT * FROM {table}")) == 1


@pytest.mark.parametrize("table", ["group_messages", "tasks", "approvals", "outbox_messages"])
def test_a_stored_row_cannot_be_moved_into_another_group(db: Database, table: str) -> None:
    insert_raw(db, table, GROUP)

    with pytest.raises(Refused), db.transaction():
        db.query(f"UPDATE {table} SET group_id = :group", {"group": OTHER_GROUP})

    assert db.query(f"SELECT group_id FROM {table}") == [{"group_id": GROUP}]


@pytest.mark.parametrize(
    "sql",
    [
        f"UPDATE target_group SET group_id = {OTHER_GROUP}",
        "DELETE FROM target_group",
        f"INSERT OR REPLACE INTO target_group VALUES (1, {OTHER_GROUP}, 1, 1)",
        f"INSERT INTO target_group VALUES (2, {OTHER_GROUP}, 1, 1)",
    ],
)
def test_a_database_cannot_be_turned_over_to_another_group(db: Database, sql: str) -> None:
    with pytest.raises(Refused), db.transaction():
        db.query(sql)

    assert db.query("SELECT group_id FROM target_group") == [{"group_id": GROUP}]


@pytest.mark.evidence(1)
def test_the_stores_refuse_another_group(db: Database) -> None:
    row = stored(db, "x")
    key = MessageKey(group_id=OTHER_GROUP, message_id=message().message_id, real_seq=1)

    with pytest.raises(Refused, match="other_group"):
        store(db, message(CANARY, group_id=OTHER_GROUP))
    with pytest.raises(Refused, match="other_group"), db.transaction():
        MessageStore(db).mark_in_hand((key,))
    with pytest.raises(Refused, match="other_group"), db.transaction():
        TaskStore(db).create_task(
            trigger_row=row,
            requester_id=OWNER,
            group_id=OTHER_GROUP,
            policy_version="p",
            context_version="c",
        )
