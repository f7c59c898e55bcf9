"""What was used and what protection replaced, counted for the charts of the console."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from perlica.stores.database import Database
from perlica.stores.views.columns import PAGE_CODE_POINTS, read_all, texts

MAX_REDACTED_ROWS: Final = 2_000
"""Of so many newest texts with something replaced the kinds are counted."""

_PLACEHOLDER: Final = re.compile("⟦凭据:([a-z0-9_]{2,40}):[0-9]{1,5}⟧")


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What the tasks begun in span number `span` and now in `state` used."""

    span: int
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
# For each span the index on the time of creation leads to its tasks.
_USED: Final = f"""
SELECT began.key AS span, {_STATE}, count(*) AS tasks,
    sum(model_calls) AS model_calls, sum(tool_calls) AS tool_calls,
    sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens
FROM json_each(:began) AS began
CROSS JOIN json_each(:ended) AS ended ON ended.key = began.key
CROSS JOIN tasks ON created_at_ms >= began.value AND created_at_ms < ended.value
GROUP BY 1, 2
"""  # noqa: S608 - joined from constants only
_IN_MESSAGES: Final = f"""
SELECT stored_at_ms AS at_ms, CAST(substr(content, 1, {PAGE_CODE_POINTS}) AS BLOB) AS content
FROM group_messages WHERE finding_count > 0 AND stored_at_ms >= :since_ms
ORDER BY stored_at_ms DESC LIMIT :limit
"""  # noqa: S608
_IN_OUTPUTS: Final = f"""
SELECT created_at_ms AS at_ms, CAST(substr(content, 1, {PAGE_CODE_POINTS}) AS BLOB) AS content
FROM tool_outputs WHERE finding_count > 0 AND created_at_ms >= :since_ms
ORDER BY created_at_ms DESC LIMIT :limit
"""  # noqa: S608


def count_used(db: Database, edges_ms: Sequence[int]) -> tuple[Used, ...]:
    """What tasks used, by the spans between neighbouring edges (from 0) and by state."""
    bindings = {"began": json.dumps(edges_ms[:-1]), "ended": json.dumps(edges_ms[1:])}
    return tuple(Used(**row) for row in read_all(db, _USED, bindings))


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
