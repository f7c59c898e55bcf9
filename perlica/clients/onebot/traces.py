"""Looking for a message of ours in the group's history.

The outbox decides by it whether an unknown send may be repeated, so in doubt it is not.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perlica.clients.onebot.answers import messages_of
from perlica.clients.onebot.events import hash_message, parse_message
from perlica.clients.onebot.fields import Frame
from perlica.domain.ids import MessageId, UserId
from perlica.domain.message import IncomingGroupMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What a page of the history says about a text.

    `message_ids` are messages of ours that say it, oldest first. Only where `reaches_back` is true
    does their absence prove anything: the page goes back to before the attempt. `oldest_id` is
    where the page before this one ends, None for an empty page; `size` counts its messages: it may
    be any number below what was asked for, because NapCat leaves out what it cannot show.
    """

    is_readable: bool
    message_ids: tuple[MessageId, ...] = ()
    reaches_back: bool = False
    oldest_id: MessageId | None = None
    size: int = 0


def look_for_text(
    response: Frame | None, text_sha256: str, *, self_id: UserId, since_ms: int
) -> Trace:
    """Whether our own account said a text of that fingerprint at `since_ms` or later."""
    page = messages_of(response)
    if page is None:
        return Trace(is_readable=False)
    messages = sorted(_readable(page, self_id), key=lambda m: (m.real_seq or 0, m.sent_at_ms))
    if page and not messages:
        return Trace(is_readable=False)
    return Trace(
        is_readable=True,
        message_ids=tuple(m.message_id for m in messages if _says(m, text_sha256, since_ms)),
        reaches_back=any(message.sent_at_ms < since_ms for message in messages),
        oldest_id=messages[0].message_id if messages else None,
        size=len(page),
    )


def _says(message: IncomingGroupMessage, text_sha256: str, since_ms: int) -> bool:
    is_candidate = message.is_self and message.sent_at_ms >= since_ms
    return is_candidate and hash_message(message) == text_sha256


def _readable(page: Sequence[Frame], self_id: UserId) -> Iterator[IncomingGroupMessage]:
    for frame in page:
        try:
            yield parse_message(frame, self_id=self_id, from_history=True)
        except ValueError:
            continue
