"""What a console has to know; the composition root makes it from the configuration."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from perlica.console.parts import PartStatus
from perlica.domain.actions import ActionCatalog
from perlica.domain.texts import Language

if TYPE_CHECKING:
    from perlica.console.pages.spec import PageSpec

_LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
_DEFAULT_PORTS = {"http": 80, "https": 443}


def _no_parts() -> Sequence[PartStatus]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleSettings:
    """Where it listens, who is let in, how it speaks. Port 0 takes a free one (for tests).

    `public_url` is what browsers see, `https://…` behind a proxy with TLS; `proxy_secret` lets that
    proxy vouch for its users. `parts` says how the service is, each time anew.
    """

    host: str = "127.0.0.1"
    port: int = 0
    public_url: str = ""
    proxy_secret: str | None = field(default=None, repr=False)
    idle_ms: int = 7 * 86_400_000
    """How long a sandbox may be idle at most; it was made with this time or a longer one."""
    session_ms: int = 12 * 3_600_000
    login_failures: int = 10
    login_wait_s: float = 60.0
    refresh_s: float = 2.0
    threads: int = 4
    language: Language = Language.zh
    zone: tzinfo = UTC
    parts: Callable[[], Sequence[PartStatus]] = field(default=_no_parts, repr=False)
    actions: ActionCatalog = field(default_factory=lambda: ActionCatalog(()), repr=False)
    """What actions and the fields of their plans are called."""
    more_pages: "tuple[PageSpec, ...]" = field(default=(), repr=False)
    """Pages from outside, behind those of the console."""
    off: frozenset[str] = frozenset()
    """Capabilities that are switched off: their pages leave the navigation."""

    @property
    def is_behind_tls(self) -> bool:
        """Whether browsers reach it through TLS, so that cookies must be Secure."""
        return urlsplit(self.public_url).scheme == "https"

    def origins(self, port: int) -> frozenset[str]:
        """The addresses, such as `http://127.0.0.1:8450`, under which it may be asked."""
        own = {f"http://{name}:{port}" for name in (*_LOOPBACK_NAMES, self.host)}
        if not self.public_url:
            return frozenset(own)
        parts = urlsplit(self.public_url)
        public = {f"{parts.scheme}://{parts.netloc}"}
        if parts.port == _DEFAULT_PORTS.get(parts.scheme):
            public.add(f"{parts.scheme}://{parts.hostname}")
        return frozenset(own | public) if self.host in _LOOPBACK_NAMES else frozenset(public)
