"""Server-sent events from bytes: what a model's stream is made of.

`perlica.clients.model.exchange` feeds it what the socket gave. Lines are cut as bytes and decoded
whole, so a character split between two packets stays one (`requests` would decode as ISO-8859-1).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEvent:
    """One event: its name ("" where none was given) and its data lines joined."""

    name: str
    data: str = field(repr=False)


class EventReader:
    """Cuts a byte stream into events; comments, blank lines and unknown fields are skipped."""

    def __init__(self) -> None:
        self._partial: list[bytes] = []
        self._ends_with_return = False
        self._name = ""
        self._data: list[str] = []
        self._is_first_line = True

    def feed(self, piece: bytes) -> Iterator[ServerEvent]:
        """The events that `piece` completes. Raises: UnicodeDecodeError for a line that is not
        UTF-8.
        """
        if self._ends_with_return and piece.startswith(b"\n"):
            piece = piece[1:]
        self._ends_with_return = piece.endswith(b"\r")
        *lines, rest = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        for line in lines:
            self._partial.append(line)
            whole = b"".join(self._partial)
            self._partial.clear()
            event = self._take(whole.decode("utf-8"))
            if event is not None:
                yield event
        if rest:
            self._partial.append(rest)

    def end(self) -> Iterator[ServerEvent]:
        """The event that the stream ended in, if it broke off without its blank line."""
        if self._partial:
            yield from self.feed(b"\n")
        event = self._take("")
        if event is not None:
            yield event

    def _take(self, line: str) -> ServerEvent | None:
        if self._is_first_line:
            line = line.removeprefix("\ufeff")
            self._is_first_line = False
        if not line:
            return self._complete()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._name = value
        return None

    def _complete(self) -> ServerEvent | None:
        name, data = self._name, self._data
        self._name, self._data = "", []
        joined = "\n".join(data)
        # An empty `data:` is a keep-alive of some servers, as a comment is of others.
        return ServerEvent(name=name, data=joined) if joined.strip() else None
