"""What every thread is doing, into the protected log, when SIGUSR1 comes.

Frames only (file, line, function), never the values in them: the log's formatter writes no more.
"""

import itertools
import logging
import signal
import sys
import threading
from types import FrameType, TracebackType

_log = logging.getLogger(__name__)
_prints = itertools.count(1)


class ThreadStack(Exception):
    """Carries a thread's frames to the log as an error would; never raised."""


def install_stack_printer() -> None:
    """Let SIGUSR1 print all stacks. To be called in the main thread."""
    signal.signal(signal.SIGUSR1, _on_signal)


def log_stacks() -> None:
    """Write one line for each thread, all with the number of this print."""
    number = next(_prints)
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    for ident, frame in sys._current_frames().items():  # noqa: SLF001 - documented, for debugging
        if ident != threading.get_ident():
            _log_stack(f"stack {number} of thread {names.get(ident, ident)}", frame)


def _on_signal(_number: int, _frame: FrameType | None) -> None:
    # In a thread of its own: the signal may have come while the main thread was writing a line.
    threading.Thread(target=log_stacks, name="perlica-stacks", daemon=True).start()


def _log_stack(event: str, frame: FrameType | None) -> None:
    trace: TracebackType | None = None
    while frame is not None:
        trace = TracebackType(trace, frame, max(frame.f_lasti, 0), frame.f_lineno or 1)
        frame = frame.f_back
    _log.warning(event, exc_info=ThreadStack().with_traceback(trace))
