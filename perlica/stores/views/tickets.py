"""Tickets as the console shows them; a ticket's code is nowhere, its digest is not read."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from perlica.stores.database import Database, Row
from perlica.stores.views.columns import (
    DOCUMENT_CODE_POINTS,
    Excerpt,
    excerpt,
    ordered_by,
    read_all,
    read_one,
    texts,
    with_excerpts,
)


class TicketFilter(StrEnum):
    """Which tickets a list shows."""

    everything = "everything"
    living = "living"
    consumed = "consumed"
    unused = "unused"


@dataclass(frozen=True, slots=True, kw_only=True)
class TicketView:
    """A ticket; `owners` is the JSON list of those it is bound to.

    `ordered_by` is the Owner whose command asked for it, None for a task's and once the command is
    forgotten.
    """

    id: str
    place: int
    origin_kind: str
    origin_id: str
    task_id: str | None
    call_id: str | None
    action: str
    plan_hash: str
    plan: Excerpt
    target_summary: Excerpt = field(repr=False)
    policy_version: str
    owners: str
    state: str
    attempts: int
    created_at_ms: int
    expires_at_ms: int
    decided_by: int | None
    decided_at_ms: int | None
    consumed_at_ms: int | None
    ordered_by: int | None


_TEXTS: Final = texts(
    "id",
    "origin_kind",
    "origin_id",
    "task_id",
    "call_id",
    "action",
    "plan_hash",
    "policy_version",
    "state",
)
_OWNERS: Final = texts("owners", code_points=4_096)
_PLAN: Final = excerpt("plan", DOCUMENT_CODE_POINTS)
_SUMMARY: Final = excerpt("target_summary", 1_000)
_SELECT: Final = f"""
SELECT rowid AS place, {_TEXTS}, {_PLAN}, {_SUMMARY},
    {_OWNERS}, attempts, created_at_ms, expires_at_ms,
    decided_by, decided_at_ms, consumed_at_ms, {ordered_by("approvals")}
FROM approvals
"""  # noqa: S608 - joined from constants only
_OLDER: Final = "(created_at_ms, rowid) < (:before_ms, :before_place)"
_NEWEST: Final = "ORDER BY created_at_ms DESC, rowid DESC LIMIT :limit"
_CONDITIONS: Final = {
    TicketFilter.everything: "",
    TicketFilter.living: "AND state IN ('pending', 'approved')",
    TicketFilter.consumed: "AND state = 'consumed'",
    TicketFilter.unused: "AND state IN ('denied', 'expired', 'void')",
}
_LISTS: Final = {
    which: f"{_SELECT} WHERE {_OLDER} {condition} {_NEWEST}"
    for which, condition in _CONDITIONS.items()
}
_FIND: Final = f"{_SELECT} WHERE id = :id"
_FOR_TASK: Final = f"{_SELECT} WHERE task_id = :id ORDER BY rowid LIMIT :limit"

MAX_TICKETS: Final = 200


def list_tickets(
    db: Database, which: TicketFilter, *, limit: int, before: tuple[int, int] | None = None
) -> tuple[TicketView, ...]:
    """The newest tickets first; `before` is (created_at_ms, place) of the last one of a page."""
    before_ms, before_place = before or (2**62, 2**62)
    bindings = {"before_ms": before_ms, "before_place": before_place, "limit": limit}
    return tuple(map(_ticket, read_all(db, _LISTS[which], bindings)))


def find_ticket(db: Database, ticket: str) -> TicketView | None:
    """A ticket by its id."""
    row = read_one(db, _FIND, {"id": ticket})
    return None if row is None else _ticket(row)


def list_for_task(db: Database, task: str) -> tuple[TicketView, ...]:
    """The tickets of a task in the order they were drawn, the first `MAX_TICKETS` of them."""
    return tuple(map(_ticket, read_all(db, _FOR_TASK, {"id": task, "limit": MAX_TICKETS})))


def _ticket(row: Row) -> TicketView:
    return TicketView(**with_excerpts(row, "plan", "target_summary"))
