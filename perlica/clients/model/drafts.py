"""A turn in the making: pieces of a stream collected within limits.

Filled by the readers of both APIs, turned into a `ModelTurn` by `perlica.clients.model.exchange`.
"""

import json
from dataclasses import dataclass, field
from typing import Protocol

from perlica.clients.model.attempt_failure import AttemptFailure
from perlica.clients.model.contract import Finish, ModelCall, ModelTurn
from perlica.clients.model.settings import ModelSettings
from perlica.clients.model.sse import ServerEvent
from perlica.clients.model.thinking_text import strip_thinking
from perlica.domain.errors import Refused

_MAX_NAME = 256
_BYTES_FOR_TOKEN = 4
_MAX_TOKENS = 1_000_000_000


class TurnReader(Protocol):
    """Understands one API's stream."""

    draft: "TurnDraft"

    @property
    def is_over(self) -> bool:
        """Whether the stream has said its last word."""
        ...

    def take(self, event: ServerEvent) -> bool:
        """Take one event in; whether it carried something of the model's.

        Raises: AttemptFailure, Refused, Misconfigured.
        """
        ...

    def take_whole(self, body: bytes) -> None:
        """Take in an answer that came as one JSON document although a stream was asked for."""
        ...


@dataclass(slots=True)
class CallDraft:
    """One tool call as far as it has come; `place` is the index that its server gave it.

    `returned` are the fields that the provider wants back (`perlica.clients.model.wanted_back`).
    """

    place: int = 0
    provider_id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    arguments_bytes: int = 0
    is_oversized: bool = False
    returned: dict[str, object] = field(default_factory=dict)

    def finish(self) -> ModelCall:
        """The call as the model wrote it."""
        return ModelCall(
            provider_id=self.provider_id,
            name=self.name,
            arguments_json="" if self.is_oversized else "".join(self.arguments),
            is_oversized=self.is_oversized,
        )


class TurnDraft:
    """Collects text, thinking, calls, the finish and the usage of one turn."""

    def __init__(self, settings: ModelSettings) -> None:
        self.finish: Finish | None = None
        self.input_tokens: int | None = None
        self.output_tokens: int | None = None
        self.opaque: bytes | None = None
        self.calls: dict[int, CallDraft] = {}
        self.returned: dict[str, object] = {}
        self.has_reasoning = False
        self._settings = settings
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._text_bytes = 0

    @property
    def text(self) -> str:
        """The text so far, without thinking that a server left in it."""
        return strip_thinking("".join(self._text))

    def add_text(self, piece: str) -> bool:
        """Append to the text. Raises: Refused above the limit."""
        self.count(piece)
        self._text.append(piece)
        return bool(piece)

    def add_reasoning(self, piece: str) -> bool:
        """Append to the thinking; an empty piece still says that the provider thinks."""
        self.count(piece)
        self.has_reasoning = True
        self._reasoning.append(piece)
        return bool(piece)

    def new_call(self, place: int) -> CallDraft:
        """A call that begins. Raises: Refused above the limit."""
        if len(self.calls) >= self._settings.max_calls:
            raise Refused("model_too_many_calls", "the model asked for too many calls in one turn")
        call = CallDraft(place=place)
        self.calls[len(self.calls)] = call
        return call

    def ordered_calls(self) -> list[CallDraft]:
        """All calls, in the order of their server's index and of their coming."""
        return sorted(self.calls.values(), key=lambda call: call.place)

    def add_arguments(self, call: CallDraft, piece: str) -> bool:
        """Append to a call's arguments; above the limit they are dropped and the call is marked."""
        call.arguments_bytes += len(piece.encode("utf-8", "replace"))
        if call.arguments_bytes > self._settings.max_argument_bytes:
            call.is_oversized = True
            call.arguments.clear()
        if not call.is_oversized:
            call.arguments.append(piece)
        return bool(piece)

    def turn(self, *, sent_bytes: int, received_bytes: int, attempts: int) -> ModelTurn:
        """The finished turn; calls in the order of their index.

        Raises: AttemptFailure when the model announced calls and none came, or never finished.
        """
        if self.finish is None or (self.finish is Finish.calls and not self.calls):
            raise AttemptFailure("model_bad_finish", "the model's answer has no proper end")
        is_estimate = self.input_tokens is None or self.output_tokens is None
        written = min(received_bytes, self._text_bytes + self._argument_bytes())
        return ModelTurn(
            text=self.text,
            calls=tuple(call.finish() for call in self.ordered_calls()),
            finish=self._effective_finish(self.finish),
            input_tokens=_or_estimate(self.input_tokens, sent_bytes),
            output_tokens=_or_estimate(self.output_tokens, written),
            reasoning="".join(self._reasoning) if self.has_reasoning else None,
            opaque=self.opaque,
            usage_is_estimate=is_estimate,
            attempts=attempts,
        )

    def _effective_finish(self, finish: Finish) -> Finish:
        """Some servers say `stop` beside calls: the presence of calls is trusted."""
        return Finish.calls if finish is Finish.stop and self.calls else finish

    def _argument_bytes(self) -> int:
        return sum(call.arguments_bytes for call in self.calls.values())

    def count(self, piece: str) -> None:
        """Count towards the limit of the answer. Raises: Refused above it."""
        self._text_bytes += len(piece.encode("utf-8", "replace"))
        if self._text_bytes > self._settings.max_text_bytes:
            raise Refused("model_answer_too_large", "the model's answer is too long")


def write_json(value: object) -> str:
    """Compact JSON of what a stream held. Raises: AttemptFailure for what JSON has not."""
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise AttemptFailure(
            "model_bad_stream", "the model's stream is not what it should be"
        ) from error


def write_arguments(value: object) -> str:
    """Arguments that came as an object, as text; what JSON has not makes them malformed.

    Such a call is kept: it never runs, and the model is told why.
    """
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        return "["


def read_object(data: str | bytes) -> dict[str, object]:
    """A JSON object of the stream. Raises: AttemptFailure when it is none."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise AttemptFailure(
            "model_bad_stream", "the model's stream is not what it should be"
        ) from error
    if not isinstance(value, dict):
        raise AttemptFailure("model_bad_stream", "the model's stream is not what it should be")
    return value


def read_text(value: object) -> str:
    """`value` if it is a text, else ""."""
    return value if isinstance(value, str) else ""


def read_name(value: object) -> str:
    """`value` if it is a text of a bearable length, cut there, else ""."""
    return read_text(value)[:_MAX_NAME]


def read_map(value: object) -> dict[str, object]:
    """`value` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def read_list(value: object) -> list[object]:
    """`value` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def read_count(value: object) -> int | None:
    """`value` if it is a plausible number of tokens, else None."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= _MAX_TOKENS else None


def _or_estimate(tokens: int | None, size_bytes: int) -> int:
    return tokens if tokens is not None else size_bytes // _BYTES_FOR_TOKEN
