"""The daemon's log: one line of JSON for each record on stderr, and the newest ones in memory.

Records carry ids, sizes and facts of the node; no caller puts content of a sandbox into one.
"""

import json
import logging
import sys
from collections import deque

from sandboxd.wire import LogLine

_KEPT = 1000
_MAX_MESSAGE = 2000


def line_of(record: logging.LogRecord) -> LogLine:
    """A record as it travels."""
    return LogLine(
        at_ms=round(record.created * 1000),
        level=record.levelname,
        logger=record.name,
        message=record.getMessage()[:_MAX_MESSAGE],
    )


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(line_of(record).model_dump(), ensure_ascii=False)


class RecentLines(logging.Handler):
    """Keeps the newest records for `GET /v1/log`."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: deque[LogLine] = deque(maxlen=_KEPT)

    def emit(self, record: logging.LogRecord) -> None:
        """Keeps one; called under the handler's own lock."""
        self._lines.append(line_of(record))

    def lines(self) -> tuple[LogLine, ...]:
        """The newest last."""
        self.acquire()
        try:
            return tuple(self._lines)
        finally:
            self.release()


RECENT = RecentLines()
"""Records belong to the process, so there is one."""


def start_logging(level: str, *, as_json: bool) -> None:
    """Sends records to stderr and into memory."""
    stream = logging.StreamHandler(sys.stderr)
    text = logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s")
    stream.setFormatter(_Json() if as_json else text)
    logging.basicConfig(level=level, handlers=[stream, RECENT])
