"""Carries a turn out on the socket: headers, chunks, silence, drips and cuts.

Called by the server's handler once a request has been read and accepted.
"""

import json
from collections.abc import Iterable
from http import HTTPStatus
from http.client import responses
from typing import Any, assert_never

from perlica.demo.model import chat_completions
from perlica.demo.model.conversation import ChatRequest
from perlica.demo.model.exchange import Line, Outcome
from perlica.demo.model.reply import Reply
from perlica.demo.model.turns import (
    CutOff,
    Drip,
    Garbage,
    HeadersThenSilent,
    Held,
    HttpError,
    Silent,
    Turn,
    Unfinished,
)

LAST_CHUNK = b"0\r\n\r\n"
CONTENT_TYPES = {True: "text/event-stream", False: "application/json"}


class Performer:
    """Performs one turn on one line; `pace_s` is the pause between chunks."""

    def __init__(self, line: Line, request: ChatRequest, *, pace_s: float = 0.0) -> None:
        """Take the line."""
        self._line = line
        self._request = request
        self._pace_s = pace_s

    def perform(self, turn: Turn) -> Outcome:
        """Do it; whether the client got an answer or was cut off.

        Raises:
            ClientGone: the client left first.
            ServerStopped: the server ends.
        """
        match turn:
            case Reply():
                self._answer(turn)
            case HttpError():
                self._refuse(turn)
            case Held(reply=reply, released=released):
                self._line.hold(released)
                self._answer(reply)
            case Unfinished(reply=reply, is_done=is_done):
                self._stream(
                    chat_completions.chunks(self._request, reply, has_finish=False, is_done=is_done)
                )
            case Garbage(data=data):
                self._stream([f"data: {data}\n\n".encode(), chat_completions.DONE])
            case CutOff() | Silent() | HeadersThenSilent() | Drip():
                self._leave_hanging(turn)
                return Outcome.cut
            case _:
                assert_never(turn)
        return Outcome.answered

    def _answer(self, reply: Reply) -> None:
        if self._request.stream:
            self._stream(chat_completions.chunks(self._request, reply))
        else:
            self._send_json(HTTPStatus.OK, chat_completions.whole(self._request, reply))

    def _refuse(self, turn: HttpError) -> None:
        headers = turn.headers
        if turn.retry_after_s is not None:
            headers = (*headers, ("Retry-After", str(turn.retry_after_s)))
        body = chat_completions.error(turn.message, kind="server_error")
        self._send_json(turn.status, body, headers)

    def _leave_hanging(self, turn: CutOff | Silent | HeadersThenSilent | Drip) -> None:
        match turn:
            case Silent():
                self._line.pause(None)
            case HeadersThenSilent():
                self._begin_stream()
                self._line.pause(None)
            case Drip():
                self._drip(turn)
            case CutOff():
                self._begin_stream()
                chunks = chat_completions.chunks(self._request, turn.reply)
                for _, chunk in zip(range(turn.after_chunks), chunks, strict=False):
                    self._send_chunk(chunk)
                self._line.hang_up()
            case _:
                assert_never(turn)

    def _drip(self, turn: Drip) -> None:
        self._begin_stream()
        drop = chat_completions.KEEP_ALIVE if turn.what == "keep-alive" else b":"
        while True:
            self._send_chunk(drop)
            self._line.pause(turn.every_s)

    def _stream(self, chunks: Iterable[bytes]) -> None:
        self._begin_stream()
        for chunk in chunks:
            self._send_chunk(chunk)
            if self._pace_s:
                self._line.pause(self._pace_s)
        self._line.send(LAST_CHUNK)

    def _begin_stream(self) -> None:
        headers = (("Transfer-Encoding", "chunked"), ("Cache-Control", "no-cache"))
        self._line.send(head(HTTPStatus.OK, CONTENT_TYPES[True], headers))

    def _send_chunk(self, chunk: bytes) -> None:
        self._line.send(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")

    def _send_json(
        self, status: int, body: dict[str, Any], headers: tuple[tuple[str, str], ...] = ()
    ) -> None:
        self._line.send(json_answer(status, body, headers))


def json_answer(
    status: int, body: dict[str, Any], headers: tuple[tuple[str, str], ...] = ()
) -> bytes:
    """A whole HTTP answer with a JSON body."""
    content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    length = ("Content-Length", str(len(content)))
    return head(status, CONTENT_TYPES[False], (length, *headers)) + content


def head(status: int, content_type: str, headers: tuple[tuple[str, str], ...]) -> bytes:
    """Status line and headers."""
    lines = [
        f"HTTP/1.1 {status} {responses.get(status, '-')}",
        f"Content-Type: {content_type}",
        *(f"{name}: {value}" for name, value in headers),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()
