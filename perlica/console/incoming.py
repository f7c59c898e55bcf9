"""From Bottle's request to our own values; the only module that reads one."""

from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl

import bottle

from perlica.console.asked import SETTINGS, Asked, Theme, read_query
from perlica.console.entrance import PROXY_SECRET_HEADER, PROXY_USER_HEADER, Credentials
from perlica.console.settings import ConsoleSettings
from perlica.domain.texts import Language

LANGUAGE_COOKIE: Final = "perlica_lang"
THEME_COOKIE: Final = "perlica_theme"
PART_HEADER: Final = "X-Console-Part"
MAX_FORM_BYTES: Final = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginForm:
    """What the login page sends."""

    token: str = field(repr=False)
    next_path: str


def session_cookie_name(settings: ConsoleSettings) -> str:
    """The session's cookie; behind TLS browsers hold its prefix to Secure, our host and path."""
    return "__Host-perlica_console" if settings.is_behind_tls else "perlica_console"


def read_asked(settings: ConsoleSettings) -> Asked:
    """The address, and how its page is to look."""
    request = bottle.request
    query = read_query(request.query_string)
    language = query.pop("lang", "") or request.get_cookie(LANGUAGE_COOKIE, "")
    theme = query.pop("theme", "") or request.get_cookie(THEME_COOKIE, "")
    return Asked(
        path=request.path,
        query=query,
        language=Language(language) if language in set(Language) else settings.language,
        theme=Theme(theme) if theme in set(Theme) else Theme.auto,
    )


def read_changes() -> dict[str, str]:
    """The parameters of the address that change how pages look."""
    query = read_query(bottle.request.query_string)
    return {name: query[name] for name in SETTINGS if name in query}


def read_credentials(settings: ConsoleSettings) -> Credentials:
    """What could let the visitor in."""
    request = bottle.request
    return Credentials(
        address=request.environ.get("REMOTE_ADDR", ""),
        cookie=request.get_cookie(session_cookie_name(settings), ""),
        proxy_secret=_header(PROXY_SECRET_HEADER),
        proxy_user=_header(PROXY_USER_HEADER),
    )


def read_login() -> LoginForm:
    """The login form, damaged or oversized ones as empty."""
    body = bottle.request.body.read(MAX_FORM_BYTES + 1)
    if len(body) > MAX_FORM_BYTES:
        return LoginForm(token="", next_path="/")
    try:
        pairs = dict(parse_qsl(body.decode("utf-8", "replace"), max_num_fields=10))
    except ValueError:
        pairs = {}
    return LoginForm(token=pairs.get("token", "").strip(), next_path=pairs.get("next", "/"))


def wants_part() -> bool:
    """Whether an open page asks for what has changed in it."""
    return bool(_header(PART_HEADER) == "live")


def comes_from(origins: frozenset[str]) -> bool:
    """Whether a POST comes from a page of ours, as far as the browser says anything."""
    origin, site = _header("Origin"), _header("Sec-Fetch-Site")
    return (not origin or origin.lower() in origins) and site in {"", "same-origin", "none"}


def known_tag() -> str:
    """The ETag of what the asking page shows."""
    return _header("If-None-Match")


def _header(name: str) -> str:
    """A header as text: what is no UTF-8 in it is replaced."""
    value: str = bottle.request.environ.get(f"HTTP_{name.upper().replace('-', '_')}", "")
    return value.encode("latin-1", "replace").decode("utf-8", "replace")
