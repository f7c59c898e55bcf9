"""Writes a record as one protected JSON line. It never raises and never lets a raw line out.

Ids go in, content stays out: of `extra` only `ID_FIELDS` are written, of other people's loggers
only the template with harmless arguments, of foreign exceptions only a harmless message.
"""

import json
import logging
import re
import threading
import traceback
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from types import TracebackType
from urllib.parse import quote

from perlica.domain.errors import PerlicaError
from perlica.protection import Channel, head_of, protect_beginning, protect_line

ID_FIELDS = (
    "actor",
    "actors",
    "address",
    "after",
    "before",
    "bell",
    "call",
    "capability",
    "code",
    "config",
    "configured",
    "count",
    "deleted",
    "duration_ms",
    "fault",
    "faults",
    "free_bytes",
    "in_force",
    "kind",
    "known",
    "malformed",
    "message_id",
    "message_row",
    "node",
    "operation",
    "other_accounts",
    "other_groups",
    "other_kinds",
    "outbox",
    "policy",
    "ready",
    "reason",
    "retry_in_s",
    "rows",
    "sandbox",
    "schema",
    "signal",
    "state",
    "step",
    "task",
    "ticket",
    "too_large",
    "version",
)
"""Names that `extra` may carry: ids, codes and numbers of ours."""

MAX_EVENT_CODE_POINTS = 500
MAX_LOOKED_AT_CODE_POINTS = 8_192
"""So much of a text is protected before it is cut to what is written."""
MAX_FRAMES = 30
MAX_LIST_ITEMS = 50

_OURS = ("perlica", "actors", "py", "__main__")
_HARMLESS = re.compile(r"[A-Za-z0-9_.:/-]{1,64}", re.ASCII)
_TELLING = (
    OSError,
    ImportError,
    NameError,
    AttributeError,
    TypeError,
    RecursionError,
    MemoryError,
    PerlicaError,
)
"""Exceptions whose messages are about the program; a ValueError's may quote what it was given."""

_HIDDEN = "[secret]"
_WITHHELD = "[withheld]"
_SHORTEST_SECRET = 4
_Triple = tuple[type[BaseException], BaseException, TracebackType | None]


class LineFormatter(logging.Formatter):
    """The one formatter. `secrets` are values that are replaced wherever they stand."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """Prepare the forms in which a secret could appear inside a JSON line."""
        super().__init__()
        self._secrets = _spellings(secrets)
        self._inside = threading.local()

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line without its line end."""
        if getattr(self._inside, "busy", False):
            return _bare(record, "[a record made while another was written]")
        self._inside.busy = True
        try:
            return self._protected(_compose(record), record)
        except Exception:
            return _bare(record, _WITHHELD)
        finally:
            self._inside.busy = False

    def _protected(self, line: str, record: logging.LogRecord) -> str:
        for secret in self._secrets:
            line = line.replace(secret, _HIDDEN)
        protected = protect_line(line)
        fields = _read_object(protected)
        if fields is None:
            return _bare(record, head_of(protected, MAX_EVENT_CODE_POINTS))
        return _dump(_shortened(fields))


def event_of(record: logging.LogRecord) -> str:
    """What the record says, on one line; of other libraries without their arguments' content."""
    ours = record.name.partition(".")[0] in _OURS
    text = record.getMessage() if ours else _foreign_message(record)
    return _looked_at(" ".join(_whole(text).split()))


def _compose(record: logging.LogRecord) -> str:
    fields: dict[str, object] = {**_head(record), "event": event_of(record)}
    for name in ID_FIELDS:
        if name in record.__dict__:
            fields[name] = _value(record.__dict__[name])
    repeated = record.__dict__.get("repeated")
    if isinstance(repeated, int):
        fields["repeated"] = repeated
    if record.exc_info and record.exc_info[1] is not None:
        fields["errors"] = list(_errors(record.exc_info[1]))
    return _dump(fields)


def _head(record: logging.LogRecord) -> dict[str, object]:
    at = datetime.fromtimestamp(record.created, UTC)
    return {
        "at": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "level": record.levelname.lower(),
        "logger": record.name,
        "thread": record.threadName or "",
    }


def _bare(record: logging.LogRecord, event: str) -> str:
    """A line that cannot hold anything but the record's head and a text that was judged already."""
    return _dump({**_head(record), "event": event})


def _dump(fields: object) -> str:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"), default=_scalar)


def _value(value: object) -> object:
    """A number or a text, or a list of them."""
    if isinstance(value, list | tuple | set | frozenset):
        return [_scalar(one) for one in list(value)[:MAX_LIST_ITEMS]]
    return _scalar(value)


def _scalar(value: object) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    return _looked_at(_whole(str(value)))


def _looked_at(text: str) -> str:
    """The text, or of one that is too long to be looked at with its line the protected beginning:
    what the line's own protection shortens must not move up what stands at a cut.
    """
    if len(text) <= MAX_LOOKED_AT_CODE_POINTS:
        return text
    half = MAX_LOOKED_AT_CODE_POINTS // 2
    return protect_beginning(text, half, Channel.LOG, margin_code_points=half)


def _whole(text: str) -> str:
    """The text without halves of surrogate pairs, which no UTF-8 file can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _foreign_message(record: logging.LogRecord) -> str:
    """A library's template with harmless arguments; of a finished text what stands before a colon.

    Pykka, for one, ends its lines with the repr of a message that no handler wanted.
    """
    if not record.args:
        before, colon, _ = str(record.msg).partition(": ")
        return f"{before}: {_WITHHELD}" if colon else before
    arguments = record.args if isinstance(record.args, tuple) else ()
    try:
        return str(record.msg) % tuple(map(_harmless_argument, arguments))
    except (TypeError, ValueError):
        return str(record.msg)


def _harmless_argument(argument: object) -> object:
    if isinstance(argument, bool | int | float):
        return argument
    if isinstance(argument, str) and _HARMLESS.fullmatch(argument):
        return argument
    return f"<{type(argument).__name__}>"


def _errors(error: BaseException) -> Iterator[dict[str, object]]:
    """The exception and what it came from, outermost first, each with its frames."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield {
            "type": type(current).__qualname__,
            "message": _message_of(current),
            "frames": list(_frames(current.__traceback__)),
        }
        current = current.__cause__ or (
            None if current.__suppress_context__ else current.__context__
        )


def _message_of(error: BaseException) -> str:
    if not isinstance(error, _TELLING):
        return _WITHHELD
    return _looked_at(" ".join(_whole(str(error)).split()))


def _frames(trace: TracebackType | None) -> Iterator[str]:
    """Innermost frames: file, line and function, never the values or the source's text."""
    summary = traceback.StackSummary.extract(traceback.walk_tb(trace), lookup_lines=False)
    for frame in summary[-MAX_FRAMES:]:
        yield f"{_short_path(frame.filename)}:{frame.lineno} {frame.name}"


def _short_path(filename: str) -> str:
    """The path from the package on; where the program is installed is nobody's business."""
    return "/".join(filename.split("/")[-3:])


def _spellings(secrets: Iterable[str]) -> tuple[str, ...]:
    """Each secret as it is, as JSON escapes it, and as an address would quote it; longest first."""
    forms: set[str] = set()
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
            forms |= {secret, json.dumps(secret)[1:-1], quote(secret, safe="", errors="replace")}
    return tuple(sorted(forms, key=len, reverse=True))


def _read_object(line: str) -> dict[str, object] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _shortened(value: object) -> object:
    """Every text cut to what a line may hold; it is protected by now."""
    match value:
        case str():
            return head_of(value, MAX_EVENT_CODE_POINTS)
        case list():
            return [_shortened(one) for one in value]
        case dict():
            return {name: _shortened(one) for name, one in value.items()}
        case _:
            return value
