"""The console as a WSGI application: pages, login and logout, files.

Each request reads one moment of the database: who asks is looked up in it, then the page is made of
it, or taken from the snapshots if somebody has just asked for the same.
"""

import logging
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Any, Final

import bottle

from perlica.console.asked import Asked, read_query, safe_path
from perlica.console.entrance import Entrance, LoginRefused
from perlica.console.files import StaticFiles
from perlica.console.frame import Frame
from perlica.console.incoming import (
    LANGUAGE_COOKIE,
    THEME_COOKIE,
    comes_from,
    known_tag,
    read_asked,
    read_changes,
    read_credentials,
    read_login,
    session_cookie_name,
    wants_part,
)
from perlica.console.pages.context import NotFound, PageContext
from perlica.console.pages.find import Found
from perlica.console.pages.listed import with_more
from perlica.console.pages.spec import Maker
from perlica.console.reader import Reader
from perlica.console.rendering import Templates
from perlica.console.settings import ConsoleSettings
from perlica.console.snapshots import Snapshot, Snapshots
from perlica.domain.errors import PerlicaError, Retryable
from perlica.stores.database import Database

_YEAR_S: Final = 31_536_000
_STATIC_AGE: Final = f"public, max-age={_YEAR_S}, immutable"

_log = logging.getLogger(__name__)


class Console:
    """The application; `app` is what the server calls."""

    def __init__(self, settings: ConsoleSettings, reader: Reader, origins: frozenset[str]) -> None:
        """Make the routes. `origins` are the addresses that login forms may come from.

        Raises: Misconfigured when two pages have one name, address or template.
        """
        self._settings = settings
        self._reader = reader
        self._origins = origins
        self._files = StaticFiles()
        self._pages = with_more(settings.more_pages)
        more = {name: text for page in self._pages for name, text in page.templates.items()}
        self._frame = Frame(
            settings=settings, templates=Templates(more), files=self._files, pages=self._pages
        )
        self._entrance = Entrance(settings)
        self._snapshots = Snapshots()
        self.app = self._make_app()

    def _make_app(self) -> bottle.Bottle:
        app = bottle.Bottle()
        for page in self._pages:
            for path, maker in page.routes.items():
                app.route(path, "GET", partial(self._answer, partial(self._show, maker)))
        app.route("/login", "GET", partial(self._answer, self._show_login))
        app.route("/login", "POST", partial(self._answer, self._log_in))
        app.route("/logout", "POST", partial(self._answer, self._log_out))
        app.route("/static/<name:re:[a-z]+\\.[a-z]+>", "GET", self._send_file)
        for status in (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED):
            app.error(int(status))(self._explain_missing)
        app.error(int(HTTPStatus.INTERNAL_SERVER_ERROR))(self._explain_fault)
        return app

    def _answer(
        self, handle: Callable[..., bottle.HTTPResponse], **arguments: str
    ) -> bottle.HTTPResponse:
        """Any answer but files: settings of the address first, expected failures as pages."""
        asked = read_asked(self._settings)
        if bottle.request.method != "POST" and read_changes():
            return self._keep_settings(asked)
        try:
            return handle(asked, **arguments)
        except Found as found:
            return _redirect(found.path)
        except NotFound:
            return self._error(asked, HTTPStatus.NOT_FOUND, "error.not_found", "error.gone")
        except PerlicaError as error:
            _log.warning("the console cannot read the database", extra={"code": error.code})
            return self._unavailable(asked, error)

    # --- pages ------------------------------------------------------------------------------

    def _show(self, page: Maker, asked: Asked, **arguments: str) -> bottle.HTTPResponse:
        with self._reader.moment() as database:
            visitor = self._entrance.recognise(database, read_credentials(self._settings))
            if visitor is None:
                return self._ask_to_log_in(asked)
            key = f"{asked.language}|{asked.link()}"
            make = partial(self._make, page, asked, database, arguments)
            snapshot = self._snapshots.take(key, make)
        if not wants_part():
            return _html(self._frame.render_page(asked, snapshot, visitor), snapshot.status)
        if known_tag() == snapshot.tag:
            return bottle.HTTPResponse(status=int(HTTPStatus.NOT_MODIFIED), ETag=snapshot.tag)
        return _html(self._frame.render_part(asked, snapshot), ETag=snapshot.tag)

    def _make(
        self, page: Maker, asked: Asked, database: Database, arguments: dict[str, str]
    ) -> Snapshot:
        context = PageContext(
            asked=asked,
            database=database,
            wording=self._frame.wording(asked.language),
            settings=self._settings,
        )
        return self._frame.take_snapshot(context, page(context, **arguments))

    def _ask_to_log_in(self, asked: Asked) -> bottle.HTTPResponse:
        if wants_part():
            return _text(HTTPStatus.UNAUTHORIZED, "log in first")
        next_path = safe_path(asked.link())
        return _redirect(
            "/login" if next_path == "/" else Asked(path="/login").link(next=next_path)
        )

    # --- login and logout -------------------------------------------------------------------

    def _show_login(self, asked: Asked) -> bottle.HTTPResponse:
        next_path = safe_path(asked.get("next"))
        with self._reader.moment() as database:
            if self._entrance.recognise(database, read_credentials(self._settings)):
                return _redirect(next_path)
        return _html(self._frame.render_login(asked, message="", next_path=next_path))

    def _log_in(self, asked: Asked) -> bottle.HTTPResponse:
        if not comes_from(self._origins):
            return self._error(asked, HTTPStatus.FORBIDDEN, "login.foreign")
        form, address = read_login(), read_credentials(self._settings).address
        with self._reader.moment() as database:
            outcome = self._entrance.log_in(database, form.token, address)
        if isinstance(outcome, LoginRefused):
            return self._refuse_login(asked, outcome, safe_path(form.next_path))
        answer = _redirect(safe_path(form.next_path))
        answer.set_cookie(
            session_cookie_name(self._settings),
            outcome,
            **self._cookie_rules(),
            httponly=True,
            max_age=self._settings.session_ms // 1000,
        )
        return answer

    def _refuse_login(
        self, asked: Asked, refused: LoginRefused, next_path: str
    ) -> bottle.HTTPResponse:
        say, wait_s = self._frame.wording(asked.language).say, int(refused.wait_s) + 1
        is_too_often = refused.wait_s > 0
        message = say("login.wait", seconds=wait_s) if is_too_often else say("login.wrong")
        page = self._frame.render_login(asked, message=message, next_path=next_path)
        if is_too_often:
            return _html(page, HTTPStatus.TOO_MANY_REQUESTS, **{"Retry-After": str(wait_s)})
        return _html(page, HTTPStatus.FORBIDDEN)

    def _log_out(self, asked: Asked) -> bottle.HTTPResponse:
        if not comes_from(self._origins):
            return self._error(asked, HTTPStatus.FORBIDDEN, "login.foreign")
        self._entrance.log_out(read_credentials(self._settings).cookie)
        answer = _redirect("/login")
        answer.set_cookie(
            session_cookie_name(self._settings),
            "",
            **self._cookie_rules(),
            httponly=True,
            max_age=0,
        )
        return answer

    def _keep_settings(self, asked: Asked) -> bottle.HTTPResponse:
        """Language and theme go into cookies, and the address is asked for again without them."""
        answer = _redirect(safe_path(asked.link()))
        kept = {LANGUAGE_COOKIE: asked.language.value, THEME_COOKIE: asked.theme.value}
        for name, value in kept.items():
            answer.set_cookie(name, value, **self._cookie_rules(), httponly=True, max_age=_YEAR_S)
        return answer

    def _cookie_rules(self) -> dict[str, Any]:
        """Lax: a link from a chat finds the viewer logged in; what changes anything is a POST."""
        return {"path": "/", "samesite": "Lax", "secure": self._settings.is_behind_tls}

    # --- files and failures -----------------------------------------------------------------

    def _send_file(self, name: str) -> bottle.HTTPResponse:
        file = self._files.find(name)
        if file is None:
            return _text(HTTPStatus.NOT_FOUND, "no such file")
        is_named_exactly = read_query(bottle.request.query_string).get("v") == self._files.version
        age = _STATIC_AGE if is_named_exactly else "no-cache"
        headers = {"Content-Type": file.kind, "Cache-Control": age}
        return bottle.HTTPResponse(file.content, int(HTTPStatus.OK), headers)

    def _unavailable(self, asked: Asked, error: PerlicaError) -> bottle.HTTPResponse:
        say = self._frame.wording(asked.language).say
        is_busy = isinstance(error, Retryable)
        text = say("error.busy") if is_busy else say("error.database", reason=error.code)
        page = self._frame.render_error(asked, text)
        return _html(page, HTTPStatus.SERVICE_UNAVAILABLE, **{"Retry-After": "5"})

    def _error(
        self, asked: Asked, status: HTTPStatus, text: str, hint: str = ""
    ) -> bottle.HTTPResponse:
        say = self._frame.wording(asked.language).say
        page = self._frame.render_error(asked, say(text), say(hint) if hint else "")
        return _html(page, status)

    def _explain_missing(self, error: bottle.HTTPError) -> bottle.HTTPResponse:
        status = HTTPStatus(error.status_code)
        is_method = status is HTTPStatus.METHOD_NOT_ALLOWED
        text = "error.method" if is_method else "error.not_found"
        return self._error(read_asked(self._settings), status, text)

    def _explain_fault(self, error: bottle.HTTPError) -> bottle.HTTPResponse:
        """A fault of ours: the log gets its traceback, the page none of it."""
        _log.error("a page of the console failed", exc_info=error.exception)
        asked = read_asked(self._settings)
        return self._error(asked, HTTPStatus.INTERNAL_SERVER_ERROR, "error.internal")


def _html(page: str, status: int = HTTPStatus.OK, **headers: str) -> bottle.HTTPResponse:
    # A lone half of a surrogate pair cannot be sent; `to_html` has shown those in values already.
    body = page.encode("utf-8", "replace")
    return bottle.HTTPResponse(
        body, int(status), {"Content-Type": "text/html; charset=utf-8", **headers}
    )


def _text(status: HTTPStatus, text: str) -> bottle.HTTPResponse:
    return bottle.HTTPResponse(f"{text}\n", int(status), {"Content-Type": "text/plain"})


def _redirect(path: str) -> bottle.HTTPResponse:
    return bottle.HTTPResponse("", int(HTTPStatus.SEE_OTHER), {"Location": path})
