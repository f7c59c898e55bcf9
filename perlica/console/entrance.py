"""Who may look: a viewer with a token and then a cookie, or a user whom the trusted proxy names.

Tokens and cookies are compared by digest and appear in no log and no address. Behind a proxy that
knows the shared secret no login is needed; the proxy must set both headers itself.
"""

import hmac
import logging
from dataclasses import dataclass, field

from perlica.console.attempts import Attempts
from perlica.console.sessions import SessionBook
from perlica.console.settings import ConsoleSettings
from perlica.stores.database import Database
from perlica.stores.viewers import ViewerStore, digest_token

PROXY_SECRET_HEADER = "X-Perlica-Proxy-Secret"  # noqa: S105 - a header's name
PROXY_USER_HEADER = "X-Perlica-User"
MAX_TOKEN_CODE_POINTS = 200
_MAX_USER_CODE_POINTS = 64

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Somebody who may look. `has_session` says whether there is a login to end."""

    name: str
    has_session: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """What a request brings along."""

    address: str
    cookie: str = field(default="", repr=False)
    proxy_secret: str = field(default="", repr=False)
    proxy_user: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginRefused:
    """A login that failed; `wait_s` is above 0 when the address has failed too often."""

    wait_s: float = 0.0


class Entrance:
    """Knows visitors, and logs viewers in and out."""

    def __init__(self, settings: ConsoleSettings) -> None:
        """Nobody is logged in yet."""
        self._proxy_secret = settings.proxy_secret
        self._sessions = SessionBook(settings.session_ms)
        self._attempts = Attempts(most=settings.login_failures, wait_s=settings.login_wait_s)

    def recognise(self, database: Database, credentials: Credentials) -> Visitor | None:
        """The visitor; None for everybody who has to log in first."""
        if credentials.proxy_secret:
            return self._recognise_proxy(credentials)
        viewer_id = self._sessions.find(credentials.cookie) if credentials.cookie else None
        if viewer_id is None:
            return None
        viewer = ViewerStore(database).find_living(viewer_id)
        if viewer is None:
            self._sessions.close(credentials.cookie)
            return None
        return Visitor(name=viewer.name, has_session=True)

    def log_in(self, database: Database, token: str, address: str) -> str | LoginRefused:
        """The cookie of a new session, or why there is none."""
        wait_s = self._attempts.left_s(address)
        if wait_s > 0:
            return LoginRefused(wait_s=wait_s)
        viewer = None
        if 0 < len(token) <= MAX_TOKEN_CODE_POINTS:
            viewer = ViewerStore(database).find_by_token(digest_token(token))
        if viewer is None:
            self._attempts.note_failure(address)
            _log.warning("login at the console refused", extra={"reason": "bad_token"})
            return LoginRefused()
        self._attempts.note_success(address)
        _log.info("login at the console", extra={"actor": f"viewer:{viewer.id}"})
        return self._sessions.open(viewer.id)

    def log_out(self, cookie: str) -> None:
        """End the cookie's session."""
        self._sessions.close(cookie)

    def _recognise_proxy(self, credentials: Credentials) -> Visitor | None:
        expected = self._proxy_secret
        given, user = credentials.proxy_secret, credentials.proxy_user.strip()
        if expected is None or self._attempts.left_s(f"proxy:{credentials.address}") > 0:
            return None
        if not hmac.compare_digest(expected.encode(), given.encode("utf-8", "replace")):
            self._attempts.note_failure(f"proxy:{credentials.address}")
            _log.warning("login at the console refused", extra={"reason": "bad_proxy_secret"})
            return None
        return Visitor(name=user[:_MAX_USER_CODE_POINTS], has_session=False) if user else None
