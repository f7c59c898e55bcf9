"""Rows as an attacker, a lying peer or a damaged disk would leave them, past every store."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

from perlica.stores.database import Database
from tests.console.seeder import GROUP, OWNER

SCRIPT = "<script>document.title='hacked'</script><img src=x onerror=\"document.title='hacked'\">"
QUOTES = "'\"><svg onload=alert(1)>{{7*7}}${7*7}%0d%0a\\u003cscript\\u003e&lt;b&gt;"
BIDI = "safe\u202ecod.exe\u2066\u200b\u200f\ufeff\u00ad\u2800\u3164\U000e0041\U000e0100"
MARKS = "Z" + "\u0336\u0344\u0301" * 60
BROKEN = b"broken \xff\xfe\xc3\x28 \xed\xa0\x80 \xf0\x9f"
LONG = "长" * 350_000  # a megabyte of UTF-8
DEEP = "[" * 5_000
CONTROL = "line\x1b[31mred\x07\x00nul\r\nnext\x85\u2028"
TEXTS: tuple[str | bytes, ...] = (SCRIPT, QUOTES, BIDI, MARKS, BROKEN, LONG, CONTROL, DEEP)
SIGNS = ("hacked'</script>", "<svg onload", "\u202e", "\u2066", "\u200b", "\ufeff", "\x1b", "\x07")
"""What must not stand in any page as it is."""

_ids = count(1)
_NOW_MS = 1_790_000_000_000


def spoil(path: Path) -> tuple[str, ...]:
    """Fill every table with each of the texts; the paths of single records made so."""
    with Database.open(path) as db, db.transaction():
        made = [page for text in TEXTS for page in _spoil_with(db, text)]
    return tuple(made)


def _put(db: Database, table: str, **values: object) -> None:
    """Insert a row; bytes become text as they are, also where they are no UTF-8."""
    names = ", ".join(values)
    places = ", ".join(
        f"CAST(:{name} AS TEXT)" if isinstance(value, bytes) else f":{name}"
        for name, value in values.items()
    )
    db.change(f"INSERT INTO {table} ({names}) VALUES ({places})", values)


def _json(text: str | bytes) -> str | bytes:
    """A document that holds the text; what is no UTF-8 stands in it as it is."""
    if isinstance(text, bytes):
        return b'{"text": "' + text + b'", "argv": ["' + text + b'"]}'
    if text is DEEP:
        return '{"text": ' + "[" * 900 + "]" * 900 + "}"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    plain = "".join(c if ord(c) >= 32 else f"\\u{ord(c):04x}" for c in escaped)
    return f'{{"text": "{plain}", "{plain[:500]}": {{"argv": ["{plain[:500]}"]}}, "x": "\\ud800"}}'


def _spoil_with(db: Database, text: str | bytes) -> Iterator[str]:
    number = next(_ids)
    task, call, ticket = f"T-HOST{number}", f"c_hostile{number}", f"H{number:04d}"
    operation, at_ms = f"op-hostile{number}", _NOW_MS + number
    sealed = {"protection_status": "redacted", "policy_version": text, "finding_count": 3}
    row = 90_000 + number
    _message(db, row, text, at_ms)
    _put(
        db,
        "tasks",
        id=task,
        group_id=GROUP,
        trigger_row=row,
        requester_id=OWNER,
        state="failed",
        created_at_ms=at_ms,
        ended_at_ms=at_ms + 5_000,
        end_reason=text,
        policy_version=text,
        context_version=text,
        window_facts='{"cut_by": "<script>", "messages": "x", "quoted": ["a"]}',
    )
    _put(db, "task_events", task_id=task, at_ms=at_ms, state_after=text, step=1, reason=text)
    kinds = ("system", "window", "assistant", "note")
    for seq, kind in enumerate(kinds, start=1):
        body = _json(text)
        _put(
            db,
            "session_events",
            task_id=task,
            seq=seq,
            kind=kind,
            body=body,
            created_at_ms=at_ms + seq,
            **sealed,
        )
        yield f"/tasks/{task}/turns/{seq}"
    _call(db, task=task, call=call, text=text, at_ms=at_ms)
    _operation(db, operation, task=task, call=call, text=text, at_ms=at_ms)
    _rest(db, number, task=task, operation=operation, text=text)
    yield from (f"/tasks/{task}", f"/calls/{call}", f"/operations/{operation}")
    yield from (f"/sandboxes/{row}", f"/audit?about={task}", f"/tickets/{ticket}")
    _ticket(db, ticket, text=text, at_ms=at_ms)


def _message(db: Database, row: int, text: str | bytes, at_ms: int) -> None:
    # A control row: its text stays out of the search index, whose tokenizer wants UTF-8.
    _put(
        db,
        "group_messages",
        id=row,
        group_id=GROUP,
        message_id=row,
        real_seq=row,
        order_seq=row,
        user_id=OWNER,
        sent_at_ms=at_ms,
        stored_at_ms=at_ms,
        kind="control",
        display_name=text,
        display_name_status="redacted",
        content=text,
        protection_status="redacted",
        policy_version="1",
        finding_count=2,
    )


def _call(db: Database, *, task: str, call: str, text: str | bytes, at_ms: int) -> None:
    sealed = {"protection_status": "redacted", "policy_version": "1", "finding_count": 3}
    tool = text[:60] if isinstance(text, str) else text
    _put(
        db,
        "tool_calls",
        id=call,
        task_id=task,
        turn_seq=3,
        position=0,
        provider_call_id="p",
        tool=tool,
        arguments=_json(text),
        arguments_intact=1,
        state="done",
        created_at_ms=at_ms,
        **sealed,
    )
    _put(
        db,
        "tool_outputs",
        call_id=call,
        task_id=task,
        source=text,
        content=text,
        created_at_ms=at_ms,
        **sealed,
    )
    _put(db, "session_summaries", task_id=task, content=text, created_at_ms=at_ms, **sealed)


def _operation(
    db: Database, operation: str, *, task: str, call: str, text: str | bytes, at_ms: int
) -> None:
    _put(
        db,
        "operations",
        id=operation,
        origin_kind=text,
        origin_id=text,
        task_id=task,
        call_id=call,
        action=text,
        level="low",
        identity=text,
        plan_hash=text,
        plan=_json(text),
        protection_status="redacted",
        policy_version=text,
        finding_count=0,
        state="queued",
        created_at_ms=at_ms,
    )
    moves = f"UPDATE operations SET state = 'started', started_at_ms = {at_ms} WHERE id = :id"
    db.change(moves, {"id": operation})
    outcome = _json(text)
    place = "CAST(:outcome AS TEXT)" if isinstance(outcome, bytes) else ":outcome"
    db.change(
        f"UPDATE operations SET state = 'unknown', outcome = {place} WHERE id = :id",
        {"id": operation, "outcome": outcome},
    )


def _ticket(db: Database, ticket: str, *, text: str | bytes, at_ms: int) -> None:
    _put(
        db,
        "approvals",
        id=ticket,
        group_id=GROUP,
        origin_kind="command",
        origin_id=text,
        action=text,
        plan_hash=text,
        plan=_json(text),
        target_summary=text,
        protection_status="redacted",
        policy_version=text,
        finding_count=0,
        owners='["<script>", {"a": 1}]',
        code_digest="secret-digest",
        state="expired",
        created_at_ms=at_ms,
        expires_at_ms=at_ms + 1,
    )


def _rest(db: Database, number: int, *, task: str, operation: str, text: str | bytes) -> None:
    """Audit, outbox, sandboxes, orphans, nodes, the image."""
    at_ms = _NOW_MS + number
    sealed = {"protection_status": "redacted", "policy_version": "1", "finding_count": 0}
    event = {"kind": text, "actor": text, "level": text, "task_id": task, "detail": _json(text)}
    _put(db, "audit_events", at_ms=at_ms, operation_id=operation, **event, **sealed)
    _put(
        db,
        "outbox_messages",
        idempotency_key=f"hostile{number}",
        message_key=f"hostile{number}",
        part=1,
        parts=2,
        group_id=GROUP,
        kind="final",
        content=text,
        task_id=task,
        state="unknown",
        last_error=text,
        created_at_ms=at_ms,
        updated_at_ms=at_ms,
        **sealed,
    )
    _sandbox(db, 90_000 + number, text=text, at_ms=at_ms, operation=operation)
    name = text[:200] if isinstance(text, str) else text
    _put(db, "nodes", name=name, state="alive", since_ms=at_ms, evidence=_json(text))
    db.change("DELETE FROM sandbox_image_config")
    _put(
        db,
        "sandbox_image_config",
        id=1,
        reference=text,
        digest=b"sha256:" + text if isinstance(text, bytes) else f"sha256:{text}",
        introduction=text,
        revision=number,
        updated_at_ms=2**62,
    )


def _sandbox(db: Database, row: int, *, text: str | bytes, at_ms: int, operation: str) -> None:
    _put(
        db,
        "sandboxes",
        id=row,
        name=text,
        state="lost",
        state_reason=text,
        purpose=text,
        protection_status="redacted",
        policy_version="1",
        finding_count=0,
        node=text,
        instance=text,
        image_digest=text,
        image_revision=1,
        limits=_json(text),
        network=text,
        created_at_ms=at_ms,
        last_active_at_ms=at_ms,
        ended_at_ms=at_ms,
    )
    _put(
        db,
        "orphans",
        sandbox_id=row,
        cause="unknown",
        node=text,
        name=text,
        instance=text,
        state="open",
        reason=text,
        next_try_ms=at_ms,
        found_at_ms=at_ms,
    )
    deed = {"sandbox_id": row, "kind": "exec", "is_write": 1, "created_at_ms": at_ms}
    _put(db, "sandbox_operations", operation_id=operation, **deed)
