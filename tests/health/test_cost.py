"""A look costs the same on a database with years in it: it walks no whole table."""

import re
from collections.abc import Sequence

import pytest

from perlica.stores.database import Bindings, Database, Row
from tests.health.conftest import MakeSite

# Small by their nature: one row, three slots, what intake holds at this moment, short facts.
SMALL = {"messages_in_hand", "json_each", "target_group", "service_state"}


def plan_of(database: Database, sql: str) -> Sequence[str]:
    names = re.findall(r":([a-z_]+)", sql)
    bound = dict.fromkeys(names, 0)
    return [row["detail"] for row in database.query(f"EXPLAIN QUERY PLAN {sql}", bound)]


def test_no_look_walks_a_whole_table(
    db: Database, make_site: MakeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: set[str] = set()
    query = Database.query

    def listen(database: Database, sql: str, bindings: Bindings = ()) -> list[Row]:
        asked.add(sql)
        return query(database, sql, bindings)

    monkeypatch.setattr(Database, "query", listen)
    make_site().get("/metrics")
    monkeypatch.undo()

    steps = [step for sql in asked for step in plan_of(db, sql)]
    scanned = [step for step in steps if step.startswith("SCAN") and " INDEX " not in step]
    assert len(asked) > 20
    assert {step.split()[1] for step in scanned} <= SMALL
