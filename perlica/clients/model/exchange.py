"""One turn over HTTP, whatever the API: attempts, deadlines, reading, and the check of the end.

`OpenAiClient` and `AnthropicClient` are this with their API's way of writing and reading.
"""

from collections.abc import Iterator, Sequence
from http import HTTPStatus
from itertools import chain
from typing import Final, Protocol

from perlica.clients.model.abort import Abort, Cut
from perlica.clients.model.attempt_failure import AttemptFailure, run_attempts
from perlica.clients.model.contract import ModelTurn, ProbeFinding
from perlica.clients.model.drafts import TurnReader
from perlica.clients.model.error_mapping import MAX_ERROR_BYTES, judge_status
from perlica.clients.model.settings import ModelSettings
from perlica.clients.model.sse import EventReader, ServerEvent
from perlica.clients.model.transport import Answer, Transport
from perlica.conversation import Conversation, ToolSpec, UserMessage
from perlica.domain.cancel import CancelToken
from perlica.domain.clock import monotonic_s
from perlica.domain.errors import Misconfigured, Refused, Retryable
from perlica.protection import Channel, protect

_BLANK: Final = b" \t\r\n\xef\xbb\xbf"
_AFTER_FINISH_S: Final = 5.0
"""How long a server may take from its finish reason to its usage and its last word."""


class ModelApi(Protocol):
    """How an API is written and read."""

    path: str
    needs_retry_after: bool

    def headers(self, key: str | None) -> dict[str, str]:
        """The headers that carry the key and the API's version."""
        ...

    def encode(self, conversation: Conversation, tools: Sequence[ToolSpec]) -> bytes:
        """The request's body."""
        ...

    def reader(self) -> TurnReader:
        """A reader for one answer."""
        ...


class HttpModelClient:
    """A model behind HTTP: see `perlica.clients.model.contract.ModelClient`."""

    def __init__(self, settings: ModelSettings, api: ModelApi) -> None:
        """Connect nothing yet. Raises: Misconfigured when the ca_file cannot be read."""
        self._settings = settings
        self._api = api
        self._transport = Transport(settings)

    def complete(
        self, conversation: Conversation, tools: Sequence[ToolSpec], cancel: CancelToken
    ) -> ModelTurn:
        """Fetch one turn: the contract's `complete`."""
        cancel.check()
        body = self._api.encode(conversation, tools)
        return run_attempts(
            lambda number, give_up_at_s: self._attempt(
                body, cancel, number=number, give_up_at_s=give_up_at_s
            ),
            self._settings,
            cancel,
        )

    def probe(self, cancel: CancelToken) -> tuple[ProbeFinding, ...]:
        """Ask for one word, once: the contract's `probe`."""
        began_s = monotonic_s()
        question = (UserMessage(content=protect("Reply with the single word OK.", Channel.MODEL)),)
        try:
            give_up_at_s = began_s + self._settings.first_token_s
            body = self._api.encode(question, ())
            turn = self._attempt(body, cancel, number=1, give_up_at_s=give_up_at_s)
        except AttemptFailure as failure:
            return (_bad_finding(failure.code, failure.text, "try again, or look at the provider"),)
        except (Misconfigured, Refused, Retryable) as error:
            return (_bad_finding(error.code, error.text, error.remedy),)
        took_ms = round((monotonic_s() - began_s) * 1000)
        text = (
            f"the model answered in {took_ms} ms ({turn.input_tokens}+{turn.output_tokens} tokens)"
        )
        answered = ProbeFinding(is_good=True, code="model_answers", text=text)
        if not turn.usage_is_estimate:
            return (answered,)
        return (answered, ProbeFinding(is_good=True, code="model_usage_estimated", text=_NO_USAGE))

    def close(self) -> None:
        """Close idle connections."""
        self._transport.close()

    def _attempt(
        self, body: bytes, cancel: CancelToken, *, number: int, give_up_at_s: float
    ) -> ModelTurn:
        headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream, application/json",
            **self._api.headers(self._settings.read_key()),
        }
        abort = self._new_abort(give_up_at_s)
        with (
            abort.guard(cancel),
            self._transport.send(self._api.path, headers, body, abort) as answer,
        ):
            reader = self._read(answer, abort)
            turn = reader.draft.turn(
                sent_bytes=len(body), received_bytes=answer.received_bytes, attempts=number
            )
            answer.settle()
        return turn

    def _new_abort(self, give_up_at_s: float) -> Abort:
        settings = self._settings
        attempt_due_s = monotonic_s() + settings.attempt_s
        due = min((Cut.attempt, attempt_due_s), (Cut.total, give_up_at_s), key=lambda due: due[1])
        abort = Abort(reuse_idle_s=settings.reuse_idle_s, due=due)
        abort.limit(Cut.first_token, settings.first_token_s)
        return abort

    def _read(self, answer: Answer, abort: Abort) -> TurnReader:
        if answer.status != HTTPStatus.OK:
            body = answer.read_start(MAX_ERROR_BYTES)
            judge_status(
                answer.status, answer.headers, body, needs_retry_after=self._api.needs_retry_after
            )
        reader = self._api.reader()
        start, pieces = _peek(answer.pieces())
        # Servers and proxies were seen to label either with the other's type.
        if start == b"<":
            raise Misconfigured(
                "model_no_api",
                "the model's address answers with a web page",
                remedy="write the API's root as base_url, often ending in /v1",
            )
        if start in {b"{", b"["}:
            reader.take_whole(b"".join(pieces))
        else:
            self._read_stream(pieces, reader, abort)
        return reader

    def _read_stream(self, pieces: Iterator[bytes], reader: TurnReader, abort: Abort) -> None:
        """Read until the stream's last word. A stream that breaks off after its finish is whole."""
        is_finished = False
        try:
            for event in _read_events(pieces):
                if reader.take(event) and not is_finished:
                    abort.limit(Cut.between_tokens, self._settings.between_tokens_s)
                if reader.is_over:
                    break
                if reader.draft.finish is not None and not is_finished:
                    is_finished = True
                    abort.limit(Cut.between_tokens, _AFTER_FINISH_S)
        except AttemptFailure:
            if reader.draft.finish is None:
                raise
            return
        if reader.draft.finish is None:
            raise AttemptFailure(
                "model_stream_cut", "the model's stream ended before its answer did"
            )


def _peek(pieces: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """The first byte of a body that says something, b"" for none, and the body from there on."""
    for piece in pieces:
        bare = piece.lstrip(_BLANK)
        if bare:
            return bare[:1], chain([bare], pieces)
    return b"", iter(())


def _read_events(pieces: Iterator[bytes]) -> Iterator[ServerEvent]:
    events = EventReader()
    try:
        for piece in pieces:
            yield from events.feed(piece)
        yield from events.end()
    except UnicodeDecodeError as error:
        raise AttemptFailure("model_bad_stream", "the model's stream is not UTF-8") from error


_NO_USAGE: Final = "the provider reports no usage: tokens are estimated from bytes"


def _bad_finding(code: str, text: str, remedy: str) -> ProbeFinding:
    return ProbeFinding(is_good=False, code=code, text=text, remedy=remedy)
