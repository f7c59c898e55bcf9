"""One connection in the link's service: events to the queue, readiness, catch-up.

The link makes one for each wire and runs it in its thread.
"""

import time
from collections.abc import Callable

from perlica.clients.napcat.catch_up import CatchUp, read_missed
from perlica.clients.napcat.connection import NapCatSocket
from perlica.clients.napcat.inbound import DropCounts, InboundFrame, InboundQueue
from perlica.clients.napcat.pages import HistoryPages
from perlica.clients.napcat.position import HeldPosition
from perlica.clients.napcat.readiness import Checker, Readiness
from perlica.clients.napcat.router import Destination, Router
from perlica.clients.napcat.settings import NapCatSettings
from perlica.clients.napcat.wire import TOO_LARGE, Wire, WireBroken
from perlica.clients.onebot import Frame, NoticeKind, may_be_command, parse_notice

_CATCH_UP_TRIES = 3
_CHECKER_END_S = 5.0


class LinkSession:
    """From the handshake to the end of one connection."""

    def __init__(
        self,
        wire: Wire,
        settings: NapCatSettings,
        *,
        queue: InboundQueue,
        position: HeldPosition,
        pages: HistoryPages,
        readiness: Readiness,
        ring: Callable[[], object],
        is_draining: Callable[[], bool],
        on_lifecycle: Callable[[], object],
        dropped: DropCounts,
    ) -> None:
        """Prepare; `run` begins."""
        self._settings = settings
        self._queue = queue
        self._position = position
        self._pages = pages
        self._readiness = readiness
        self._ring = ring
        self._is_draining = is_draining
        self._on_lifecycle = on_lifecycle
        self._router = Router(settings, dropped)
        self._opened_s = time.monotonic()
        self._has_lifecycle = False
        self._caught_up = 0
        self._held = 0
        self._failed_tries = 0
        self._mark: int | None = None
        self.connection = NapCatSocket(wire, settings, on_event=self._take, dropped=dropped)
        self._checker = Checker(self.connection, settings, readiness, self._is_caught_up)

    def run(self) -> str:
        """Read until the connection ends; why it ended."""
        fault = self.connection.run()
        self._readiness.spoil(fault)
        if self._has_lifecycle:
            self._checker.join(_CHECKER_END_S)
        return fault

    def hear_of_removal(self) -> None:
        """QQ refused a send because we are no member; the notice may have been lost."""
        self._checker.hold_off(self._settings.removed_hold_s)
        self._lose("removed")

    def keep_alive(self) -> None:
        """Once a second, from outside."""
        waited_s = time.monotonic() - self._opened_s
        if not self._has_lifecycle and waited_s > self._settings.lifecycle_within_s:
            self.connection.abort("no_lifecycle")
        self.connection.keep_alive()

    # -- in the reader thread --------------------------------------------------------------

    def _take(self, frame: Frame, size_bytes: int) -> None:
        match self._router.sort(frame):
            case Destination.intake:
                self._take_in(frame, size_bytes)
            case Destination.lifecycle:
                self._begin()
            case Destination.heartbeat:
                self._hear_heartbeat(frame)
            case Destination.offline:
                self._checker.hold_off(self._settings.offline_hold_s)
                self._lose("bot_offline")
            case Destination.stranger:
                raise WireBroken("wrong_account", "NapCat is logged in as another account")
            case Destination.nowhere:
                pass

    def _begin(self) -> None:
        if not self._has_lifecycle:
            self._has_lifecycle = True
            self._on_lifecycle()
            self._checker.start()

    def _take_in(self, frame: Frame, size_bytes: int) -> None:
        if frame.get("post_type") == "notice" and _removes_us(frame):
            self.hear_of_removal()
        if self._is_draining() and frame.get("post_type") == "message":
            return
        item = InboundFrame(frame=frame, size_bytes=size_bytes)
        is_urgent = may_be_command(frame)
        if is_urgent and self._queue.has_others_waiting and self._position.overtake():
            self._checker.poke()
        patience_s = self._settings.queue_patience_s
        has_ended = self.connection.is_ending
        try:
            is_in_time = self._queue.put(
                item,
                self._ring,
                is_urgent=is_urgent,
                within_s=patience_s,
                give_up=has_ended,
            )
        except ValueError:
            self._router.dropped.malformed += 1
            return
        if not is_in_time:
            raise WireBroken("overflow", "intake cannot keep up: reconnecting to catch up")

    def _hear_heartbeat(self, frame: Frame) -> None:
        status = frame.get("status")
        is_online = status.get("online") if isinstance(status, dict) else None
        if is_online is False:
            self._lose("offline")
        elif is_online is True and not self._readiness.is_ready:
            self._checker.poke()

    def _lose(self, reason: str) -> None:
        """Not ready while the connection stays: messages may be missing from now on."""
        if self._readiness.is_ready:
            self._position.lose()
        self._readiness.spoil(reason)
        self._checker.poke()

    # -- in the checker's thread -----------------------------------------------------------

    def _is_caught_up(self) -> bool:
        """Read what may be missing, and give intake a moment to store it; whether it is read.

        What was said meanwhile decides what is still to be sent: a recall, a `.cancel`.
        """
        losses, holds = self._position.counts
        if self._caught_up != losses:
            self._catch_up(losses, holds)
        elif self._held != holds:
            self._held, self._mark = holds, self._queue.mark()
        if self._mark is None:
            return self._caught_up == losses
        has_ended = self.connection.has_ended.is_set
        if self._queue.is_settled(self._mark, self._settings.settle_within_s, has_ended):
            self._mark = None
            if not self._is_draining():
                self._position.release(self._held)
        return self._caught_up == losses

    def _catch_up(self, losses: int, holds: int) -> None:
        found = self._pages.take_all_there_is() or self._read_missed()
        if self.connection.has_ended.is_set():
            if self.connection.fault == TOO_LARGE:
                self._pages.shrink(found)
            return
        items = [InboundFrame(frame=frame, from_history=True) for frame in found.frames]
        mark = self._queue.put_history(items, self._ring, self.connection.has_ended.is_set)
        if not found.is_complete:
            self._failed_tries += 1
            if self._failed_tries < _CATCH_UP_TRIES:
                return
        self._failed_tries = 0
        self._pages.reset()
        self._caught_up, self._held, self._mark = losses, holds, mark
        for gap in found.gaps:
            self._position.report_gap(gap)

    def _read_missed(self) -> CatchUp:
        known_seq = self._position.known_seq()
        return read_missed(
            self._call, self._settings, known_seq, page_messages=self._pages.messages
        )

    def _call(self, action: str, params: Frame) -> Frame | None:
        return self.connection.call(action, params, within_s=self._settings.call_within_s)


def _removes_us(frame: Frame) -> bool:
    try:
        return parse_notice(frame).kind is NoticeKind.removed
    except ValueError:
        return False
