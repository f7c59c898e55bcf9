"""What was used and what protection replaced, counted for the charts of the console."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from perlica.stores.database import Database
from perlica.stores.views.columns import SHEET_CODE_POINTS, read_all, texts

QUARTER_MS: Final = 900_000
"""Counts are grouped by quarters of an hour: every time zone's days are made of whole ones."""
MAX_REDACTED_ROWS: Final = 2_000
"""Of so many newest texts with something replaced the kinds are counted."""

_PLACEHOLDER: Final = re.compile("⟦凭据:([a-z0-9_]{2,40}):[0-9]{1,5}⟧")


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What the tasks begun in the quarter hour `quarter` and now in `state` used."""

    quarter: int
    state: str
    tasks: int
    model_calls: int
    tool_calls: int
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """One replaced value of a kind such as `password`, and when its text was stored."""

    at_ms: int
    kind: str


_STATE: Final = texts("state")
_USED: Final = f"""
SELECT created_at_ms / {QUARTER_MS} AS quarter, {_STATE}, count(*) AS tasks,
    sum(model_calls) AS model_calls, sum(tool_calls) AS tool_calls,
    sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens
FROM tasks WHERE created_at_ms >= :since_ms GROUP BY 1, 2
"""  # noqa: S608 - joined from constants only
_IN_MESSAGES: Final = f"""
SELECT stored_at_ms AS at_ms, CAST(substr(content, 1, {SHEET_CODE_POINTS}) AS BLOB) AS content
FROM group_messages WHERE finding_count > 0 AND stored_at_ms >= :since_ms
ORDER BY stored_at_ms DESC LIMIT :limit
"""  # noqa: S608
_IN_OUTPUTS: Final = f"""
SELECT created_at_ms AS at_ms, CAST(substr(content, 1, {SHEET_CODE_POINTS}) AS BLOB) AS content
FROM tool_outputs WHERE finding_count > 0 AND created_at_ms >= :since_ms
ORDER BY created_at_ms DESC LIMIT :limit
"""  # noqa: S608


def count_used(db: Database, since_ms: int) -> tuple[Used, ...]:
    """What tasks begun since then used, by quarter hour and state."""
    return tuple(Used(**row) for row in read_all(db, _USED, {"since_ms": since_ms}))


def list_redactions(db: Database, since_ms: int) -> tuple[Redaction, ...]:
    """Values replaced in messages and tool results stored since then; one twice in a text is one.

    Only the newest `MAX_REDACTED_ROWS` texts of each are read.
    """
    return tuple(
        found
        for sql in (_IN_MESSAGES, _IN_OUTPUTS)
        for found in _redactions(db, sql, {"since_ms": since_ms, "limit": MAX_REDACTED_ROWS})
    )


def _redactions(db: Database, sql: str, bindings: dict[str, int]) -> Iterator[Redaction]:
    for row in read_all(db, sql, bindings):
        places = {match[0]: match[1] for match in _PLACEHOLDER.finditer(row["content"])}
        for kind in places.values():
            yield Redaction(at_ms=row["at_ms"], kind=kind)
