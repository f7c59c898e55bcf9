"""Reviews: what tool families ask the model about their work before a task completes.

One structured note for all that is asked. It comes behind the turn with which a run of work ends:
one that turns to other tools, or the answer. The answer given before it stays the answer; where the
model went on working instead, what it says of that follows it.
"""

import json
from collections.abc import Collection, Iterable, Sequence

from perlica.domain.ids import TaskId
from perlica.domain.plan import JsonValue
from perlica.gateway.core.family import Review
from perlica.protection import Channel, Protected, protect
from perlica.stores.database import Database
from perlica.stores.sessions import SessionEvent, SessionStore, ToolCall


def due_question(
    database: Database,
    task: TaskId,
    reviews: Sequence[Review],
    *,
    tools: Collection[str],
    is_answered: bool,
) -> str:
    """What is to be asked after a turn that called `tools`, or answered; "" for nothing."""
    asking = [review for review in reviews if is_answered or review.ends_run(tools)]
    if not asking:
        return ""
    events = SessionStore(database).list_events(task)
    since_seq = max((event.seq for event in events if _is_review(event)), default=0)
    questions = (
        review.question(database, task, since_seq=since_seq, is_answered=is_answered)
        for review in asking
    )
    return "\n\n".join(filter(None, questions))


def new_review(question: str, *, is_answered: bool) -> Protected:
    """The body of the note that asks."""
    body: dict[str, JsonValue] = {"text": question, "review": True}
    if not is_answered:
        body["amid"] = True
    return protect(body, Channel.MODEL)


def has_answered(events: Iterable[SessionEvent]) -> bool:
    """Whether an answer was given already, which a review followed."""
    return any(_is_review(event, after_answer=True) for event in events)


def last_answer(
    events: Sequence[SessionEvent],
    calls: Collection[ToolCall] = (),
    reviews: Sequence[Review] = (),
) -> str:
    """The protected text of the model's answer: that before the review, where there was one.

    An answer after further work is put behind it. What is said while calling or reviewing is none.
    """
    calling = {call.turn_seq for call in calls}
    working = {
        call.turn_seq for call in calls if not any(review.is_reviewing(call) for review in reviews)
    }
    answer, given = "", list[str]()
    is_reviewing = is_calling = False
    for event in events:
        if _is_review(event, after_answer=True):
            given += [] if is_reviewing else [answer]
            is_reviewing = True
        elif event.kind == "assistant":
            text = _read(event).get("text")
            answer = text if isinstance(text, str) else ""
            is_calling = event.seq in calling
            is_reviewing = is_reviewing and event.seq not in working
    is_none = is_reviewing or (is_calling and bool(given))
    return "\n\n".join(dict.fromkeys(given if is_none else [*given, answer]))


def _is_review(event: SessionEvent, *, after_answer: bool = False) -> bool:
    if event.kind != "note":
        return False
    body = _read(event)
    return body.get("review") is True and not (after_answer and body.get("amid") is True)


def _read(event: SessionEvent) -> dict[str, object]:
    value = json.loads(event.body.content or "{}")
    return value if isinstance(value, dict) else {}
