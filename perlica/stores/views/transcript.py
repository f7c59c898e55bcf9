"""A task's transcript as its timeline shows it: turns, the calls of each, and what they gave."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from perlica.stores.database import Database, Row
from perlica.stores.views.columns import (
    DOCUMENT_CODE_POINTS,
    PAGE_CODE_POINTS,
    PASSAGE_CODE_POINTS,
    Excerpt,
    excerpt,
    read_all,
    read_one,
    texts,
    with_excerpts,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnView:
    """A row of the transcript; `body` is protected JSON, perhaps cut."""

    seq: int
    kind: str
    call_id: str | None
    body: Excerpt
    created_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CallView:
    """A call that the model asked for, with what it gave; `output` is None before, or when old.

    `arguments` are protected JSON, perhaps cut; `is_error`: it has a result, which is a failure.
    """

    id: str
    task_id: str
    turn_seq: int
    position: int
    tool: str
    arguments: Excerpt
    state: str
    is_error: bool
    created_at_ms: int
    source: str
    output: Excerpt | None = field(repr=False)
    output_at_ms: int | None
    finding_count: int


_TURN_TEXTS: Final = texts("kind", "call_id")
_BODY: Final = excerpt("body", DOCUMENT_CODE_POINTS)
_TURNS: Final = f"""
SELECT seq, {_TURN_TEXTS}, {_BODY}, created_at_ms FROM session_events
WHERE task_id = :task AND seq > :after AND kind <> 'result' ORDER BY seq LIMIT :limit
"""  # noqa: S608 - joined from constants only
_TURN: Final = f"""
SELECT seq, {_TURN_TEXTS}, {_BODY}, created_at_ms FROM session_events
WHERE task_id = :task AND seq = :seq
"""  # noqa: S608
_CALL_TEXTS: Final = texts(
    "calls.id", "calls.task_id", "calls.tool", "calls.state", "outputs.source"
)


def _select_calls(output_code_points: int) -> str:
    arguments = excerpt("calls.arguments", DOCUMENT_CODE_POINTS)
    output = excerpt("outputs.content", output_code_points, called="output")
    return f"""
SELECT {_CALL_TEXTS}, calls.turn_seq, calls.position, {arguments}, {output}, calls.created_at_ms,
    outputs.created_at_ms AS output_at_ms,
    (SELECT json_extract(result.body, '$.is_error') FROM session_events AS result
        WHERE result.task_id = calls.task_id AND result.seq > calls.turn_seq
            AND result.kind = 'result' AND result.call_id = calls.id) AS is_error,
    calls.finding_count + coalesce(outputs.finding_count, 0) AS finding_count
FROM tool_calls AS calls LEFT JOIN tool_outputs AS outputs ON outputs.call_id = calls.id
"""  # noqa: S608


_CALLS: Final = f"""
{_select_calls(PASSAGE_CODE_POINTS)}
WHERE calls.task_id = :task AND calls.turn_seq BETWEEN :first AND :last
ORDER BY calls.turn_seq, calls.position LIMIT :limit
"""
_FIND_CALL: Final = f"{_select_calls(0)} WHERE calls.id = :id"
_PAGE: Final = f"""
SELECT CAST(substr(content, :first, {PAGE_CODE_POINTS}) AS BLOB) AS page
FROM tool_outputs WHERE call_id = :id
"""  # noqa: S608
_SUMMARY_TEXT: Final = excerpt("content", PAGE_CODE_POINTS)
_SUMMARY: Final = f"SELECT {_SUMMARY_TEXT} FROM session_summaries WHERE task_id = :task"  # noqa: S608
_LAST_ANSWER: Final = """
SELECT created_at_ms FROM session_events WHERE kind = 'assistant'
ORDER BY created_at_ms DESC LIMIT 1
"""

MAX_CALLS: Final = 500


def list_turns(db: Database, task: str, *, after: int, limit: int) -> tuple[TurnView, ...]:
    """Rows of the transcript behind number `after`, results left out (they are the calls')."""
    bindings = {"task": task, "after": after, "limit": limit}
    return tuple(map(_turn, read_all(db, _TURNS, bindings)))


def find_turn(db: Database, task: str, seq: int) -> TurnView | None:
    """One row of a transcript."""
    row = read_one(db, _TURN, {"task": task, "seq": seq})
    return None if row is None else _turn(row)


def list_calls(db: Database, task: str, turns: Sequence[TurnView]) -> tuple[CallView, ...]:
    """The calls of these turns in their order, the first `MAX_CALLS` of them."""
    if not turns:
        return ()
    bindings = {
        "task": task,
        "first": turns[0].seq,
        "last": turns[-1].seq,
        "limit": MAX_CALLS,
    }
    return tuple(map(_call, read_all(db, _CALLS, bindings)))


def find_call(db: Database, call: str) -> CallView | None:
    """A call by our own id, its output without text; see `read_page`."""
    row = read_one(db, _FIND_CALL, {"id": call})
    return None if row is None else _call(row)


def read_page(db: Database, call: str, number: int) -> str:
    """`PAGE_CODE_POINTS` of what a call gave: page `number`, from 0; "" behind the end."""
    row = read_one(db, _PAGE, {"id": call, "first": number * PAGE_CODE_POINTS + 1})
    return "" if row is None else str(row["page"] or "")


def find_summary(db: Database, task: str) -> Excerpt | None:
    """The summary of a task's session."""
    row = read_one(db, _SUMMARY, {"task": task})
    if row is None:
        return None
    summary: Excerpt = with_excerpts(row, "content")["content"]
    return summary


def last_answer_at_ms(db: Database) -> int | None:
    """When the model last answered."""
    row = db.query_one(_LAST_ANSWER)
    return None if row is None else int(row["created_at_ms"])


def _turn(row: Row) -> TurnView:
    return TurnView(**with_excerpts(row, "body"))


def _call(row: Row) -> CallView:
    fields = with_excerpts(row, "arguments", "output")
    if fields["output_at_ms"] is None:
        fields["output"] = None
    known = {"source": fields["source"] or "", "is_error": fields["is_error"] == 1}
    return CallView(**{**fields, **known})
