"""The audit trail as the console searches it: newest first, within a bounded time.

An index leads to the events of one kind, actor, task, ticket or operation. A text is looked for by
reading the details, and that may take long: a search stops after a while and says how far it came,
so that the next page goes on from there.
"""

from dataclasses import dataclass
from typing import Final

from perlica.domain.clock import monotonic_s
from perlica.stores.database import Database, Row
from perlica.stores.views.columns import (
    PASSAGE_CODE_POINTS,
    Excerpt,
    excerpt,
    read_all,
    texts,
    with_excerpts,
)

SEARCH_WITHIN_S: Final = 0.08
"""What one page of a search may take."""
STRIDE_ROWS: Final = 20_000
"""Rows between two looks at the clock."""
_DISORDER_ROWS: Final = 1_000
"""How far a clock that was set back can mix numbers and times up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Which events are wanted; what is None does not matter. `text` is looked for in details."""

    kind: str | None = None
    actor: str | None = None
    level: str | None = None
    task: str | None = None
    ticket: str | None = None
    operation: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditView:
    """An event; `detail` is protected JSON, perhaps cut."""

    id: int
    at_ms: int
    kind: str
    actor: str
    level: str | None
    task_id: str | None
    ticket_id: str | None
    operation_id: str | None
    detail: Excerpt


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPage:
    """What was found. `next_before` continues; None when there is nothing older.

    `seen_to_ms` is how far back a search came that ran out of time, otherwise None.
    """

    events: tuple[AuditView, ...]
    next_before: int | None
    seen_to_ms: int | None = None


_TEXTS: Final = texts("kind", "actor", "level", "task_id", "ticket_id", "operation_id")
_DETAIL: Final = excerpt("detail", PASSAGE_CODE_POINTS)
_SELECT: Final = f"SELECT id, at_ms, {_TEXTS}, {_DETAIL} FROM audit_events"  # noqa: S608
_CONDITIONS: Final = {
    "kind": "kind = :kind",
    "actor": "actor = :actor",
    "level": "level = :level",
    "task": "task_id = :task",
    "ticket": "ticket_id = :ticket",
    "operation": "operation_id = :operation",
    "since_ms": "at_ms >= :since_ms",
    "until_ms": "at_ms < :until_ms",
    "text": "detail LIKE :text ESCAPE '\\'",
}
# The narrowest first. SQLite would take the numbers' range for narrower than it is.
_INDEXES: Final = {
    "operation": "INDEXED BY audit_events_by_operation",
    "ticket": "INDEXED BY audit_events_by_ticket",
    "task": "INDEXED BY audit_events_by_task",
    "kind": "INDEXED BY audit_events_by_kind",
    "actor": "INDEXED BY audit_events_by_actor",
}
_LAST: Final = "SELECT max(id) AS id FROM audit_events"
_FIRST: Final = "SELECT min(id) AS id FROM audit_events"
_LAST_UNTIL: Final = f"""
SELECT max(id) AS id FROM (
    SELECT id FROM audit_events WHERE at_ms < :at_ms ORDER BY at_ms DESC LIMIT {_DISORDER_ROWS})
"""  # noqa: S608
_FIRST_SINCE: Final = f"""
SELECT min(id) AS id FROM (
    SELECT id FROM audit_events WHERE at_ms >= :at_ms ORDER BY at_ms LIMIT {_DISORDER_ROWS})
"""  # noqa: S608
_TIME_OF: Final = "SELECT at_ms FROM audit_events WHERE id >= :id ORDER BY id LIMIT 1"
# From one kind to the next through the index, without reading all rows of each.
_KINDS: Final = """
WITH RECURSIVE next (kind) AS (
    SELECT min(kind) FROM audit_events
    UNION ALL
    SELECT (SELECT min(kind) FROM audit_events WHERE kind > next.kind) FROM next
    WHERE next.kind IS NOT NULL LIMIT 200)
SELECT CAST(substr(kind, 1, 200) AS BLOB) AS kind FROM next WHERE kind IS NOT NULL
"""


def search(
    db: Database,
    wanted: AuditFilter,
    *,
    limit: int,
    before: int | None = None,
    within_s: float = SEARCH_WITHIN_S,
) -> AuditPage:
    """The newest events that fit, at most `limit`, below number `before`."""
    high, low = _bounds(db, wanted, before)
    if high is None or low is None or high < low:
        return AuditPage(events=(), next_before=None)
    sql, bindings = _statement(wanted)
    until_s = monotonic_s() + within_s
    found: list[AuditView] = []
    while high >= low and len(found) <= limit:
        bottom = max(low, high - STRIDE_ROWS + 1)
        # One more than wanted, which says whether there is anything older.
        span = {"low": bottom, "high": high, "limit": limit + 1 - len(found)}
        found += [_event(row) for row in read_all(db, sql, {**bindings, **span})]
        high = bottom - 1
        if monotonic_s() > until_s:
            break
    if len(found) > limit:
        return AuditPage(events=tuple(found[:limit]), next_before=found[limit - 1].id)
    if high < low:
        return AuditPage(events=tuple(found), next_before=None)
    row = db.query_one(_TIME_OF, {"id": high + 1})
    seen_to_ms = None if row is None else int(row["at_ms"])
    return AuditPage(events=tuple(found), next_before=high + 1, seen_to_ms=seen_to_ms)


def list_kinds(db: Database) -> tuple[str, ...]:
    """Every kind of event there is, in alphabetical order."""
    return tuple(str(row["kind"]) for row in read_all(db, _KINDS))


def _bounds(db: Database, wanted: AuditFilter, before: int | None) -> tuple[int | None, int | None]:
    """The numbers between which events can fit, both ends included."""
    if wanted.until_ms is None:
        high = _number(db, _LAST)
    else:
        high = _number(db, _LAST_UNTIL, at_ms=wanted.until_ms)
    if wanted.since_ms is None:
        low = _number(db, _FIRST)
    else:
        low = _number(db, _FIRST_SINCE, at_ms=wanted.since_ms)
    if before is not None and high is not None:
        high = min(high, before - 1)
    return high, low


def _number(db: Database, sql: str, **bindings: int) -> int | None:
    row = db.query_one(sql, bindings)
    return None if row is None or row["id"] is None else int(row["id"])


def _statement(wanted: AuditFilter) -> tuple[str, dict[str, object]]:
    fields = {name: getattr(wanted, name) for name in _CONDITIONS}
    given = {name: value for name, value in fields.items() if value is not None}
    index = next((how for name, how in _INDEXES.items() if name in given), "NOT INDEXED")
    conditions = " AND ".join(["id BETWEEN :low AND :high", *(_CONDITIONS[n] for n in given)])
    sql = f"{_SELECT} {index} WHERE {conditions} ORDER BY id DESC LIMIT :limit"
    if wanted.text is not None:
        given["text"] = f"%{_literal(wanted.text)}%"
    return sql, given


def _literal(text: str) -> str:
    """The text as a LIKE pattern that means itself."""
    for special in ("\\", "%", "_"):
        text = text.replace(special, "\\" + special)
    return text


def _event(row: Row) -> AuditView:
    return AuditView(**with_excerpts(row, "detail"))
