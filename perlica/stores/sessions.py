"""The transcript of a task as rows: the session writes each turn before it goes on.

A restart rebuilds the conversation from these rows. Tool outputs stand apart, because they are kept
14 days and the transcript 30.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from perlica.domain.clock import now_ms
from perlica.domain.errors import StaleState
from perlica.domain.ids import CallId, TaskId
from perlica.protection import Protected
from perlica.stores.database import Database, Row
from perlica.stores.sealed import as_json, columns, restored

EventKind = Literal["system", "window", "assistant", "result", "note"]
CallState = Literal["undispatched", "dispatched", "waiting", "done"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEvent:
    """A row of `session_events`; `body` is protected JSON, `opaque` a provider's signed blocks."""

    task_id: TaskId
    seq: int
    kind: EventKind
    call_id: CallId | None
    body: Protected = field(repr=False)
    opaque: bytes | None = field(repr=False)
    created_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCall:
    """A call as the model asked for it, at its `position` in the turn.

    `arguments` is protected JSON; `arguments_intact` is False where protection changed it.
    """

    id: CallId
    position: int
    provider_call_id: str
    tool: str
    arguments: Protected = field(repr=False)
    arguments_intact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A row of `tool_calls`."""

    id: CallId
    task_id: TaskId
    turn_seq: int
    position: int
    provider_call_id: str
    tool: str
    arguments: Protected = field(repr=False)
    arguments_intact: bool
    state: CallState
    created_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput:
    """A row of `tool_outputs`: what a tool gave, and from which source."""

    call_id: CallId
    task_id: TaskId
    source: str
    content: Protected = field(repr=False)
    created_at_ms: int


_APPEND_EVENT: Final = """
INSERT INTO session_events (task_id, seq, kind, call_id, body, opaque, protection_status,
    policy_version, finding_count, created_at_ms)
VALUES (:task_id,
    (SELECT coalesce(max(seq), 0) + 1 FROM session_events WHERE task_id = :task_id),
    :kind, :call_id, :body, :opaque, :protection_status, :policy_version, :finding_count,
    :created_at_ms)
RETURNING seq
"""
_EVENTS: Final = "SELECT * FROM session_events WHERE task_id = :task_id ORDER BY seq"
_INSERT_CALL: Final = """
INSERT INTO tool_calls (id, task_id, turn_seq, position, provider_call_id, tool, arguments,
    protection_status, policy_version, finding_count, arguments_intact, state, created_at_ms)
VALUES (:id, :task_id, :turn_seq, :position, :provider_call_id, :tool, :arguments,
    :protection_status, :policy_version, :finding_count, :arguments_intact, 'undispatched',
    :created_at_ms)
"""
_CALLS: Final = "SELECT * FROM tool_calls WHERE task_id = :task_id ORDER BY turn_seq, position"
_FIND_CALL: Final = "SELECT * FROM tool_calls WHERE id = :id"
_MOVE_CALL: Final = """
UPDATE tool_calls SET state = :after WHERE id = :id AND state = :before RETURNING *
"""
_INSERT_OUTPUT: Final = """
INSERT INTO tool_outputs (call_id, task_id, source, content, protection_status, policy_version,
    finding_count, created_at_ms)
VALUES (:call_id, :task_id, :source, :content, :protection_status, :policy_version,
    :finding_count, :created_at_ms)
"""
_FIND_OUTPUT: Final = "SELECT * FROM tool_outputs WHERE call_id = :call_id"
_INSERT_SUMMARY: Final = """
INSERT INTO session_summaries (task_id, content, protection_status, policy_version, finding_count,
    created_at_ms)
VALUES (:task_id, :content, :protection_status, :policy_version, :finding_count, :created_at_ms)
"""
_FIND_SUMMARY: Final = "SELECT * FROM session_summaries WHERE task_id = :task_id"


class SessionStore:
    """Reads and writes `session_events`, `tool_calls`, `tool_outputs` and `session_summaries`."""

    def __init__(self, db: Database) -> None:
        """Work on this connection."""
        self._db = db

    def append_event(
        self,
        task: TaskId,
        *,
        kind: EventKind,
        body: Protected,
        call_id: CallId | None = None,
        opaque: bytes | None = None,
    ) -> int:
        """Add to the end of a task's transcript; the event's number in it, from 1.

        A body whose scan did not finish is kept as `{"withheld": …}`.
        """
        bindings = {
            "task_id": task,
            "kind": kind,
            "call_id": call_id,
            "opaque": opaque,
            "created_at_ms": now_ms(),
            **columns("body", as_json(body)),
        }
        return int(self._db.change(_APPEND_EVENT, bindings)[0]["seq"])

    def list_events(self, task: TaskId) -> tuple[SessionEvent, ...]:
        """The transcript in order."""
        return tuple(_event(row) for row in self._db.query(_EVENTS, {"task_id": task}))

    def insert_calls(self, task: TaskId, turn_seq: int, calls: Sequence[NewCall]) -> None:
        """Keep the calls of the turn that event `turn_seq` holds, all as `undispatched`."""
        for call in calls:
            self._db.change(
                _INSERT_CALL,
                {
                    "id": call.id,
                    "task_id": task,
                    "turn_seq": turn_seq,
                    "position": call.position,
                    "provider_call_id": call.provider_call_id,
                    "tool": call.tool,
                    "arguments_intact": call.arguments_intact,
                    "created_at_ms": now_ms(),
                    **columns("arguments", as_json(call.arguments)),
                },
            )

    def list_calls(
        self, task: TaskId, states: Collection[CallState] | None = None
    ) -> tuple[ToolCall, ...]:
        """The calls of a task in order, of all states or of some."""
        rows = self._db.query(_CALLS, {"task_id": task})
        return tuple(_call(row) for row in rows if states is None or row["state"] in states)

    def move_call(self, call: CallId, *, before: CallState, after: CallState) -> ToolCall:
        """Move a call on. Raises: StaleState when it is not in `before` any more."""
        bindings = {"id": call, "before": before, "after": after}
        row = self._db.change_one(_MOVE_CALL, bindings)
        if row is None:
            raise StaleState("call_moved", f"call {call} is not {before}")
        return _call(row)

    def find_call(self, call: CallId) -> ToolCall | None:
        """A call by its id."""
        row = self._db.query_one(_FIND_CALL, {"id": call})
        return None if row is None else _call(row)

    def insert_output(self, call: CallId, task: TaskId, source: str, content: Protected) -> None:
        """Keep what a tool gave; a text whose scan did not finish is kept as its status alone."""
        bindings = {
            "call_id": call,
            "task_id": task,
            "source": source,
            "created_at_ms": now_ms(),
            **columns("content", content),
        }
        self._db.change(_INSERT_OUTPUT, bindings)

    def find_output(self, call: CallId) -> ToolOutput | None:
        """What a call gave; None when it gave nothing yet or the text was cleaned up."""
        row = self._db.query_one(_FIND_OUTPUT, {"call_id": call})
        if row is None:
            return None
        return ToolOutput(
            call_id=CallId(row["call_id"]),
            task_id=TaskId(row["task_id"]),
            source=row["source"],
            content=restored(row, "content"),
            created_at_ms=row["created_at_ms"],
        )

    def insert_summary(self, task: TaskId, content: Protected) -> None:
        """Keep the summary that is written at a task's end."""
        bindings = {"task_id": task, "created_at_ms": now_ms(), **columns("content", content)}
        self._db.change(_INSERT_SUMMARY, bindings)

    def find_summary(self, task: TaskId) -> Protected | None:
        """The summary of a task."""
        row = self._db.query_one(_FIND_SUMMARY, {"task_id": task})
        return None if row is None else restored(row, "content")


def _event(row: Row) -> SessionEvent:
    return SessionEvent(
        task_id=TaskId(row["task_id"]),
        seq=row["seq"],
        kind=row["kind"],
        call_id=row["call_id"],
        body=restored(row, "body"),
        opaque=row["opaque"],
        created_at_ms=row["created_at_ms"],
    )


def _call(row: Row) -> ToolCall:
    return ToolCall(
        id=CallId(row["id"]),
        task_id=TaskId(row["task_id"]),
        turn_seq=row["turn_seq"],
        position=row["position"],
        provider_call_id=row["provider_call_id"],
        tool=row["tool"],
        arguments=restored(row, "arguments"),
        arguments_intact=bool(row["arguments_intact"]),
        state=row["state"],
        created_at_ms=row["created_at_ms"],
    )
