"""What a server can do with one request: answer, or fail in one of the ways real servers do.

A script is a list of these; the performer carries them out on the socket.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from perlica.demo.model.reply import Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpError:
    """An HTTP status instead of a turn, with or without Retry-After and other headers."""

    status: int
    message: str = "the script says so"
    retry_after_s: int | None = None
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Silent:
    """The request is read and nothing is ever sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadersThenSilent:
    """Status and headers of a stream, then nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drip:
    """A stream that gives a keep-alive comment, or one byte of a comment, for ever."""

    what: Literal["keep-alive", "byte"] = "keep-alive"
    every_s: float = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class CutOff:
    """The first `after_chunks` chunks of a reply, then the connection ends."""

    reply: Reply
    after_chunks: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    """A whole reply whose stream ends without a finish_reason, with or without [DONE]."""

    reply: Reply
    is_done: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A reply that waits until the test sets `released`."""

    reply: Reply
    released: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True, slots=True, kw_only=True)
class Garbage:
    """A stream whose data is this text instead of JSON chunks."""

    data: str = "{not json"


Turn: TypeAlias = (
    Reply | HttpError | Silent | HeadersThenSilent | Drip | CutOff | Unfinished | Held | Garbage
)
Step: TypeAlias = Turn | Callable[[dict[str, Any]], Turn]
"""A turn, or a function that makes one of the request's JSON."""
