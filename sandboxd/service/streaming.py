"""The output of a command on its way to the caller while the command runs, as lines of JSON.

Between the command's thread and the connection lies a bounded feed. It never makes the command
wait: what a slow caller does not take is skipped and counted, and the outcome at the end holds
beginning and end all the same.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial

from sandboxd.execution.command import Observe
from sandboxd.faults import Fault, fault_of
from sandboxd.wire import ExecOutcome, StreamEnd, StreamName, StreamOutput, encode_bytes

Explain = Callable[[Exception], Fault]
_BUFFERED_BYTES = 1024 * 1024


class Feed:
    """Filled by one thread, emptied by another; holds at most a megabyte."""

    def __init__(self, *, limit_bytes: int) -> None:
        self._changed = threading.Condition()
        self._pieces: deque[StreamOutput] = deque()
        self._buffered_bytes = 0
        self._left_bytes = limit_bytes
        self._skipped: dict[StreamName, int] = {"stdout": 0, "stderr": 0}
        self._end: StreamEnd | None = None
        self._is_closed = False

    def observe(self, stream: StreamName, chunk: bytes) -> None:
        """Takes a chunk of output, or counts it as skipped."""
        with self._changed:
            size = len(chunk)
            has_room = self._buffered_bytes + size <= _BUFFERED_BYTES and size <= self._left_bytes
            if self._is_closed or not has_room:
                self._skipped[stream] += size
                return
            self._left_bytes -= size
            self._buffered_bytes += size
            skipped, self._skipped[stream] = self._skipped[stream], 0
            piece = StreamOutput(
                stream=stream, skipped_bytes=skipped, content_base64=encode_bytes(chunk)
            )
            self._pieces.append(piece)
            self._changed.notify()

    def run(self, work: Callable[[Observe], ExecOutcome], explain: Explain) -> None:
        """Does the work in a thread of its own; `explain` turns what it raised into a fault."""
        threading.Thread(target=partial(self._run, work, explain), name="stream").start()

    def _run(self, work: Callable[[Observe], ExecOutcome], explain: Explain) -> None:
        try:
            end = StreamEnd(outcome=work(self.observe))
        except Exception as error:  # noqa: BLE001 (`explain` covers every kind)
            end = StreamEnd(failure=explain(error).answer())
        with self._changed:
            self._end = end
            self._changed.notify()

    def begin(self) -> None:
        """Waits for the first output or the end. Raises the fault of work that never began."""
        with self._changed:
            self._changed.wait_for(lambda: self._pieces or self._end is not None)
            if not self._pieces and self._end is not None and self._end.failure is not None:
                raise fault_of(self._end.failure)

    def lines(self) -> Iterator[bytes]:
        """The pieces as they come, then the end; each a line."""
        try:
            while True:
                piece = self._next()
                yield piece.model_dump_json().encode("ascii") + b"\n"
                if isinstance(piece, StreamEnd):
                    return
        finally:
            with self._changed:
                self._is_closed = True  # The command goes on without a listener.
                self._pieces.clear()

    def _next(self) -> StreamOutput | StreamEnd:
        with self._changed:
            self._changed.wait_for(lambda: self._pieces or self._end is not None)
            if not self._pieces and self._end is not None:
                return self._end
            piece = self._pieces.popleft()
            self._buffered_bytes -= len(piece.content)
            return piece
