"""What every request passes before it reaches a page, and every answer on its way out.

Only addresses of ours are answered (DNS rebinding), only GET and HEAD, and POST for login and
logout. Answers carry the headers that keep a browser from running, framing or keeping anything.
"""

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from perlica.console.settings import ConsoleSettings

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from _typeshed import OptExcInfo

READING: Final = frozenset({"GET", "HEAD"})
POSTING_PATHS: Final = frozenset({"/login", "/logout"})
CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS: Final = (
    ("Content-Security-Policy", CONTENT_SECURITY_POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    # Not no-referrer: with it browsers send `Origin: null` from our own login form.
    ("Referrer-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    ("X-Robots-Tag", "noindex, nofollow"),
)
_STRICT_TRANSPORT: Final = ("Strict-Transport-Security", "max-age=31536000")
_NOT_KEPT: Final = ("Cache-Control", "no-store")

_log = logging.getLogger(__name__)


def guarded(
    app: "WSGIApplication", settings: ConsoleSettings, origins: frozenset[str]
) -> "WSGIApplication":
    """The application behind the gate. `origins` are the addresses it may be asked under."""
    hosts = frozenset(origin.partition("://")[2].lower() for origin in origins)
    headers = (*_HEADERS, _STRICT_TRANSPORT) if settings.is_behind_tls else _HEADERS

    def answer(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        def start(
            status: str, given: list[tuple[str, str]], failure: "OptExcInfo | None" = None, /
        ) -> Callable[[bytes], object]:
            own = {name.lower() for name, _ in given}
            kept = [] if "cache-control" in own else [_NOT_KEPT]
            return start_response(status, [*given, *kept, *headers], failure)

        # Bottle writes tracebacks there, past the log's protection; `application` logs them.
        environ["wsgi.errors"] = _Nowhere()
        if str(environ.get("HTTP_HOST", "")).lower() not in hosts:
            return _refuse(start, "403 Forbidden", "unknown host")
        allowed = _allowed_methods(str(environ.get("PATH_INFO", "")))
        if environ["REQUEST_METHOD"] not in allowed:
            allow = ("Allow", ", ".join(sorted(allowed)))
            return _refuse(start, "405 Method Not Allowed", "this console only reads", allow)
        return app(environ, start)

    return answer


def _allowed_methods(path: str) -> frozenset[str]:
    return READING | {"POST"} if path in POSTING_PATHS else READING


def _refuse(
    start: Callable[..., Any], status: str, text: str, *more: tuple[str, str]
) -> Iterable[bytes]:
    body = f"{text}\n".encode()
    length = ("Content-Length", str(len(body)))
    start(status, [("Content-Type", "text/plain; charset=utf-8"), length, *more])
    return [body]


class _Nowhere:
    """A text stream that keeps nothing."""

    def write(self, text: str) -> int:
        """Take it."""
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Take them."""

    def flush(self) -> None:
        """Nothing to do."""
