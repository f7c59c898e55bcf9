"""Looks names up, each once for a few seconds however many connections want it.

A package manager opens dozens of connections to one name at once. Whoever comes while a look-up
runs waits for its answer; a failure is shared with them alone and remembered by nobody.
"""

import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from sandboxd.faults import Retryable

KEPT_S = 5.0
"""How long an answer is used again; the name's own time to live is not seen here."""
MAX_NAMES = 256
Look = Callable[[str], tuple[str, ...]]


def resolve(name: str) -> tuple[str, ...]:
    """All addresses of a name in the system's order. Raises: Retryable."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise Retryable("the name does not resolve") from error
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))


class Names:
    """Answers of the last few seconds, at most MAX_NAMES of them. Thread-safe."""

    def __init__(self, look: Look = resolve, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._look = look
        self._clock_s = clock_s
        self._lock = threading.Lock()
        self._answers: dict[str, tuple[float, Future[tuple[str, ...]]]] = {}

    def find(self, name: str) -> tuple[str, ...]:
        """The addresses, looked up now or within the last KEPT_S. Raises: Retryable."""
        with self._lock:
            until_s, answer = self._answers.get(name, (0.0, None))
            is_ours = answer is None or until_s <= self._clock_s()
            if is_ours or answer is None:
                answer = Future()
                self._keep(name, answer)
        if is_ours:
            self._fill(name, answer)
        return answer.result()

    def _keep(self, name: str, answer: Future[tuple[str, ...]]) -> None:
        self._answers.pop(name, None)  # The newest stand last.
        while len(self._answers) >= MAX_NAMES:
            del self._answers[next(iter(self._answers))]
        self._answers[name] = (self._clock_s() + KEPT_S, answer)

    def _fill(self, name: str, answer: Future[tuple[str, ...]]) -> None:
        try:
            answer.set_result(self._look(name))
        except Retryable as fault:
            with self._lock:
                if self._answers.get(name, (0.0, None))[1] is answer:
                    del self._answers[name]
            answer.set_exception(fault)
