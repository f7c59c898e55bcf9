"""Unknown sends: whether a message reached the group although nobody said so.

A part of the outbox actor, without thread or database: first it waits for our own message to show
as an event, then it looks into the history, page by page. One doubt at a time.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from actors.messages import Look
from perlica.clients.napcat.catch_up import HISTORY, history_params
from perlica.clients.onebot import Frame, Trace, look_for_text, new_echo
from perlica.domain.ids import GroupId, MessageId, OutboxId, UserId
from perlica.stores.outbox import OutboxRow

_GRACE_S: Final = 5.0
_VAIN_AFTER_LOOKS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconciliationSettings:
    """The waits and pages of a look-up."""

    self_message_within_s: float = 15.0
    look_within_s: float = 20.0
    clock_slack_s: float = 5.0
    """QQ's clock and ours may differ by so much more than is known."""
    history_messages: int = 20
    history_messages_further: int = 100
    """A page before the first one, read when that does not reach back to the attempt."""
    history_looks: int = 11


class Finding(StrEnum):
    """What a look-up says."""

    sent = "sent"
    absent = "absent"
    unreadable = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """The end of a doubt; `message_id` belongs to `sent`."""

    row: OutboxRow
    finding: Finding
    message_id: MessageId | None = None


@dataclass(slots=True, kw_only=True)
class _Current:
    row: OutboxRow
    due_s: float
    asked_for: int
    before_id: MessageId | None = None
    looks: int = 0
    key: str = ""


class SendReconciliation:
    """Belongs to the outbox actor's thread; times are monotonic seconds."""

    def __init__(
        self,
        settings: ReconciliationSettings,
        *,
        group_id: GroupId,
        self_id: UserId,
        clock_lag_ms: Callable[[], int],
    ) -> None:
        """Start with none; `clock_lag_ms` says how far QQ's clock seems to be behind ours."""
        self._settings = settings
        self._clock_lag_ms = clock_lag_ms
        self._group_id = group_id
        self._self_id = self_id
        self._waiting: deque[OutboxRow] = deque()
        self._hurried: set[OutboxId] = set()
        self._looks: dict[OutboxId, int] = {}
        self._current: _Current | None = None

    @property
    def is_open(self) -> bool:
        """Whether there is any doubt: then nothing else is sent."""
        return self._current is not None or bool(self._waiting)

    def add(self, rows: Iterable[OutboxRow], *, look_at_once: bool = False) -> None:
        """Rows in state `unknown`; those that are here already are passed over.

        `look_at_once`: the event, if there was one, has had its time.
        """
        known = {row.id for row in self._open_rows()}
        new = [row for row in rows if row.id not in known]
        self._waiting.extend(new)
        if look_at_once:
            self._hurried |= {row.id for row in new}

    def remove(self, row: OutboxId) -> None:
        """It was settled in another way."""
        self._looks.pop(row, None)
        self._waiting = deque(other for other in self._waiting if other.id != row)
        if self._current is not None and self._current.row.id == row:
            self._current = None

    def recognise(self, text_sha256: str, sent_at_ms: int) -> OutboxRow | None:
        """The doubtful row that a message of ours belongs to, by its text and time."""
        for row in self._open_rows():
            if row.text_sha256 == text_sha256 and sent_at_ms >= self.since_ms(row):
                return row
        return None

    def since_ms(self, row: OutboxRow) -> int:
        """The earliest time that the group can show for the row's last attempt."""
        slack_ms = round(self._settings.clock_slack_s * 1000)
        return (row.attempted_at_ms or 0) - slack_ms - self._clock_lag_ms()

    def is_vain(self, row: OutboxId) -> bool:
        """Whether several looks at the row gave no answer."""
        return self._looks.get(row, 0) >= _VAIN_AFTER_LOOKS

    def pause(self) -> None:
        """The connection is gone: whatever was asked is asked again."""
        if self._current is not None:
            self._waiting.appendleft(self._current.row)
            self._current = None

    def advance(self, at_s: float) -> Look | Resolved | None:
        """What is to be done at this time: a look to ask for, or a doubt that nobody answered."""
        current = self._current
        if current is None:
            current = self._begin_next(at_s)
        if current is None:
            return None
        if current.due_s > at_s:
            return None
        if current.key:
            return self._resolve(Finding.unreadable)
        return self._ask(current, at_s)

    def due_in_s(self, at_s: float) -> float | None:
        """How long until `advance` has something to do."""
        return None if self._current is None else max(0.0, self._current.due_s - at_s)

    def read(
        self, key: str, response: Frame | None, is_claimed: Callable[[MessageId, OutboxId], bool]
    ) -> Resolved | None:
        """The answer to a look; None when it is not the one waited for, or more is to be read.

        `is_claimed` says whether a message is known to be another row's.
        """
        current = self._current
        if current is None or current.key != key:
            return None
        row = current.row
        trace = look_for_text(
            response,
            row.text_sha256 or "",
            self_id=self._self_id,
            since_ms=self.since_ms(row),
        )
        if not trace.is_readable:
            return self._resolve(Finding.unreadable)
        found = next((m for m in trace.message_ids if not is_claimed(m, row.id)), None)
        if found is not None:
            return self._resolve(Finding.sent, found)
        if trace.reaches_back or _is_the_end(trace, current.before_id):
            return self._resolve(Finding.absent)
        return self._read_further(current, trace.oldest_id)

    def _begin_next(self, at_s: float) -> _Current | None:
        if not self._waiting:
            return None
        row = self._waiting.popleft()
        wait_s = 0.0 if row.id in self._hurried else self._settings.self_message_within_s
        self._hurried.discard(row.id)
        self._current = _Current(
            row=row, due_s=at_s + wait_s, asked_for=self._settings.history_messages
        )
        return self._current

    def _read_further(self, current: _Current, oldest_id: MessageId | None) -> Resolved | None:
        """Ask for the page before; a NapCat that gives no earlier one proves nothing."""
        is_stuck = oldest_id is None or oldest_id == current.before_id
        if is_stuck or current.looks >= self._settings.history_looks:
            return self._resolve(Finding.unreadable)
        current.before_id = oldest_id
        current.asked_for = self._settings.history_messages_further
        current.key = ""
        current.due_s = 0.0
        return None

    def _ask(self, current: _Current, at_s: float) -> Look:
        current.key = new_echo()
        current.looks += 1
        if current.looks == 1:
            self._looks[current.row.id] = self._looks.get(current.row.id, 0) + 1
        current.due_s = at_s + self._settings.look_within_s + _GRACE_S
        return Look(
            key=current.key,
            action=HISTORY,
            params=history_params(self._group_id, current.asked_for, before_id=current.before_id),
            within_s=self._settings.look_within_s,
        )

    def _resolve(self, finding: Finding, message_id: MessageId | None = None) -> Resolved | None:
        current, self._current = self._current, None
        if current is None:
            return None
        if finding is not Finding.unreadable:
            self._looks.pop(current.row.id, None)
        return Resolved(row=current.row, finding=finding, message_id=message_id)

    def _open_rows(self) -> list[OutboxRow]:
        current = [] if self._current is None else [self._current.row]
        return current + list(self._waiting)


def _is_the_end(trace: Trace, before_id: MessageId | None) -> bool:
    """Whether there is nothing older: a page holds the message that it was asked from, or, where it
    was asked from none, the newest of the group.
    """
    if before_id is None:
        return trace.size == 0
    return trace.size == 1 and trace.oldest_id == before_id
