"""A model behind an API: given a `Conversation` of protected texts it returns one `ModelTurn`.

Its texts are raw: they are protected before anything else is done with them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from perlica.conversation import Conversation, ToolSpec
from perlica.domain.cancel import CancelToken


class Finish(StrEnum):
    """Why the model stopped, in one vocabulary for all providers."""

    stop = "stop"
    calls = "calls"
    length = "length"
    filtered = "filtered"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """A call as the model wrote it: `arguments_json` is not checked and may be no JSON at all.

    `is_oversized` says that the arguments passed the client's limit and were dropped.
    """

    provider_id: str = field(repr=False)
    name: str = field(repr=False)
    arguments_json: str = field(repr=False)
    is_oversized: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTurn:
    """One answer of a model, raw: protect it before anything else.

    Token counts are the provider's; where it gave none they are estimated from bytes and
    `usage_is_estimate` says so. `attempts` counts the requests that were made for it.
    """

    text: str = field(repr=False)
    calls: tuple[ModelCall, ...]
    finish: Finish
    input_tokens: int
    output_tokens: int
    reasoning: str | None = field(default=None, repr=False)
    opaque: bytes | None = field(default=None, repr=False)
    usage_is_estimate: bool = False
    attempts: int = 1


class ModelClient(Protocol):
    """A model behind one API; one instance may serve several threads."""

    def complete(
        self, conversation: Conversation, tools: Sequence[ToolSpec], cancel: CancelToken
    ) -> ModelTurn:
        """Fetch one turn; nothing of it is visible before it is whole, so failures are retried
        inside.

        Raises:
            Cancelled: the token was set; the socket is closed.
            Retryable: every attempt failed, or the total deadline passed.
            Refused: the provider will not answer this request.
            Misconfigured: key, address, model name, balance or dialect is wrong.
        """
        ...

    def probe(self, cancel: CancelToken) -> tuple["ProbeFinding", ...]:
        """Ask the provider for one word, for `perlica doctor`; never raises for a bad answer."""
        ...

    def close(self) -> None:
        """Close idle connections."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeFinding:
    """One line for doctor: `code` is stable, `remedy` says what an operator may do ("" when it is
    good).
    """

    is_good: bool
    code: str
    text: str
    remedy: str = ""
