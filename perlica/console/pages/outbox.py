"""What was or will be sent to the group."""

from dataclasses import dataclass, field

from perlica.console.pages.context import PAGE_ROWS, Page, PageContext
from perlica.console.pages.pieces import Link, choices, chosen_of, task_link, ticket_link
from perlica.console.wording import Badge, Moment, Wording
from perlica.stores.views.outbox import SendFilter, SendView, list_sends

_FILTER_WORDS = {
    SendFilter.everything: "filter.everything",
    SendFilter.waiting: "filter.waiting",
    SendFilter.unknown: "filter.unknown",
    SendFilter.failed: "filter.unsent",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SendLine:
    """A message, or a part of one, in a list."""

    state: Badge
    kind: str
    part: str
    text: str = field(repr=False)
    is_withheld: bool
    is_duplicate: bool
    about: tuple[Link, ...]
    created: Moment
    attempts: int
    error: str


def show_outbox(context: PageContext) -> Page:
    """/outbox: the newest first, by state."""
    which = chosen_of(SendFilter, context.asked.get("state"))
    before = context.asked.number("before")
    sends = list_sends(context.database, which, limit=PAGE_ROWS + 1, before=before)
    shown, more = sends[:PAGE_ROWS], len(sends) > PAGE_ROWS
    wording = context.wording
    words = {word.value: wording.say(_FILTER_WORDS[word]) for word in SendFilter}
    return Page(
        title=wording.say("nav.outbox"),
        template="outbox",
        fields={
            "sends": send_lines(shown, wording),
            "choices": choices(context.asked, "state", words, which.value),
            "older": context.asked.link(before=shown[-1].id) if more else "",
            "newest": context.asked.link(before="") if before else "",
        },
    )


def send_lines(sends: tuple[SendView, ...], wording: Wording) -> tuple[SendLine, ...]:
    """Messages as lines of a list."""
    return tuple(_line(send, wording) for send in sends)


def _line(send: SendView, wording: Wording) -> SendLine:
    links = (
        task_link(send.task_id) if send.task_id else None,
        ticket_link(send.ticket_id) if send.ticket_id else None,
    )
    text = wording.say("outbox.withheld") if send.is_withheld else send.content.text
    return SendLine(
        state=wording.badge("state.send", send.state),
        kind=wording.known(f"kind.{send.kind}", send.kind),
        part=wording.say("outbox.part", part=send.part, parts=send.parts) if send.parts > 1 else "",
        text=f"{text}…" if send.content.is_cut else text,
        is_withheld=send.is_withheld,
        is_duplicate=send.possible_duplicate,
        about=tuple(link for link in links if link),
        created=wording.moment(send.created_at_ms),
        attempts=send.attempt,
        error=_error(send, wording),
    )


def _error(send: SendView, wording: Wording) -> str:
    """Why it was not sent, and when the next try may be made."""
    error = wording.name(send.last_error)
    if send.state == "queued" and send.not_before_ms > wording.now_ms:
        later = wording.say("outbox.not_before", time=wording.moment(send.not_before_ms).text)
        return f"{error} {later}".strip()
    return error
