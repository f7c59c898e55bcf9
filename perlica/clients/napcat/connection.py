"""One connection to NapCat from its handshake to its end: reading, calls, signs of life.

The link makes one after another; `run` belongs to its reader thread, the rest to any thread.
"""

import json
import threading
import time
from collections.abc import Callable
from typing import Any

from perlica.clients.napcat.calls import Answer, CallTable, OnAnswer
from perlica.clients.napcat.inbound import DropCounts
from perlica.clients.napcat.settings import NapCatSettings
from perlica.clients.napcat.wire import (
    TOO_LARGE,
    FrameUnreadable,
    Wire,
    WireBroken,
    WriteFailed,
)
from perlica.clients.onebot import (
    ALLOWED_ACTIONS,
    Frame,
    build_call,
    is_answer,
    is_token_refusal,
    new_echo,
)
from perlica.domain.errors import Refused

AUTH_FAILED = "auth_failed"
OnEvent = Callable[[Frame, int], object]
"""Called in the reader thread with every event and its size in bytes."""


class NapCatSocket:
    """A WebSocket that speaks OneBot. Nothing of a frame is ever logged or put into an error."""

    def __init__(
        self, wire: Wire, settings: NapCatSettings, *, on_event: OnEvent, dropped: DropCounts
    ) -> None:
        """Take over an open wire; `run` begins to read."""
        self._wire = wire
        self._settings = settings
        self._on_event = on_event
        self._calls = CallTable()
        self._lock = threading.Lock()
        self._fault = ""
        self._last_frame_s = self._last_ping_s = time.monotonic()
        self._dropped = dropped
        self.has_ended = threading.Event()

    def run(self) -> str:
        """Read until the connection ends; why it ended, as a stable word."""
        try:
            while True:
                self._read()
        except WireBroken as error:
            self._dropped.too_large += error.code == TOO_LARGE
            self._set_fault(error.code)
        finally:
            self.has_ended.set()
            self._calls.end(self._fault or "dropped")
            self._wire.release()
        return self._fault

    def abort(self, fault: str) -> None:
        """End the connection now, from any thread; the first fault given is the one that counts."""
        self._set_fault(fault)
        self._wire.abort()  # type: ignore[no-untyped-call]

    @property
    def fault(self) -> str:
        """Why it ends, as `run` says; '' while it does not."""
        with self._lock:
            return self._fault

    def is_ending(self) -> bool:
        """Whether somebody aborted it, or it has ended."""
        return bool(self.fault)

    def keep_alive(self) -> None:
        """To be called about once a second: deadlines of calls, pings, silence."""
        now_s = time.monotonic()
        self._calls.expire(now_s)
        if self.has_ended.is_set():
            return
        if now_s - self._last_frame_s >= self._settings.dead_after_s:
            self.abort("silent")
        elif now_s - max(self._last_frame_s, self._last_ping_s) >= self._settings.ping_every_s:
            self._last_ping_s = now_s
            self._ping()

    def start_call(self, frame: Frame, *, within_s: float, on_answer: OnAnswer) -> None:
        """Write a complete call; `on_answer` is called exactly once, maybe before this returns.

        Blocks at most for one write, never for the answer.

        Raises: Refused when the action is not on the list.
        """
        if frame.get("action") not in ALLOWED_ACTIONS:
            raise Refused("action_not_allowed", "this NapCat action is not on the list")
        echo = str(frame["echo"])
        if not self._calls.open(echo, time.monotonic() + within_s, on_answer):
            on_answer(Answer(wrote=False, response=None, fault="not_connected"))
            return
        try:
            self._wire.write(json.dumps(frame))
        except WriteFailed as error:
            self.abort(error.code)
            answer = Answer(wrote=error.may_have_left, response=None, fault=error.code)
            self._calls.finish(echo, answer)
        else:
            self._calls.mark_written(echo)

    def call(self, action: str, params: Frame, *, within_s: float) -> Frame | None:
        """Call and wait for the response; None when there was none. Not for the reader thread.

        Raises: Refused when the action is not on the list.
        """
        answers: list[Answer] = []
        arrived = threading.Event()

        def keep(answer: Answer) -> None:
            answers.append(answer)
            arrived.set()

        echo = new_echo()
        frame = build_call(action, params, echo=echo)
        self.start_call(frame, within_s=within_s, on_answer=keep)
        if not arrived.wait(within_s):
            self._calls.finish(echo, Answer(wrote=True, response=None, fault="deadline"))
            arrived.wait()
        return answers[0].response

    def _ping(self) -> None:
        try:
            self._wire.write_ping()
        except WriteFailed as error:
            self.abort(error.code)

    def _read(self) -> None:
        try:
            text = self._wire.receive()
        except FrameUnreadable:
            self._last_frame_s = time.monotonic()
            self._dropped.malformed += 1
            return
        self._take(text)

    def _take(self, text: str | None) -> None:
        if text is None:
            return
        self._last_frame_s = time.monotonic()
        if not text:
            return
        frame = _decode(text)
        if frame is None:
            self._dropped.malformed += 1
        elif not is_answer(frame):
            self._on_event(frame, len(text))
        elif is_token_refusal(frame) and not frame.get("echo"):
            raise WireBroken(AUTH_FAILED, "NapCat refused our token")
        else:
            echo = frame.get("echo")
            if isinstance(echo, str):
                self._calls.finish(echo, Answer(wrote=True, response=frame))

    def _set_fault(self, fault: str) -> None:
        with self._lock:
            self._fault = self._fault or fault


def _decode(text: str) -> dict[str, Any] | None:
    try:
        frame = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return frame if isinstance(frame, dict) else None
