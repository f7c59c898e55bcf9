"""The history search finds text literally, and never what is hidden or gone."""

from pathlib import Path

import pytest
import time_machine
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perlica.domain.clock import now_ms
from perlica.domain.ids import MessageId
from perlica.stores import messages
from perlica.stores.database import Database
from perlica.stores.literal import fold
from perlica.stores.messages import MessageStore
from perlica.stores.retention import Retention
from tests.stores.rows import message, sealed, store, stored

DAY_MS = 86_400_000
TALK = (
    "明天把沙箱删掉吧",
    "POL-358 还没有修好，见 k8s/namespace 的说明",
    "发布成功 🎉🎉 辛苦了 👍🏽",
    "The Quick brown fox, ÉCOLE Straße",
    "50% 的请求返回 a_b*c",
    '他说 "NOT found" OR NEAR(x, y)',
)


@pytest.fixture
def talk(db: Database) -> Database:
    for text in TALK:
        stored(db, text)
    return db


def find(
    db: Database, text: str, *, after_ms: int = 0, before_ms: int | None = None, limit: int = 30
) -> list[str]:
    found = MessageStore(db).search(
        text, after_ms=after_ms, before_ms=before_ms or now_ms() + DAY_MS, limit=limit
    )
    return [message.content.content for message in found]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("删", 0),
        ("沙箱", 0),
        ("把沙箱删掉", 0),
        ("修好，见", 1),
        ("POL-358", 1),
        ("pol-3", 1),
        ("k8s/namespace", 1),
        ("s/n", 1),
        ("见 k8s", 1),
        ("🎉", 2),
        ("🎉🎉", 2),
        ("👍🏽", 2),
        ("👍", 2),
        ("了 👍", 2),
        ("QUICK BROWN", 3),
        ("école", 3),
        ("E\u0301cole", 3),
        ("STRASSE", 3),
        ("50%", 4),
        ("a_b*c", 4),
        ("*", 4),
        ('"NOT', 5),
        ("not FOUND", 5),
        ("OR NEAR(x", 5),
    ],
)
def test_a_text_is_found_literally_whatever_its_case(talk: Database, text: str, place: int) -> None:
    assert find(talk, text) == [TALK[place]]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "删沙",
        "POL358",
        "quick fox",
        "沙箱 OR 发布",
        "沙*",
        "content:沙箱",
        "^明天",
        "NEAR(沙箱 删掉)",
        '"',
        "''",
        "\x00",
        "沙\x00箱",
        "\ud800",
        "沙箱" * 500,
    ],
)
def test_query_syntax_and_other_noise_is_only_text(talk: Database, text: str) -> None:
    assert find(talk, text) in ([], [TALK[5]] if text == '"' else [])


def test_hits_come_newest_first_and_no_more_than_asked(db: Database) -> None:
    for number in range(5):
        stored(db, f"沙箱 {number}")

    assert find(db, "沙箱", limit=3) == ["沙箱 4", "沙箱 3", "沙箱 2"]
    assert find(db, "沙箱", limit=0) == []


def test_a_search_is_bounded_by_both_times(db: Database) -> None:
    at_ms = now_ms()
    for days in (5, 3, 1):
        stored(db, message(f"沙箱 {days}", sent_at_ms=at_ms - days * DAY_MS))

    assert find(db, "沙箱", after_ms=at_ms - 4 * DAY_MS, before_ms=at_ms - 2 * DAY_MS) == ["沙箱 3"]
    assert find(db, "沙箱", after_ms=at_ms + DAY_MS, before_ms=at_ms) == []


def test_a_message_that_arrives_late_is_found_at_its_own_time(db: Database) -> None:
    at_ms = now_ms()
    stored(db, message("沙箱 today", sent_at_ms=at_ms))
    stored(db, message("沙箱 caught up", sent_at_ms=at_ms - 3 * DAY_MS))

    before_ms = at_ms - 2 * DAY_MS

    assert find(db, "沙箱", before_ms=before_ms) == ["沙箱 caught up"]
    assert find(db, "沙箱") == ["沙箱 today", "沙箱 caught up"]


@pytest.mark.evidence(10)
@pytest.mark.parametrize("kind", ["control", "quarantined"])
def test_a_hidden_message_is_not_found_and_not_in_the_index(db: Database, kind: str) -> None:
    stored(db, "龘靐龖", kind=kind)  # type: ignore[arg-type]

    assert find(db, "龘靐") == []
    assert not index_holds(db, "龘")


def test_a_recalled_message_is_not_found_and_leaves_the_index(db: Database) -> None:
    stored(db, message("龘靐龖", message_id=900))
    assert index_holds(db, "龘")

    with db.transaction():
        MessageStore(db).mark_recalled(MessageId(900), now_ms())

    assert find(db, "龘靐") == []
    assert not index_holds(db, "龘")


def test_a_message_that_becomes_quarantined_leaves_the_index(db: Database) -> None:
    row = stored(db, "龘靐龖")

    with db.transaction():
        db.query("UPDATE group_messages SET kind = 'quarantined' WHERE id = :row", {"row": row})

    assert not index_holds(db, "龘")


def test_an_expired_message_is_not_found_before_clean_up_and_gone_after_it(db: Database) -> None:
    with time_machine.travel(1_000_000.0, tick=False):
        stored(db, "龘靐龖")
        assert find(db, "龘靐") == ["龘靐龖"]
    with time_machine.travel(1_000_000.0 + 90 * 86_400 + 1, tick=False):
        assert find(db, "龘靐") == []
        assert index_holds(db, "龘")

        Retention(db).run_to_end()

        assert not index_holds(db, "龘")


def test_a_message_that_was_rolled_back_is_not_in_the_index(db: Database) -> None:
    def fail() -> None:
        with db.transaction():
            MessageStore(db).insert_message(
                message("龘靐龖"), kind="chat", display_name=sealed(""), content=sealed("龘靐龖")
            )
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    assert find(db, "龘靐") == []
    assert not index_holds(db, "龘")


def test_a_damaged_index_can_be_made_anew_without_hidden_messages(talk: Database) -> None:
    stored(talk, "龘靐龖", kind="control")

    with talk.transaction():
        MessageStore(talk).rebuild_index()

    assert find(talk, "沙箱") == [TALK[0]]
    assert not index_holds(talk, "龘")


def test_a_search_ends_after_a_bounded_number_of_hits(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both pairs stand in every message, the text itself in the oldest alone."""
    stored(db, "甲乙丙")
    for _ in range(20):
        stored(db, "甲乙 乙丙")
    assert find(db, "甲乙丙") == ["甲乙丙"]

    monkeypatch.setattr(messages, "MAX_EXAMINED_HITS", 10)

    assert find(db, "甲乙丙") == []


def test_a_read_only_connection_searches_too(path: Path, talk: Database) -> None:
    with Database.open(path, read_only=True) as reader:
        assert find(reader, "沙箱") == [TALK[0]]


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    text=st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20),
    data=st.data(),
)
def test_every_piece_of_a_stored_message_finds_it(
    db: Database, text: str, data: st.DataObject
) -> None:
    begin = data.draw(st.integers(0, len(text) - 1))
    piece = text[begin : data.draw(st.integers(begin + 1, len(text)))]
    row = store(db, message(text))
    found = MessageStore(db).find_message(row) if row is not None else None
    assert found is not None

    hits = MessageStore(db).search(piece, after_ms=0, before_ms=now_ms() + DAY_MS, limit=1_000)

    rows = {hit.row for hit in hits}
    assert (found.row in rows) == (fold(piece) in fold(found.content.content))


def index_holds(db: Database, token: str) -> bool:
    """Whether the index below the search has the token, asked past the search."""
    db.query("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, message_index, row)")
    try:
        return bool(db.query("SELECT 1 FROM temp.vocabulary WHERE term = :term", {"term": token}))
    finally:
        db.query("DROP TABLE temp.vocabulary")
