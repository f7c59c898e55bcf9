"""Our own messages as NapCat reports them back: do they come at all, and is any not ours.

A part of the outbox actor, without thread or database; times are monotonic seconds.
"""

from typing import Final

from actors.messages import SelfMessageSeen
from perlica.domain.ids import MessageId

_OUTSIDE_AFTER_S: Final = 30.0
"""An answer that names the message may come later than its event."""
_OUTSIDE_AGE_MS: Final = 600_000
"""Older ones come out of the history, from before our database."""


class OwnMessages:
    """Belongs to the outbox actor's thread."""

    def __init__(self, *, missing_after_s: float) -> None:
        """Nothing was sent or seen yet."""
        self._missing_after_s = missing_after_s
        self._due_s: float | None = None
        self._unmatched: dict[MessageId, tuple[float, SelfMessageSeen]] = {}
        self.are_reported = False
        self.is_degraded = False

    def note_sent(self, message_id: MessageId | None, at_s: float) -> None:
        """A send was confirmed: its event should come soon, or came already."""
        if message_id is not None:
            self._unmatched.pop(message_id, None)
        if not self.are_reported and self._due_s is None:
            self._due_s = at_s + self._missing_after_s

    def note_seen(self) -> None:
        """NapCat reports our own messages."""
        self.are_reported = True
        self.is_degraded = False
        self._due_s = None

    def keep_unmatched(self, seen: SelfMessageSeen, at_s: float) -> None:
        """No row fits it; maybe the answer that names it is still under way."""
        self._unmatched[seen.message_id] = (at_s + _OUTSIDE_AFTER_S, seen)

    def has_gone_missing(self, at_s: float) -> bool:
        """True once: NapCat is configured not to report our own messages."""
        if self._due_s is None or at_s < self._due_s:
            return False
        self._due_s = None
        self.is_degraded = True
        return True

    def take_outsiders(self, at_s: float, now_ms: int) -> list[MessageId]:
        """Messages of our account that we did not send: from its phone, or a NapCat plugin."""
        due = [m for m, (due_s, _) in self._unmatched.items() if due_s <= at_s]
        taken = [self._unmatched.pop(message_id)[1] for message_id in due]
        return [s.message_id for s in taken if now_ms - s.sent_at_ms <= _OUTSIDE_AGE_MS]
