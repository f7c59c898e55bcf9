"""A warm process that forks services: everything is imported once, a child starts at once.

Run as `python -m tests.crash.nursery`; it reads one `Order` for each line and writes `started PID`
and `ended CODE`. It has one thread, so that forking is safe, and one child at a time.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from tests.crash.child import Order, serve

ROOT = Path(__file__).parents[2]
_PR_SET_PDEATHSIG = 1


@dataclass(slots=True)
class Child:
    """A service in a process of its own."""

    pid: int
    code: int | None = None

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return self.code is None

    def kill(self) -> None:
        """kill -9."""
        if self.is_alive:
            os.kill(self.pid, signal.SIGKILL)


class Nursery:
    """The test's end of one warm process; `on_end` is called when a child has ended."""

    def __init__(self, on_end: Callable[[], None] = lambda: None) -> None:
        self.on_end = on_end
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.nursery"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._changed = threading.Condition()
        self._children: list[Child] = []
        self._reader = threading.Thread(target=self._read, name="nursery", daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._children:
            self._children[-1].kill()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(10)
        self._reader.join(10)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def start(self, order: Order, within_s: float = 30.0) -> Child:
        """A new service; the one before it has ended."""
        with self._changed:
            known = len(self._children)
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(asdict(order)) + "\n")
            self._process.stdin.flush()
            if not self._changed.wait_for(lambda: len(self._children) > known, within_s):
                raise AssertionError("the nursery started nothing")
            return self._children[-1]

    def wait_for_end(self, child: Child, within_s: float = 30.0) -> int:
        """Its exit code, negative for a signal."""
        with self._changed:
            if not self._changed.wait_for(lambda: child.code is not None, within_s):
                raise AssertionError(f"process {child.pid} does not end")
        assert child.code is not None
        return child.code

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            word, number = line.split()
            with self._changed:
                if word == "started":
                    self._children.append(Child(pid=int(number)))
                else:
                    self._children[-1].code = int(number)
                self._changed.notify_all()
            if word == "ended":
                self.on_end()


def main() -> None:
    """Fork for each order until the test goes away."""
    # The imports are shared with every child for good; collecting would only copy pages.
    for line in sys.stdin:
        order = Order(**json.loads(line))
        pid = os.fork()
        if pid == 0:
            _be_a_service(order)
        _say("started", pid)
        _, status = os.waitpid(pid, 0)
        _say("ended", os.waitstatus_to_exitcode(status))


def _be_a_service(order: Order) -> None:
    """Never returns. The process dies with the nursery."""
    code = 70
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        code = serve(order)
    finally:
        os._exit(code)


def _say(word: str, number: Any) -> None:
    print(word, number, flush=True)


if __name__ == "__main__":
    main()
