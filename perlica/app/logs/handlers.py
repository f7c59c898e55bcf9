"""Where lines go: stderr, and a file that is replaced when it has grown.

A log that cannot be written never stops the service; what was lost is counted and told later.
"""

import logging
import os
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from perlica.app.config.sections import LogSection
from perlica.app.logs.lines import LineFormatter, event_of
from perlica.app.logs.repeats import RepeatGate

_FILE_MODE = 0o600
_QUIET_LIBRARIES = ("pykka", "urllib3", "requests", "websocket", "cheroot", "kubernetes", "mcp")
_STDERR = 2


class Sink(ABC):
    """Something that takes finished lines; failing, it counts them."""

    lost = 0

    def write(self, line: bytes) -> None:
        """Append one line; never raises."""
        try:
            self._write(line)
        except OSError:
            self.lost += 1

    @abstractmethod
    def _write(self, line: bytes) -> None:
        """Append one line or raise OSError."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what is ours to close."""


class DescriptorSink(Sink):
    """Writes to an open file descriptor that is not ours to close."""

    def __init__(self, descriptor: int) -> None:
        """Use stderr or another descriptor."""
        self._descriptor = descriptor

    def close(self) -> None:
        """Leave it open: it belongs to the process."""

    def _write(self, line: bytes) -> None:
        _write_all(self._descriptor, line)


class FileSink(Sink):
    """Appends to a file of mode 0600; past `max_bytes` it becomes `.1`, and `.1` becomes `.2`."""

    def __init__(self, path: Path, *, max_bytes: int, keep_files: int) -> None:
        """Nothing is opened before the first line."""
        self._path = path
        self._max_bytes = max_bytes
        self._keep_files = keep_files
        self._descriptor: int | None = None
        self._size = 0

    def close(self) -> None:
        """Close the file; the next line opens it again."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _write(self, line: bytes) -> None:
        if self._descriptor is None:
            self._open()
        if self._size and self._size + len(line) > self._max_bytes:
            self._roll()
        if self._descriptor is not None:
            _write_all(self._descriptor, line)
            self._size += len(line)

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._descriptor = os.open(self._path, flags, _FILE_MODE)
        self._size = os.fstat(self._descriptor).st_size

    def _roll(self) -> None:
        self.close()
        for number in range(self._keep_files - 1, 0, -1):
            older = self._numbered(number)
            if older.exists():
                older.replace(self._numbered(number + 1))
        self._path.replace(self._numbered(1))
        self._open()

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")


class LineHandler(logging.Handler):
    """Formats, gates and writes; whatever happens in it, the caller goes on."""

    def __init__(
        self, sinks: Iterable[Sink], *, secrets: Iterable[str], repeat_within_s: float
    ) -> None:
        """Write every admitted record to all sinks."""
        super().__init__()
        self._sinks = tuple(sinks)
        self._gate = RepeatGate(repeat_within_s)
        self.setFormatter(LineFormatter(secrets))

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record, unless it only repeats; and what was counted before it."""
        try:
            self._tell_lost()
            for counted in self._gate.take_counted():
                self._put(counted)
            if self._gate.admit(record, event_of(record)):
                self._put(record)
        except Exception:
            self._put_bare(record)

    def close(self) -> None:
        """Write what was only counted, then let go of files."""
        with self.lock or threading.RLock():
            for counted in self._gate.take_counted(everything=True):
                self._put(counted)
            for sink in self._sinks:
                sink.close()
        super().close()

    def _tell_lost(self) -> None:
        """Say how many lines could not be written, once they can be written again."""
        for sink in self._sinks:
            lost, sink.lost = sink.lost, 0
            if lost:
                record = _own_record("log lines were lost")
                record.__dict__["count"] = lost
                sink.write(self._line(record))
                sink.lost *= lost + 1

    def _line(self, record: logging.LogRecord) -> bytes:
        return f"{self.format(record)}\n".encode("utf-8", "replace")

    def _put(self, record: logging.LogRecord) -> None:
        line = self._line(record)
        for sink in self._sinks:
            sink.write(line)

    def _put_bare(self, record: logging.LogRecord) -> None:
        """A record whose message or arguments cannot even be turned into text."""
        bare = logging.LogRecord(
            record.name, record.levelno, record.pathname, record.lineno, "[unwritable]", (), None
        )
        self._put(bare)


def start_logging(settings: LogSection, *, secrets: Iterable[str] = ()) -> LineHandler:
    """Send every logger of the process, warnings and uncaught exceptions into protected lines.

    May be called again, for example once the secrets are known: it replaces what it put before.
    """
    sinks: list[Sink] = [DescriptorSink(_STDERR)]
    if settings.file is not None:
        sinks.append(
            FileSink(settings.file, max_bytes=settings.max_bytes, keep_files=settings.keep_files)
        )
    handler = LineHandler(sinks, secrets=secrets, repeat_within_s=settings.repeat_within_s)
    _replace_root_handlers(handler, logging.getLevelNamesMapping()[settings.level.upper()])
    _quieten_libraries()
    logging.raiseExceptions = False
    logging.captureWarnings(capture=True)
    sys.excepthook = _log_uncaught
    threading.excepthook = _log_uncaught_in_thread
    return handler


def _replace_root_handlers(handler: logging.Handler, level: int) -> None:
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
        old.close()
    root.addHandler(handler)
    root.setLevel(level)


def _quieten_libraries() -> None:
    """Other people's loggers go through ours, and only from `warning` on."""
    for name in _QUIET_LIBRARIES:
        library = logging.getLogger(name)
        library.handlers.clear()
        library.propagate = True
        library.setLevel(logging.WARNING)


def _own_record(event: str) -> logging.LogRecord:
    return logging.LogRecord("perlica.app.logs", logging.WARNING, "", 0, event, (), None)


def _log_uncaught(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    logging.getLogger("perlica").critical("uncaught exception", exc_info=(kind, error, trace))


def _log_uncaught_in_thread(given: threading.ExceptHookArgs) -> None:
    if given.exc_value is not None:
        logging.getLogger("perlica").critical(
            "uncaught exception in a thread",
            exc_info=(given.exc_type, given.exc_value, given.exc_traceback),
        )


def _write_all(descriptor: int, line: bytes) -> None:
    while line:
        line = line[os.write(descriptor, line) :]
