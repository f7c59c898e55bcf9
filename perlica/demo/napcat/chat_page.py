"""The chat page of the demo: serves the group in a browser and takes what its members do there.

Loopback only; foreign Host headers (DNS rebinding) and foreign or tokenless POSTs are refused.
"""

import hmac
import json
import logging
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeVar

import bottle
from cheroot import wsgi
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from perlica.demo.napcat import segments
from perlica.demo.napcat.drawing import draw_connection, draw_message, draw_state
from perlica.demo.napcat.listener import LOOPBACK
from perlica.demo.napcat.message import Message
from perlica.demo.napcat.segments import Segment
from perlica.demo.napcat.stand_in import NapCatStandIn

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from _typeshed import OptExcInfo

FOLDER = Path(__file__).parent / "page"
LONGEST_TEXT_CHARS = 30_000
KEEP_ALIVE_S = 10.0
RECONNECT_MS = 1_000
LOOK_S = 0.1
"""How often the server looks whether it is to stop."""
THREADS = 24
"""Every open page holds one thread for its feed."""
PROOF_HEADER = "X-Demo-Page"
PROOF_PLACE = "{{page_proof}}"
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class _Wire(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class TextPart(_Wire):
    """Typed text."""

    kind: Literal["text"]
    text: str = Field(max_length=LONGEST_TEXT_CHARS)


class MentionPart(_Wire):
    """A mention of a member; 0 is everybody."""

    kind: Literal["mention"]
    user_id: int


Part = Annotated[TextPart | MentionPart, Field(discriminator="kind")]


class Say(_Wire):
    """A member says something, perhaps in reply to a message."""

    group_id: int
    user_id: int
    parts: tuple[Part, ...] = Field(min_length=1, max_length=100, strict=False)
    reply_to: str | None = None


class PickMessage(_Wire):
    """A message to recall or to deliver again."""

    id: str


Asked = TypeVar("Asked", bound=_Wire)


class ChatPage:
    """Serves one stand-in on a loopback port of its own."""

    def __init__(self, napcat: NapCatStandIn, port: int = 0) -> None:
        """Bind; port 0 takes a free one. `start` begins to serve."""
        self._napcat = napcat
        self._proof = secrets.token_urlsafe(32)
        self._run = secrets.token_hex(8)
        self._server = wsgi.Server(
            (LOOPBACK, port), _guarded(self._app()), numthreads=THREADS, shutdown_timeout=2
        )
        self._server.error_log = _log  # type: ignore[method-assign]  # cheroot's documented hook
        self._server.expiration_interval = LOOK_S
        self._server.prepare()
        self.port: int = self._server.bind_addr[1]
        self._thread = threading.Thread(target=self._server.serve, name="napcat-page", daemon=True)

    @property
    def url(self) -> str:
        """Where a person finds the page."""
        return f"http://{LOOPBACK}:{self.port}/"

    def start(self) -> Self:
        """Serve."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop serving; open feeds end because the stand-in's feed is closed first."""
        self._napcat.feed.close()
        self._server.stop()
        self._thread.join()

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

    def _app(self) -> bottle.Bottle:
        app = bottle.Bottle()
        app.add_hook("before_request", self._check)
        app.route("/", "GET", self._index)
        app.route("/api/state", "GET", self._state)
        app.route("/api/feed", "GET", self._feed)
        app.route("/api/say", "POST", self._say)
        app.route("/api/recall", "POST", self._recall)
        app.route("/api/redeliver", "POST", self._redeliver)
        app.route("/<name:re:[a-z]+\\.(?:css|js|svg)>", "GET", _serve_file)
        return app

    def _check(self) -> None:
        """Only this page, under this name, may ask; writing also needs its proof."""
        request = bottle.request
        host = request.headers.get("Host", "")
        if host not in {f"{LOOPBACK}:{self.port}", f"localhost:{self.port}"}:
            raise _refusal(403, "unknown host")
        if request.method not in {"GET", "HEAD", "POST"}:
            raise _refusal(405, "unknown method")
        if request.method == "POST":
            self._check_post(host)

    def _check_post(self, host: str) -> None:
        headers = bottle.request.headers
        is_ours = (
            headers.get("Origin") == f"http://{host}"
            and headers.get("Sec-Fetch-Site", "same-origin") == "same-origin"
            and hmac.compare_digest(headers.get(PROOF_HEADER, "").encode(), self._proof.encode())
            and bottle.request.content_type.startswith("application/json")
        )
        if not is_ours:
            raise _refusal(403, "not from this page")

    def _index(self) -> str:
        bottle.response.content_type = "text/html; charset=UTF-8"
        return (FOLDER / "index.html").read_text("utf-8").replace(PROOF_PLACE, self._proof)

    def _state(self) -> dict[str, Any]:
        return {**draw_state(self._napcat), "run": self._run}

    def _feed(self) -> Iterator[bytes]:
        bottle.response.content_type = "text/event-stream; charset=UTF-8"
        run, _, number = (
            bottle.request.headers.get("Last-Event-ID") or bottle.request.query.get("after", "")
        ).partition("-")
        if run != self._run or not number.isdecimal():
            return iter([_event("reload", {}, "")])
        return self._entries_after(int(number))

    def _entries_after(self, number: int) -> Iterator[bytes]:
        yield f"retry: {RECONNECT_MS}\n\n".encode()
        while not self._napcat.feed.is_closed:
            entries = self._napcat.feed.wait_after(number, KEEP_ALIVE_S)
            if not entries:
                yield b": keep-alive\n\n"
            elif entries[0].number > number + 1:
                # The page slept through more than the feed keeps.
                yield _event("reload", {}, "")
                return
            for entry in entries:
                number = entry.number
                drawn = self._draw(entry.fields.get("kernel_id"))
                yield _event(entry.kind, drawn, f"{self._run}-{number}")

    def _draw(self, kernel_id: str | None) -> dict[str, Any]:
        if kernel_id is None:
            return draw_connection(self._napcat)
        return draw_message(self._napcat, self._message(kernel_id))

    def _say(self) -> dict[str, Any]:
        asked = _read(Say)
        group = next(
            (g for g in self._napcat.kernel.account.groups if g.group_id == asked.group_id), None
        )
        if group is None or group.find(asked.user_id) is None:
            raise _refusal(404, "no such member")
        message = self._napcat.say(
            asked.user_id,
            [_segment(part) for part in asked.parts],
            group=asked.group_id,
            reply_to=None if asked.reply_to is None else self._message(asked.reply_to),
        )
        return {"id": message.kernel_id}

    def _recall(self) -> dict[str, Any]:
        self._napcat.recall(self._message(_read(PickMessage).id))
        return {}

    def _redeliver(self) -> dict[str, Any]:
        self._napcat.redeliver(self._message(_read(PickMessage).id))
        return {}

    def _message(self, kernel_id: str) -> Message:
        message = self._napcat.kernel.history.find(kernel_id)
        if message is None:
            raise _refusal(404, "no such message")
        return message


def _guarded(app: bottle.Bottle) -> "WSGIApplication":
    """The application with our security headers on every answer, errors and files included."""

    def answer(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        def start(
            status: str, headers: list[tuple[str, str]], failure: "OptExcInfo | None" = None, /
        ) -> Callable[[bytes], object]:
            return start_response(status, [*headers, *HEADERS.items()], failure)

        answered: Iterable[bytes] = app(environ, start)
        return answered

    return answer


def _segment(part: TextPart | MentionPart) -> Segment:
    if isinstance(part, TextPart):
        return segments.text(part.text)
    return segments.at(part.user_id or "all")


def _read(kind: type[Asked]) -> Asked:
    try:
        return kind.model_validate_json(bottle.request.body.read())
    except ValidationError as error:
        raise _refusal(400, f"{error.error_count()} wrong fields") from error


def _refusal(status: int, text: str) -> bottle.HTTPResponse:
    return bottle.HTTPResponse(text, status, headers={"Content-Type": "text/plain"})


def _serve_file(name: str) -> bottle.HTTPResponse:
    return bottle.static_file(name, root=FOLDER)


def _event(kind: str, fields: dict[str, Any], number: str) -> bytes:
    head = f"id: {number}\n" if number else ""
    return f"{head}event: {kind}\ndata: {json.dumps(fields, ensure_ascii=False)}\n\n".encode()


def _log(msg: str = "", level: int = logging.INFO, traceback: bool = False) -> None:  # noqa: FBT001, FBT002 - cheroot's signature
    logging.getLogger(__name__).log(level, msg, exc_info=traceback)
