"""The link to NapCat: one thread dials, reads until the end, and dials again.

`actors.napcat.actor` owns it; frames go into the inbound queue, news to the listener.
"""

import logging
import threading
import time
from dataclasses import asdict
from typing import Protocol

from perlica.clients.napcat.backoff import Backoff
from perlica.clients.napcat.calls import Answer, OnAnswer
from perlica.clients.napcat.connection import AUTH_FAILED
from perlica.clients.napcat.inbound import DropCounts, InboundQueue
from perlica.clients.napcat.pages import HistoryPages
from perlica.clients.napcat.position import HeldPosition, IntakePosition
from perlica.clients.napcat.readiness import Readiness
from perlica.clients.napcat.session import LinkSession
from perlica.clients.napcat.settings import NapCatSettings
from perlica.clients.napcat.transport import Transport, Unreachable
from perlica.clients.onebot import Frame, says_removed

_log = logging.getLogger(__name__)

_ROOM_POLL_S = 0.5


class LinkListener(Protocol):
    """Hears of the link, in the link's threads; must return at once."""

    def frames_wait(self) -> None:
        """The inbound queue holds something."""
        ...

    def state_changed(self, *, is_ready: bool, reason: str) -> None:
        """We may send, or not and why."""
        ...


class NapCatLink:
    """Everything between the actor and the wire."""

    def __init__(
        self,
        settings: NapCatSettings,
        *,
        transport: Transport,
        queue: InboundQueue,
        position: IntakePosition,
        listener: LinkListener,
    ) -> None:
        """Prepare; `start` begins to dial."""
        self._settings = settings
        self._transport = transport
        self._queue = queue
        self._position = HeldPosition(position)
        self._pages = HistoryPages(settings.catch_up.page_messages)
        self._listener = listener
        self._readiness = Readiness(
            lambda is_ready, reason: listener.state_changed(is_ready=is_ready, reason=reason)
        )
        self._backoff = Backoff(settings.backoff_first_s, settings.backoff_cap_s)
        self._dropped = queue.dropped
        self._is_stopping = threading.Event()
        self._is_draining = threading.Event()
        self._lock = threading.Lock()
        self._session: LinkSession | None = None
        self._thread = threading.Thread(target=self._run, name="perlica-napcat", daemon=True)

    @property
    def is_ready(self) -> bool:
        """Whether we may send."""
        return self._readiness.is_ready

    @property
    def reason(self) -> str:
        """`ready`, or why we may not send."""
        return self._readiness.reason

    @property
    def dropped(self) -> DropCounts:
        """What was dropped since the start."""
        return self._dropped

    def start(self) -> None:
        """Begin to dial."""
        self._thread.start()

    def stop(self, within_s: float) -> bool:
        """End everything; whether the threads ended in time."""
        deadline_s = time.monotonic() + within_s
        self._is_stopping.set()
        self._transport.abort()
        session = self._current()
        if session is not None:
            session.connection.abort("stopped")
        if self._thread.ident is not None:
            self._thread.join(max(0.0, deadline_s - time.monotonic()))
        return not self._thread.is_alive()

    def stop_intake(self) -> None:
        """Take no more messages of members; what is dropped now is read back after the restart."""
        if not self._is_draining.is_set():
            self._position.lose()
            self._is_draining.set()

    def keep_alive(self) -> None:
        """To be called about once a second.

        Raises: RuntimeError when the link's thread has died.
        """
        session = self._current()
        if session is not None:
            session.keep_alive()
        if not self._is_stopping.is_set() and not self._thread.is_alive():
            raise RuntimeError("the thread that reads from NapCat has died")

    def start_call(self, frame: Frame, *, within_s: float, on_answer: OnAnswer) -> None:
        """As `NapCatSocket.start_call`, on the connection of the moment, and only when ready.

        Raises: Refused when the action is not on the list.
        """
        session = self._current()
        if session is None or not self._readiness.is_ready:
            on_answer(Answer(wrote=False, response=None, fault="not_ready"))
            return

        def hear(answer: Answer) -> None:
            if answer.response is not None and says_removed(answer.response):
                session.hear_of_removal()
            on_answer(answer)

        session.connection.start_call(frame, within_s=within_s, on_answer=hear)

    def _run(self) -> None:
        if self._transport.waits_for_peer:
            _log.info("waiting for napcat to connect", extra={"address": self._address})
        while not self._is_stopping.is_set():
            if not self._queue.wait_for_room(_ROOM_POLL_S):
                continue
            fault = self._connect_once()
            pause_s = self._pause_s(fault)
            self._tell_next_try(fault, pause_s)
            self._is_stopping.wait(pause_s)

    @property
    def _address(self) -> str:
        return f"{self._settings.host}:{self._settings.port}"

    def _tell_next_try(self, fault: str, pause_s: float) -> None:
        """Which NapCat is away, why, and when it is tried again: at once where it comes to us."""
        if not self._is_stopping.is_set():
            about = {"address": self._address, "fault": fault, "retry_in_s": round(pause_s, 1)}
            _log.warning("no connection to napcat", extra=about)

    def _connect_once(self) -> str:
        try:
            wire = self._transport.open()
        except Unreachable as error:
            self._readiness.spoil(error.code)
            return error.code
        try:
            self._position.lose()
        except BaseException:
            wire.release()
            raise
        session = LinkSession(
            wire,
            self._settings,
            queue=self._queue,
            position=self._position,
            pages=self._pages,
            readiness=self._readiness,
            ring=self._listener.frames_wait,
            is_draining=self._is_draining.is_set,
            on_lifecycle=self._backoff.reset,
            dropped=self._dropped,
        )
        with self._lock:
            self._session = session
        if self._is_stopping.is_set():
            session.connection.abort("stopped")
        try:
            fault = session.run()
            _log.info("napcat link ended", extra={"fault": fault, **asdict(self._dropped)})
            return fault
        finally:
            with self._lock:
                self._session = None

    def _pause_s(self, fault: str) -> float:
        if fault == AUTH_FAILED:
            return self._settings.refused_retry_s
        return 0.0 if self._transport.waits_for_peer else self._backoff.next_s()

    def _current(self) -> LinkSession | None:
        with self._lock:
            return self._session
