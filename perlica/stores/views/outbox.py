"""What was or will be sent to the group, as the console shows it.

Approval questions and answers to commands carry short codes: their text is not read at all.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from perlica.stores.database import Database, Row
from perlica.stores.views.columns import (
    PASSAGE_CODE_POINTS,
    Excerpt,
    excerpt,
    read_all,
    texts,
    with_excerpts,
)


class SendFilter(StrEnum):
    """Which messages a list shows."""

    everything = "everything"
    waiting = "waiting"
    unknown = "unknown"
    failed = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class SendView:
    """A part of a message; `content` is empty for the kinds whose text is withheld."""

    id: int
    kind: str
    part: int
    parts: int
    content: Excerpt = field(repr=False)
    is_withheld: bool
    task_id: str | None
    ticket_id: str | None
    state: str
    attempt: int
    possible_duplicate: bool
    sent_message_id: int | None
    last_error: str
    not_before_ms: int
    attempted_at_ms: int | None
    created_at_ms: int
    updated_at_ms: int


_WITHHELD: Final = "kind IN ('approval', 'command')"
_CONTENT: Final = excerpt(f"iif({_WITHHELD}, '', content)", PASSAGE_CODE_POINTS, called="content")
_TEXTS: Final = texts("kind", "task_id", "ticket_id", "state", "last_error")
_SELECT: Final = f"""
SELECT id, part, parts, attempt, possible_duplicate, sent_message_id, not_before_ms,
    attempted_at_ms, created_at_ms, updated_at_ms, {_WITHHELD} AS is_withheld, {_TEXTS}, {_CONTENT}
FROM outbox_messages
"""  # noqa: S608 - joined from constants only
# Each condition is the one of a partial index.
_CONDITIONS: Final = {
    SendFilter.everything: "",
    SendFilter.waiting: "AND state IN ('queued', 'sending', 'unknown') AND state <> 'unknown'",
    SendFilter.unknown: "AND state IN ('queued', 'sending', 'unknown') AND state = 'unknown'",
    SendFilter.failed: "AND state IN ('refused', 'dead')"
    " AND last_error NOT IN ('coalesced', 'ticket_over')",
}
_LISTS: Final = {
    which: f"{_SELECT} WHERE id < :before {condition} ORDER BY id DESC LIMIT :limit"
    for which, condition in _CONDITIONS.items()
}
_FOR_TASK: Final = f"{_SELECT} WHERE task_id = :id ORDER BY id LIMIT :limit"

MAX_SENDS: Final = 200


def list_sends(
    db: Database, which: SendFilter, *, limit: int, before: int | None = None
) -> tuple[SendView, ...]:
    """The newest messages first; `before` is the id of the last one of a page."""
    bindings = {"before": 2**62 if before is None else before, "limit": limit}
    return tuple(map(_send, read_all(db, _LISTS[which], bindings)))


def list_for_task(db: Database, task: str) -> tuple[SendView, ...]:
    """What was sent for a task in its order, the first `MAX_SENDS` of it."""
    return tuple(map(_send, read_all(db, _FOR_TASK, {"id": task, "limit": MAX_SENDS})))


def _send(row: Row) -> SendView:
    for name in ("possible_duplicate", "is_withheld"):
        row[name] = bool(row[name])
    return SendView(**with_excerpts(row, "content"))
