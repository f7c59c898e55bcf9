"""Faults that tests queue for the next calls, events or connections of the stand-in.

The call handler, the broadcaster and the listener each take the next fault of their queue.
Numbers S01 to S25 are the failure modes of docs/facts/napcat.md.
"""

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """QQ refuses the send for certain: 120 muted, 110 removed, 1006514 offline, -1 media (S03)."""

    result: int = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeOut:
    """The send is answered with NapCat's `Timeout` text (S01, S02).

    `delivered` says whether the group got the message all the same; its own event follows after
    `self_message_after_s`. `returned=False` is the text of a kernel call that never came back.
    """

    delivered: bool = True
    returned: bool = True
    self_message_after_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NeverAnswer:
    """The call has its effect, or not, and nobody ever answers (S04)."""

    delivered: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseBeforeAnswer:
    """The connection is cut after the effect, before the answer (S05)."""

    delivered: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class FailWith:
    """The call fails with any other text."""

    text: str
    retcode: int = 1200


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerLate:
    """The answer comes after `by_s` seconds; calls made meanwhile are answered first."""

    by_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTwice:
    """The same answer comes twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfMessageFirst:
    """The `message_sent` event overtakes the answer (S06)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoSelfMessage:
    """The send works, but no `message_sent` event ever follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CutAnswer:
    """Half of the answer's frame is written; then the connection closes or stalls (S22)."""

    then: Literal["close", "stall"] = "close"


CallFault = (
    Refuse
    | TimeOut
    | NeverAnswer
    | CloseBeforeAnswer
    | FailWith
    | AnswerLate
    | AnswerTwice
    | SelfMessageFirst
    | NoSelfMessage
    | CutAnswer
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """The event comes `by_s` seconds late; later ones overtake it (S13)."""

    by_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """The event is lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """The identical event comes `times` times (S07)."""

    times: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """The event waits until the next one has gone out, or `at_latest_s` seconds (S13)."""

    at_latest_s: float = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CutFrame:
    """Half of the event's frame is written; then the connection closes or stalls (S22)."""

    then: Literal["close", "stall"] = "close"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragment:
    """The event comes as `pieces` WebSocket fragments."""

    pieces: int = 3


EventFault = Delay | Drop | Repeat | Swap | CutFrame | Fragment


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectToken:
    """The token is called wrong although it is right (S20)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerHttp:
    """The handshake is answered with a plain HTTP response, such as a redirect."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StallHandshake:
    """The TCP connection is accepted and nothing is ever said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseAtOnce:
    """The TCP connection is closed before the handshake."""


ConnectFault = RejectToken | AnswerHttp | StallHandshake | CloseAtOnce


@dataclass(slots=True, kw_only=True)
class _Planned:
    fault: CallFault
    action: str


@dataclass(slots=True, kw_only=True)
class Faults:
    """Three queues; every call, event and connection takes at most one fault."""

    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _calls: deque[_Planned] = field(default_factory=deque)
    _events: deque[EventFault] = field(default_factory=deque)
    _connections: deque[ConnectFault] = field(default_factory=deque)

    def next_calls(self, *faults: CallFault, action: str = "send_group_msg") -> None:
        """Plan one fault for each of the next calls of `action`."""
        with self._lock:
            self._calls.extend(_Planned(fault=fault, action=action) for fault in faults)

    def next_events(self, *faults: EventFault) -> None:
        """Plan one fault for each of the next messages from members (notices pass untouched)."""
        with self._lock:
            self._events.extend(faults)

    def next_connections(self, *faults: ConnectFault) -> None:
        """Plan one fault for each of the next connections."""
        with self._lock:
            self._connections.extend(faults)

    def clear(self) -> None:
        """Forget everything that is planned."""
        with self._lock:
            for queue in self._queues():
                queue.clear()

    @property
    def pending(self) -> int:
        """How many planned faults have not happened yet."""
        with self._lock:
            return sum(len(queue) for queue in self._queues())

    def take_call(self, action: str) -> CallFault | None:
        """The first fault planned for `action`."""
        with self._lock:
            planned = next((plan for plan in self._calls if plan.action == action), None)
            if planned is None:
                return None
            self._calls.remove(planned)
            return planned.fault

    def take_event(self) -> EventFault | None:
        """The next fault for an event."""
        with self._lock:
            return self._events.popleft() if self._events else None

    def take_connection(self) -> ConnectFault | None:
        """The next fault for a connection."""
        with self._lock:
            return self._connections.popleft() if self._connections else None

    def _queues(self) -> Sequence[deque[_Planned] | deque[EventFault] | deque[ConnectFault]]:
        return (self._calls, self._events, self._connections)
