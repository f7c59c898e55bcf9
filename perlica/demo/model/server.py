"""The HTTP side of both models: keys, paths, request checks, records; the thinking is a parameter.

`RehearsalModel` and `ScriptedModel` are this server with a brain and with a script.
"""

import hmac
import itertools
import json
import socket
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self, cast

from pydantic import ValidationError

from perlica.demo.model import chat_completions
from perlica.demo.model.conversation import BadConversation, ChatRequest, check_conversation
from perlica.demo.model.exchange import ClientGone, Exchange, Line, Outcome, ServerStopped, Stopper
from perlica.demo.model.performer import Performer, json_answer
from perlica.demo.model.turns import Turn

LOOPBACK = "127.0.0.1"
LARGEST_REQUEST_BYTES = 32 * 1024 * 1024
STOP_LOOK_S = 0.05
PATIENCE_S = 45.0

Brain = Callable[[ChatRequest, dict[str, Any]], Turn]
"""From a checked request and its raw JSON to what is done about it."""


class NothingHappened(AssertionError):
    """What a test waited for did not happen in time."""


class ModelServer:
    """An OpenAI-compatible server on loopback. `api_key=""` asks for no key."""

    def __init__(
        self,
        brain: Brain,
        *,
        models: tuple[str, ...],
        api_key: str = "",
        port: int = 0,
        pace_s: float = 0.0,
        demands_reasoning: bool = False,
    ) -> None:
        """Bind; `start` begins to serve. `pace_s` is the pause between chunks of a stream."""
        self.models = models
        self.api_key = api_key
        self.pace_s = pace_s
        self.demands_reasoning = demands_reasoning
        self._http = _HttpServer(self, port)
        self.stopper = Stopper()
        self._brain = brain
        self._numbers = itertools.count(1)
        self._changed = threading.Condition()
        self._exchanges: list[Exchange] = []
        self._thread = threading.Thread(
            target=self._http.serve_forever, args=(STOP_LOOK_S,), name="model", daemon=True
        )

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._http.server_address[1])

    @property
    def base_url(self) -> str:
        """What goes into a client's configuration, without a slash at the end."""
        return f"http://{LOOPBACK}:{self.port}/v1"

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """Every request to the chat path and its fate, oldest first."""
        with self._changed:
            return tuple(self._exchanges)

    @property
    def requests(self) -> tuple[dict[str, Any], ...]:
        """The parsed JSON of every request to the chat path, oldest first."""
        return tuple(exchange.request for exchange in self.exchanges)

    def start(self) -> Self:
        """Serve."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """End every answer, connection and thread."""
        self.stopper.set()
        self._http.shutdown()
        self._http.hang_up_all()
        self._http.server_close()
        self._thread.join()
        self.stopper.close()

    def __enter__(self) -> Self:
        """Start."""
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop."""
        self.stop()

    def wait_for_request(self, number: int = 1, within_s: float = PATIENCE_S) -> dict[str, Any]:
        """The JSON of the `number`-th request since the start.

        Raises:
            NothingHappened: there were fewer in time.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._exchanges) >= number, within_s):
                raise NothingHappened(
                    f"{len(self._exchanges)} requests within {within_s} s instead of {number}"
                )
            return self._exchanges[number - 1].request

    def wait_for_disconnect(self, within_s: float = PATIENCE_S, *, number: int = 1) -> None:
        """Wait until the client closed the connection of its `number`-th request unanswered.

        Raises:
            NothingHappened: it did not in time.
        """
        deadline = time.monotonic() + within_s
        self.wait_for_request(number, within_s)
        exchange = self.exchanges[number - 1]
        if not exchange.disconnected.wait(max(deadline - time.monotonic(), 0)):
            raise NothingHappened(f"request {number} is {exchange.outcome}, not disconnected")

    def record(self, path: str, headers: dict[str, str], request: dict[str, Any]) -> Exchange:
        """Note a request; called by the handler."""
        with self._changed:
            exchange = Exchange(
                number=next(self._numbers), path=path, headers=headers, request=request
            )
            self._exchanges.append(exchange)
            self._changed.notify_all()
        return exchange

    def answer(self, exchange: Exchange, line: Line) -> None:
        """Check the request, think, perform; called by the handler."""
        try:
            request = ChatRequest.model_validate(exchange.request)
            check_conversation(request, demands_reasoning=self.demands_reasoning)
        except ValidationError as error:
            wrong = [".".join(str(part) for part in fault["loc"]) for fault in error.errors()]
            self._refuse(exchange, line, f"wrong fields: {', '.join(wrong)}")
            return
        except BadConversation as error:
            self._refuse(exchange, line, str(error))
            return
        turn = self._brain(request, exchange.request)
        exchange.outcome = Performer(line, request, pace_s=self.pace_s).perform(turn)

    def _refuse(self, exchange: Exchange, line: Line, message: str) -> None:
        line.send(json_answer(HTTPStatus.BAD_REQUEST, chat_completions.error(message)))
        exchange.outcome = Outcome.answered


class _HttpServer(ThreadingHTTPServer):
    """Knows its open connections, so that a stop can end them."""

    daemon_threads = False

    def __init__(self, model: ModelServer, port: int) -> None:
        self.model = model
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()
        super().__init__((LOOPBACK, port), _Handler)

    def opened(self, sock: socket.socket) -> None:
        with self._open_lock:
            self._open.add(sock)
            if self.model.stopper.is_set:
                Line(sock, self.model.stopper).hang_up()

    def closed(self, sock: socket.socket) -> None:
        with self._open_lock:
            self._open.discard(sock)

    def hang_up_all(self) -> None:
        with self._open_lock:
            for sock in self._open:
                Line(sock, self.model.stopper).hang_up()


class _Handler(BaseHTTPRequestHandler):
    """One connection; every answer is written by a Line, never by the base class."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    @property
    def _home(self) -> _HttpServer:
        return cast("_HttpServer", self.server)

    def setup(self) -> None:
        """Note the connection."""
        super().setup()
        self._home.opened(self.connection)

    def finish(self) -> None:
        """Forget it."""
        self._home.closed(self.connection)
        super().finish()

    def handle(self) -> None:
        """Serve requests until the client goes or the server stops."""
        try:
            super().handle()
        except (ClientGone, ServerStopped, ConnectionError):
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing: stderr belongs to whoever runs the demo."""

    def do_GET(self) -> None:
        """GET /v1/models."""
        if self._is_admitted() and self._is_known("/v1/models"):
            entries = [
                {"id": name, "object": "model", "owned_by": "perlica-demo"}
                for name in self._home.model.models
            ]
            self._send(HTTPStatus.OK, {"object": "list", "data": entries})

    def do_POST(self) -> None:
        """POST /v1/chat/completions."""
        body = self._read_body()
        if body is None or not self._is_admitted():
            return
        if not self._is_known(chat_completions.PATH):
            return
        try:
            request = json.loads(body)
        except ValueError:
            request = None
        if not isinstance(request, dict):
            self._send(HTTPStatus.BAD_REQUEST, chat_completions.error("the body is no JSON object"))
            return
        self._exchange(request)

    def _exchange(self, request: dict[str, Any]) -> None:
        model = self._home.model
        headers = {name.lower(): value for name, value in self.headers.items()}
        exchange = model.record(self.path, headers, request)
        try:
            model.answer(exchange, self._line())
        except ClientGone:
            exchange.outcome = Outcome.disconnected
            exchange.disconnected.set()
            self.close_connection = True
        except ServerStopped:
            exchange.outcome = Outcome.stopped
            self.close_connection = True
        if exchange.outcome is Outcome.cut:
            self.close_connection = True

    def _read_body(self) -> bytes | None:
        digits = self.headers.get("Content-Length", "")
        if not digits.isdecimal() or int(digits) > LARGEST_REQUEST_BYTES:
            self.close_connection = True
            self._send(HTTPStatus.LENGTH_REQUIRED, chat_completions.error("no usable length"))
            return None
        return self.rfile.read(int(digits))

    def _is_admitted(self) -> bool:
        key = self._home.model.api_key
        given = self.headers.get("Authorization", "")
        if not key or hmac.compare_digest(given.encode(), f"Bearer {key}".encode()):
            return True
        refusal = chat_completions.error("wrong API key", kind="authentication_error")
        self._send(HTTPStatus.UNAUTHORIZED, refusal)
        return False

    def _is_known(self, path: str) -> bool:
        if self.path.partition("?")[0] == path:
            return True
        self._send(HTTPStatus.NOT_FOUND, chat_completions.error(f"no such path: {self.path}"))
        return False

    def _send(self, status: int, body: dict[str, Any]) -> None:
        self._line().send(json_answer(status, body))

    def _line(self) -> Line:
        return Line(self.connection, self._home.model.stopper)
