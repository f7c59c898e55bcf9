"""The group's messages: what is stored once, what is hidden, and in which order it is read."""

import pytest
import time_machine

from perlica.domain.clock import now_ms
from perlica.domain.ids import MessageId
from perlica.protection import not_scanned
from perlica.stores import messages
from perlica.stores.database import Database
from perlica.stores.messages import MessageStore, StoredAttachment
from tests.stores.rows import OWNER, STRANGER, message, sealed, store, stored

DAY_MS = 86_400_000
MINUTE_MS = 60_000


def recent(db: Database, *, limit: int = 30, within_ms: int = 15 * MINUTE_MS) -> list[str]:
    at_ms = now_ms()
    found = MessageStore(db).list_recent(before_ms=at_ms, after_ms=at_ms - within_ms, limit=limit)
    return [message.content.content for message in found]


def recall(db: Database, message_id: int) -> int:
    with db.transaction():
        return len(MessageStore(db).mark_recalled(MessageId(message_id), now_ms()))


def test_a_message_that_is_delivered_again_is_stored_once(db: Database) -> None:
    arrived = message("once")

    first, second = store(db, arrived), store(db, arrived)

    assert first is not None
    assert second is None
    assert recent(db) == ["once"]


def test_two_messages_that_share_an_id_are_both_stored(db: Database) -> None:
    stored(db, message("older", message_id=77, real_seq=1))
    stored(db, message("newer", message_id=77, real_seq=2))

    assert recent(db) == ["newer", "older"]


def test_without_a_sequence_sender_and_time_tell_messages_apart(db: Database) -> None:
    at_ms = now_ms()
    facts = {"message_id": 9, "real_seq": None, "sent_at_ms": at_ms}

    rows = [
        store(db, message("a", **facts, user_id=OWNER)),  # type: ignore[arg-type]
        store(db, message("a", **facts, user_id=OWNER)),  # type: ignore[arg-type]
        store(db, message("b", **facts, user_id=STRANGER)),  # type: ignore[arg-type]
    ]

    assert [row is not None for row in rows] == [True, False, True]


@pytest.mark.evidence(6)
def test_a_message_that_could_not_be_scanned_leaves_its_status_and_no_text(db: Database) -> None:
    row = store(db, message("secret"), content=not_scanned())

    assert row is not None
    found = MessageStore(db).find_message(row)
    assert found is not None
    assert found.content == not_scanned()
    assert "secret" not in str(db.query("SELECT * FROM group_messages"))


def test_the_groups_own_order_counts_when_messages_arrive_out_of_order(db: Database) -> None:
    at_ms = now_ms()
    for seq in (12, 10, 11):
        stored(db, message(f"seq {seq}", real_seq=seq, sent_at_ms=at_ms))

    assert recent(db) == ["seq 12", "seq 11", "seq 10"]


def test_a_message_without_a_sequence_stands_after_the_one_before_it(db: Database) -> None:
    at_ms = now_ms() - 10_000
    stored(db, message("first", real_seq=10, sent_at_ms=at_ms))
    stored(db, message("third", real_seq=11, sent_at_ms=at_ms + 2_000))
    stored(db, message("second", real_seq=None, sent_at_ms=at_ms + 1_000))

    assert recent(db) == ["third", "second", "first"]


def test_a_window_takes_the_newest_within_both_times(db: Database) -> None:
    at_ms = now_ms()
    for minutes in (20, 14, 10, 1):
        stored(db, message(f"{minutes} min", sent_at_ms=at_ms - minutes * MINUTE_MS))

    assert recent(db) == ["1 min", "10 min", "14 min"]
    assert recent(db, limit=2) == ["1 min", "10 min"]


@pytest.mark.evidence(10)
def test_a_window_never_holds_control_quarantined_or_recalled_messages(db: Database) -> None:
    stored(db, ".approve K7Q2M 123456", kind="control")
    stored(db, "broken", kind="quarantined")
    gone = message("taken back", message_id=501)
    stored(db, gone)
    stored(db, "@Perlica hello", kind="trigger")

    assert recall(db, 501) == 1

    assert recent(db) == ["@Perlica hello"]


def test_a_recall_is_noted_once(db: Database) -> None:
    stored(db, message("x", message_id=502))

    assert (recall(db, 502), recall(db, 502)) == (1, 0)


def test_a_quote_finds_the_newest_of_several_with_that_id(db: Database) -> None:
    at_ms = now_ms()
    stored(db, message("old", message_id=5, real_seq=100, sent_at_ms=at_ms - DAY_MS))
    stored(db, message("new", message_id=5, real_seq=200, sent_at_ms=at_ms - MINUTE_MS))
    store_of = MessageStore(db)

    now = store_of.find_quoted(MessageId(5), at_ms)
    yesterday = store_of.find_quoted(MessageId(5), at_ms - 2 * MINUTE_MS)

    assert now is not None
    assert now.content.content == "new"
    assert yesterday is not None
    assert yesterday.content.content == "old"


@pytest.mark.parametrize("kind", ["control", "quarantined"])
def test_a_quote_never_finds_a_hidden_message(db: Database, kind: str) -> None:
    stored(db, message("hidden", message_id=6), kind=kind)  # type: ignore[arg-type]

    assert MessageStore(db).find_quoted(MessageId(6), now_ms()) is None


def test_what_is_older_than_the_retention_is_not_read_even_before_clean_up(db: Database) -> None:
    with time_machine.travel(0.0, tick=False):
        row = stored(db, message("old", message_id=7, sent_at_ms=0))
    with time_machine.travel(90 * 86_400.0 + 1, tick=False):
        store_of = MessageStore(db)
        assert store_of.find_quoted(MessageId(7), now_ms()) is None
        assert recent(db, within_ms=now_ms()) == []
        assert store_of.find_message(row) is not None


def test_a_message_keeps_its_quote_and_its_attachments(db: Database) -> None:
    picture = StoredAttachment(kind="image", name=sealed("图.png"), size_bytes=12, handle="file-1")

    row = store(db, message("see", quotes=4711), attachments=[picture])

    assert row is not None
    found = MessageStore(db).find_message(row)
    assert found is not None
    assert found.quoted_message_id == 4711
    (kept,) = MessageStore(db).list_attachments(row)
    assert (kept.kind, kept.name.content, kept.size_bytes) == ("image", "图.png", 12)


def test_an_attachment_goes_with_its_message(db: Database) -> None:
    picture = StoredAttachment(kind="image", name=sealed("a"), size_bytes=None, handle="")
    row = store(db, message("see"), attachments=[picture])

    with db.transaction():
        db.query("DELETE FROM group_messages WHERE id = :row", {"row": row})

    assert db.query("SELECT * FROM attachments") == []


def test_catching_up_begins_at_the_highest_sequence(db: Database) -> None:
    assert MessageStore(db).last_seq() is None
    for seq in (5, 9, 7):
        stored(db, message(real_seq=seq))

    assert MessageStore(db).last_seq() == 9


def test_one_absurd_sequence_does_not_decide_for_ever_where_catching_up_begins(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messages, "_LATELY", 3)
    stored(db, message(real_seq=2**62))
    for seq in (5, 6, 7):
        stored(db, message(real_seq=seq))

    assert MessageStore(db).last_seq() == 7


def test_a_recall_hides_no_message_of_somebody_else_with_the_same_id(db: Database) -> None:
    stored(db, message("his", message_id=77, real_seq=1, user_id=OWNER))
    stored(db, message("hers", message_id=77, real_seq=2, user_id=STRANGER))

    with db.transaction():
        touched = MessageStore(db).mark_recalled(MessageId(77), now_ms(), author=OWNER)

    assert len(touched) == 1
    assert recent(db) == ["hers"]
