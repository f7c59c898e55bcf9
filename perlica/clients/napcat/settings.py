"""How to reach NapCat and when to give up on it; checked before anything connects.

Made by the configuration; the defaults are those of facts A1 to A4, A14 and A16.
"""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from perlica.domain.errors import Misconfigured
from perlica.domain.ids import GroupId, UserId

_DEFAULT_PORTS = {"ws": 80, "wss": 443}
_LARGEST_PORT = 65_535


@dataclass(frozen=True, slots=True, kw_only=True)
class CatchUpSettings:
    """How far back a reconnect reads the group's history."""

    page_messages: int = 50
    max_messages: int = 1_000
    max_age_s: float = 86_400.0
    overlap_messages: int = 20
    """Read this far behind the last known message too: NapCat delivers batches out of order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NapCatSettings:
    """One NapCat, one account, one group.

    `url` is where we dial (`ws://` or `wss://`), or, with `reverse`, where we listen for NapCat to
    dial us. `ca_file` replaces the system's authorities for `wss://`.

    Raises: Misconfigured, when made, for an empty token or an address that cannot work.
    """

    url: str
    token: str = field(repr=False)
    group_id: GroupId
    self_id: UserId
    reverse: bool = False
    ca_file: Path | None = None
    connect_within_s: float = 5.0
    lifecycle_within_s: float = 10.0
    ping_every_s: float = 20.0
    dead_after_s: float = 60.0
    io_timeout_s: float = 1.0
    """How long one read or write may block: bounds how late a stop is noticed."""
    call_within_s: float = 10.0
    backoff_first_s: float = 0.5
    backoff_cap_s: float = 30.0
    refused_retry_s: float = 300.0
    """After a refused token: one try in this time, so that an operator's mistake is no attack."""
    recheck_s: float = 60.0
    not_ready_retry_s: float = 10.0
    offline_hold_s: float = 30.0
    """After `bot_offline` heartbeats still say online for a while."""
    removed_hold_s: float = 60.0
    """After a sign of removal: a member list that lags behind must start no flood of refusals."""
    frame_limit_bytes: int = 8 * 1024 * 1024
    settle_within_s: float = 5.0
    """How long sending waits for intake to store what was read back."""
    queue_patience_s: float = 5.0
    """How long the reader waits for room before it reconnects to catch up."""
    catch_up: CatchUpSettings = field(default_factory=CatchUpSettings)

    def __post_init__(self) -> None:
        """Refuse what could only fail later."""
        _check_token(self.token)
        _check_address(self.address, reverse=self.reverse)

    @property
    def address(self) -> SplitResult:
        """The parts of `url`."""
        try:
            return urlsplit(self.url)
        except ValueError:
            raise _bad_address("is no address") from None

    @property
    def host(self) -> str:
        """The host to dial or to listen on."""
        return self.address.hostname or ""

    @property
    def port(self) -> int:
        """The port, 80 or 443 where `url` names none."""
        port = self.address.port
        return _DEFAULT_PORTS[self.address.scheme] if port is None else port

    @property
    def is_tls(self) -> bool:
        """Whether the connection is encrypted."""
        return self.address.scheme == "wss"


def _check_token(token: str) -> None:
    if not token:
        raise Misconfigured(
            "napcat_token_empty",
            "napcat: the token is empty",
            remedy="Set a token in NapCat and put the same one into the token file: "
            "without it anybody who reaches the port speaks as any member.",
        )
    if not token.isascii() or not token.isprintable() or " " in token:
        raise Misconfigured(
            "napcat_token_bad",
            "napcat: the token holds characters that no HTTP header can carry",
            remedy="Use letters, digits and punctuation only, on one line.",
        )


def _check_address(address: SplitResult, *, reverse: bool) -> None:
    if address.scheme not in _DEFAULT_PORTS or not address.hostname:
        raise _bad_address("must be ws://HOST:PORT or wss://HOST:PORT")
    try:
        port = address.port
    except ValueError:
        raise _bad_address(f"has a port above {_LARGEST_PORT}") from None
    if address.username is not None or address.password is not None:
        raise _bad_address("must not hold a user or password")
    if address.query or address.fragment:
        raise _bad_address("must not hold a query: the token travels in a header")
    if not reverse and address.path.rstrip("/") == "/api":
        raise _bad_address("ends in /api, where NapCat sends no events")
    if reverse and (address.scheme != "ws" or port is None):
        raise _bad_address("must be ws://HOST:PORT to listen on")


def _bad_address(text: str) -> Misconfigured:
    return Misconfigured("napcat_url", f"napcat: url {text}", remedy="Example: ws://127.0.0.1:3001")
