"""Lists are read page by page, without a gap or a row twice; a search goes on where it stopped."""

import re
from collections.abc import Iterator
from html import unescape

import pytest

from perlica.stores.database import Database
from perlica.stores.views.audit import AuditFilter, list_kinds, search
from tests.console.conftest import StartConsole
from tests.console.people import Person
from tests.console.seeder import GROUP

TASKS, EVENTS = 137, 45_000
_OLDER = re.compile(r'<a href="([^"]+)" rel="next"')
_TASK = re.compile(r"T-\d{5}")

FILL_TASKS = """
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :rows)
INSERT INTO tasks (id, group_id, requester_id, state, created_at_ms, ended_at_ms, policy_version,
    context_version)
SELECT printf('T-%05d', i), :group_id, 30001, iif(i % 3, 'completed', 'failed'),
    1700000000000 + i / 5, 1700000000001 + i, '1', '1' FROM n
"""
FILL_AUDIT = """
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :rows)
INSERT INTO audit_events (at_ms, kind, actor, level, detail, protection_status, policy_version,
    finding_count)
SELECT 1700000000000 + i * 1000, printf('kind.%d', i % 7), printf('actor:%d', i % 100),
    iif(i % 1000, 'low', 'high'),
    json_object('n', i, 'text', iif(i % 9000 = 1, 'Needle_50%', 'hay')),
    'scanned_no_findings', '1', 0
FROM n
"""


@pytest.fixture
def filled(start: StartConsole, path: object) -> Iterator[Person]:
    console = start()
    with Database.open(path) as db, db.transaction():  # type: ignore[arg-type]
        db.change(FILL_TASKS, {"rows": TASKS, "group_id": GROUP})
        db.change(FILL_AUDIT, {"rows": EVENTS})
    with Person(console) as person:
        person.log_in()
        yield person


@pytest.fixture
def db(filled: Person, path: object) -> Iterator[Database]:
    with Database.open(path, read_only=True) as opened:  # type: ignore[arg-type]
        yield opened


def walk(person: Person, page: str) -> list[str]:
    """Every page of a list, by its own links."""
    texts = []
    while page:
        answer = person.get(page)
        assert answer.status_code == 200
        texts.append(answer.text)
        found = _OLDER.search(answer.text)
        page = unescape(found[1]) if found else ""
        assert len(texts) < 1_000
    return texts


@pytest.mark.parametrize(("state", "rows"), [("everything", 137), ("failed", 45), ("cancelled", 0)])
def test_every_task_is_on_exactly_one_page(filled: Person, state: str, rows: int) -> None:
    pages = walk(filled, f"/tasks?state={state}")

    ids = [task for text in pages for task in dict.fromkeys(_TASK.findall(text))]
    assert len(ids) == len(set(ids)) == rows
    assert ids == sorted(ids, reverse=True)


def test_a_text_is_found_wherever_it_stands_and_means_itself(db: Database) -> None:
    found = search(db, AuditFilter(text="needle_50%"), limit=50, within_s=30.0)

    assert [event.detail.text for event in found.events] == [
        f'{{"n":{n},"text":"Needle_50%"}}' for n in (36001, 27001, 18001, 9001, 1)
    ]
    assert found.next_before is None
    assert search(db, AuditFilter(text="needle%50"), limit=50, within_s=30.0).events == ()
    assert search(db, AuditFilter(text="needlex50"), limit=50, within_s=30.0).events == ()


def test_a_search_that_runs_out_of_time_goes_on_where_it_stopped(db: Database) -> None:
    wanted = AuditFilter(text="Needle")
    page = search(db, wanted, limit=2, within_s=0.0)
    numbers = [event.id for event in page.events]
    pages = 1
    while page.next_before is not None:
        page = search(db, wanted, limit=2, before=page.next_before, within_s=0.0)
        numbers += [event.id for event in page.events]
        pages += 1

    assert numbers == [36001, 27001, 18001, 9001, 1]
    assert 3 <= pages <= 8


def test_a_search_says_how_far_back_it_came(db: Database) -> None:
    page = search(db, AuditFilter(text="nowhere"), limit=50, within_s=0.0)

    assert page.events == ()
    assert page.seen_to_ms == 1_700_000_000_000 + (EVENTS - 20_000 + 1) * 1000


@pytest.mark.parametrize(
    ("wanted", "count"),
    [
        (AuditFilter(kind="kind.3"), 6429),
        (AuditFilter(actor="actor:7", kind="kind.0"), 65),
        (AuditFilter(level="high"), 45),
        (AuditFilter(since_ms=1_700_000_010_000, until_ms=1_700_000_020_000), 10),
        (AuditFilter(since_ms=1_700_044_990_000), 11),
        (AuditFilter(task="T-00001"), 0),
    ],
)
def test_filters_together_find_all_that_fits(db: Database, wanted: AuditFilter, count: int) -> None:
    found, before = 0, None
    while True:
        page = search(db, wanted, limit=500, before=before, within_s=30.0)
        found += len(page.events)
        before = page.next_before
        if before is None:
            break

    assert found == count


def test_every_kind_can_be_chosen(db: Database, filled: Person) -> None:
    assert list_kinds(db) == tuple(f"kind.{n}" for n in range(7))
    assert filled.get("/audit").text.count("<option") == 8 + 5


def test_an_audit_list_ends(filled: Person) -> None:
    pages = walk(filled, "/audit?actor=actor%3A7")

    assert len(pages) == 9
