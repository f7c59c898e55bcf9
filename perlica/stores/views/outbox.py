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
_SELECT: Final = f"""
SELECT id, part, parts, attempt, possible_duplicate, sent_message_id, not_before_ms,
    attempted_at_ms, created_at_ms, updated_at_ms, {_WITHHELD} AS is_withheld,
    {texts("kind", "task_id", "ticket_id", "state", "last_error")},
    {excerpt("shown.content", PASSAGE_CODE_POINTS)}
FROM (SELECT *, iif({_WITHHELD}, '', content) AS content FROM (
    SELECT id, part, parts, attempt, possible_duplicate, sent_message_id, not_before_ms,
        attempted_at_ms, created_at_ms, updated_at_ms, kind, task_id, ticket_id, state,
        last_error, content
    FROM outbox_messages
"""
