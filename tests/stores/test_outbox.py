"""What is sent: once per key, in parts that fit, one at a time, and in order."""

from collections.abc import Callable
from typing import Any

import pytest
import time_machine

from perlica.domain.clock import now_ms
from perlica.domain.errors import Refused, StaleState
from perlica.domain.ids import MessageId, OutboxId
from perlica.domain.outbox import MAX_MESSAGE_CODE_POINTS, OutboxKind, OutboxState
from perlica.domain.texts import Language
from perlica.protection import Channel, not_scanned, protect
from perlica.stores.database import Database
from perlica.stores.outbox import OutboxRow, OutboxStore
from tests.stores.rows import OWNER, sealed

LONG = "\n\n".join(f"第 {n} 段。" + "沙箱里的测试已经全部通过了。" * 30 for n in range(12))


def enqueue(db: Database, key: str, text: str = "done", **more: object) -> tuple[OutboxId, ...]:
    given: dict[str, Any] = {"kind": OutboxKind.final, **more}
    with db.transaction():
        return OutboxStore(db).enqueue(key=key, content=sealed(text), **given)


def due(db: Database) -> OutboxRow | None:
    return OutboxStore(db).next_due(now_ms())


def attempt(db: Database, row: OutboxId) -> OutboxRow:
    with db.transaction():
        return OutboxStore(db).begin_attempt(row, "echo-1", "sha", now_ms())


def sent(db: Database, row: OutboxId, message_id: int = 1) -> None:
    with db.transaction():
        OutboxStore(db).mark_sent(row, MessageId(message_id))


def every_row(db: Database, ids: tuple[OutboxId, ...]) -> list[OutboxRow]:
    rows = [OutboxStore(db).find(row) for row in ids]
    return [row for row in rows if row is not None]


@pytest.mark.evidence(20)
def test_the_same_key_is_enqueued_once_whatever_it_says(db: Database) -> None:
    first = enqueue(db, "task:T-1:final")

    assert enqueue(db, "task:T-1:final", "something else") == ()

    assert len(first) == 1
    assert OutboxStore(db).counts()[OutboxState.queued] == 1


def test_the_same_key_cannot_be_inserted_twice_even_by_raw_sql(db: Database) -> None:
    enqueue(db, "k")

    with pytest.raises(Refused, match="already_enqueued"), db.transaction():
        db.query(
            "INSERT INTO outbox_messages (idempotency_key, message_key, part, parts, group_id,"
            " kind, content, protection_status, policy_version, finding_count, state,"
            " created_at_ms, updated_at_ms) SELECT idempotency_key, 'other', 1, 1, group_id, kind,"
            " content, protection_status, policy_version, 0, 'queued', 1, 1 FROM outbox_messages"
        )


def test_a_long_text_becomes_numbered_parts_that_fit(db: Database) -> None:
    ids = enqueue(db, "k", LONG, reply_to=MessageId(7), at_user=OWNER)

    rows = every_row(db, ids)

    assert len(rows) > 2
    assert [row.part for row in rows] == list(range(1, len(rows) + 1))
    for row in rows:
        assert row.content.content.startswith(f"({row.part}/{len(rows)}) ")
        assert len(row.content.content) <= MAX_MESSAGE_CODE_POINTS
    told = "".join(row.content.content.split(") ", 1)[1] for row in rows)
    assert told.replace("\n", "") == LONG.replace("\n", "")
    assert [row.reply_to_message_id for row in rows] == [7, *[None] * (len(rows) - 1)]
    assert [row.at_user_id for row in rows] == [OWNER, *[None] * (len(rows) - 1)]


def test_a_text_that_just_fits_stays_whole(db: Database) -> None:
    text = "字" * MAX_MESSAGE_CODE_POINTS

    (row,) = every_row(db, enqueue(db, "k", text))

    assert row.content.content == text


def test_no_part_divides_a_placeholder(db: Database) -> None:
    secret = protect("password=correct-horse-battery", Channel.OUTBOX).content
    text = ("字" * 40 + secret) * 60
    with db.transaction():
        ids = OutboxStore(db).enqueue(
            key="k", kind=OutboxKind.final, content=protect(text, Channel.OUTBOX)
        )

    for row in every_row(db, ids):
        assert row.content.content.count("⟦") == row.content.content.count("⟧")


def test_rows_are_sent_in_the_order_they_were_enqueued(db: Database) -> None:
    ids = [enqueue(db, key)[0] for key in ("a", "b", "c")]
    order = []
    while (row := due(db)) is not None:
        order.append(row.id)
        attempt(db, row.id)
        sent(db, row.id)

    assert order == ids


def test_a_row_waits_for_its_time_and_holds_up_nobody_else(db: Database) -> None:
    with time_machine.travel(1_000.0, tick=False) as clock:
        (late,) = enqueue(db, "late", not_before_ms=now_ms() + 5_000)
        (now,) = enqueue(db, "now")
        first = due(db)
        attempt(db, now)
        sent(db, now)
        between = due(db)
        clock.shift(5)
        second = due(db)

    assert first is not None
    assert first.id == now
    assert between is None
    assert second is not None
    assert second.id == late


@pytest.mark.parametrize("way", ["retry", "unknown"])
def test_a_part_waits_for_the_earlier_ones_and_other_messages_do_not(
    db: Database, way: str
) -> None:
    parts = enqueue(db, "long", LONG)
    (other,) = enqueue(db, "other")
    outbox = OutboxStore(db)
    attempt(db, parts[0])
    with db.transaction():
        if way == "retry":
            outbox.retry_later(parts[0], now_ms() + 60_000, "offline")
        else:
            outbox.mark_unknown(parts[0], "timeout")

    waiting = due(db)
    sent_first = outbox.find(parts[0])

    assert waiting is not None
    assert waiting.id == other
    assert sent_first is not None
    with db.transaction():
        outbox.mark_dead(parts[0], "given_up")
    following = due(db)
    assert following is not None
    assert following.id == parts[1]


@pytest.mark.evidence(20)
def test_one_send_is_in_flight_at_a_time(db: Database) -> None:
    (first,), (second,) = enqueue(db, "a"), enqueue(db, "b")
    begun = attempt(db, first)

    with pytest.raises(Refused, match="send_in_flight"):
        attempt(db, second)

    assert (begun.state, begun.attempt, begun.echo) == (OutboxState.sending, 1, "echo-1")


@pytest.mark.evidence(20)
def test_a_send_that_was_in_flight_at_a_crash_is_unknown_and_not_due(db: Database) -> None:
    (row,) = enqueue(db, "a")
    attempt(db, row)
    outbox = OutboxStore(db)
    with db.transaction():
        (recovered,) = outbox.recover_sending()

    assert recovered.id == row
    assert outbox.list_unknown() == (recovered,)
    assert due(db) is None


def test_an_unknown_send_is_found_or_tried_once_more_with_a_mark(db: Database) -> None:
    outbox = OutboxStore(db)
    (found,), (lost,) = enqueue(db, "a"), enqueue(db, "b")
    for row in (found, lost):
        attempt(db, row)
        with db.transaction():
            outbox.mark_unknown(row, "timeout")
    sent(db, found, message_id=77)
    with db.transaction():
        again = outbox.requeue_as_possible_duplicate(lost)

    assert again.possible_duplicate
    assert again.state is OutboxState.queued
    by_id = outbox.find_by_sent_id(MessageId(77))
    assert by_id is not None
    assert by_id.id == found
    assert attempt(db, lost).attempt == 2


def test_a_row_is_moved_only_from_where_it_is(db: Database) -> None:
    outbox = OutboxStore(db)
    (row,) = enqueue(db, "a")
    moves: tuple[Callable[[], OutboxRow], ...] = (
        lambda: outbox.mark_sent(row, MessageId(1)),
        lambda: outbox.mark_unknown(row, "x"),
        lambda: outbox.retry_later(row, 0, "x"),
        lambda: outbox.requeue_as_possible_duplicate(row),
    )
    for step in moves:
        with pytest.raises(StaleState), db.transaction():
            step()

    assert outbox.counts()[OutboxState.queued] == 1


def test_a_refused_or_dead_row_is_never_due_again(db: Database) -> None:
    outbox = OutboxStore(db)
    (refused,), (dead,) = enqueue(db, "a"), enqueue(db, "b")
    attempt(db, refused)
    with db.transaction():
        outbox.mark_refused(refused, "1200")
        outbox.mark_dead(dead, "given_up")

    counts = outbox.counts()

    assert due(db) is None
    assert (counts[OutboxState.refused], counts[OutboxState.dead]) == (1, 1)


@pytest.mark.evidence(6)
@pytest.mark.parametrize("content", [not_scanned(), sealed(""), sealed(" \n")])
def test_nothing_is_sent_that_was_not_scanned_or_says_nothing(
    db: Database, content: object
) -> None:
    with pytest.raises(Refused), db.transaction():
        OutboxStore(db).enqueue(key="k", kind=OutboxKind.final, content=content)  # type: ignore[arg-type]

    assert OutboxStore(db).counts()[OutboxState.queued] == 0


@pytest.mark.parametrize(
    "change", ["content = 'else'", "at_user_id = 1", "reply_to_message_id = 1"]
)
def test_what_was_enqueued_cannot_be_changed_even_by_raw_sql(db: Database, change: str) -> None:
    enqueue(db, "k")

    with pytest.raises(Refused), db.transaction():
        db.query(f"UPDATE outbox_messages SET {change}")


@pytest.mark.parametrize(
    ("language", "hint"), [(Language.zh, "只发出前 4 条"), (Language.en, "only the first 4")]
)
def test_a_text_beyond_four_parts_ends_with_a_plain_hint(
    db: Database, language: Language, hint: str
) -> None:
    ids = enqueue(db, "k", LONG * 3, language=language)

    rows = every_row(db, ids)
    assert [row.content.content[:5] for row in rows] == ["(1/4)", "(2/4)", "(3/4)", "(4/4)"]
    assert all(len(row.content.content) <= MAX_MESSAGE_CODE_POINTS for row in rows)
    assert hint in rows[-1].content.content.splitlines()[-1]
    assert not any(hint in row.content.content for row in rows[:-1])


def test_an_approval_question_is_never_cut(db: Database) -> None:
    ids = enqueue(db, "k", LONG * 3, kind=OutboxKind.approval)

    assert len(ids) > 4
    assert "只发出" not in "".join(row.content.content for row in every_row(db, ids))
