"""Calls that wait for NapCat's answer, told apart by their echo; answers come in any order.

The connection registers a call before it writes, so an answer can never come too early.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How a call ended: NapCat's response, or None and what happened instead.

    `wrote` is False only when not a byte of the call left; `fault` is '' with a response.
    """

    wrote: bool
    response: Mapping[str, Any] | None = field(repr=False)
    fault: str = ""


OnAnswer = Callable[[Answer], object]


@dataclass(slots=True, kw_only=True)
class _Call:
    deadline_s: float
    on_answer: OnAnswer
    is_written: bool = False


class CallTable:
    """The open calls of one connection; each gets exactly one Answer, from whichever thread."""

    def __init__(self) -> None:
        """Start open and empty."""
        self._lock = threading.Lock()
        self._calls: dict[str, _Call] = {}
        self._fault = ""

    def open(self, echo: str, deadline_s: float, on_answer: OnAnswer) -> bool:
        """Register a call that is about to be written; False when the connection has ended."""
        with self._lock:
            if self._fault or echo in self._calls:
                return False
            self._calls[echo] = _Call(deadline_s=deadline_s, on_answer=on_answer)
            return True

    def mark_written(self, echo: str) -> None:
        """The call is on the wire; answers it with `dropped` if the connection ended meanwhile."""
        with self._lock:
            fault = self._fault
            if echo in self._calls:
                self._calls[echo].is_written = True
        if fault:
            self.finish(echo, Answer(wrote=True, response=None, fault=fault))

    def finish(self, echo: str, answer: Answer) -> None:
        """Give a call its answer; nothing happens when it has one already."""
        with self._lock:
            call = self._calls.pop(echo, None)
        if call is not None:
            call.on_answer(answer)

    def expire(self, now_s: float) -> None:
        """Answer the calls whose deadline has passed on the monotonic clock."""
        with self._lock:
            late = [echo for echo, call in self._calls.items() if call.deadline_s <= now_s]
        for echo in late:
            self.finish(echo, Answer(wrote=True, response=None, fault="deadline"))

    def end(self, fault: str) -> None:
        """The connection is gone: answer every written call, and take no more.

        A call that is being written is answered by the thread that writes it, which knows better.
        """
        with self._lock:
            self._fault = self._fault or fault
            written = [echo for echo, call in self._calls.items() if call.is_written]
        for echo in written:
            self.finish(echo, Answer(wrote=True, response=None, fault=fault))
