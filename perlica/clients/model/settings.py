"""How a model is reached: addresses, the key's place, and finite limits with their units.

Made by `perlica.app` from the configuration; read by the clients.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from perlica.domain.errors import Misconfigured
from perlica.domain.plan import JsonValue

MAX_KEY_BYTES = 8_192
_RESERVED = frozenset({"model", "messages", "tools", "tool_choice", "stream", "system"})


class Api(StrEnum):
    """Which API the server speaks."""

    openai = "openai"
    anthropic = "anthropic"


class Dialect(StrEnum):
    """How thinking is replayed over the OpenAI-compatible API (docs/facts/models.md).

    `deepseek`: every assistant turn carries `reasoning_content`, empty if there was none. `kimi`:
    every turn with tool calls does. `none`: never. `auto`: by the server's name, else as soon as
    the server itself has sent some.
    """

    auto = "auto"
    deepseek = "deepseek"
    kimi = "kimi"
    none = "none"


class MaxTokensField(StrEnum):
    """The name of the field that bounds the answer; `auto` by the server's name."""

    auto = "auto"
    max_tokens = "max_tokens"
    max_completion_tokens = "max_completion_tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """Everything a client needs; every limit is finite.

    `base_url` is the API's root (`https://api.example.com/v1`; for Anthropic without `/v1`). The
    key is read at each use, so that it can be changed without a restart: from `key` if given, else
    from `key_file`, else none is sent. `extra_body` adds fields to each request, such as
    `{"enable_thinking": false}`.

    Deadlines of one attempt: `connect_s` for name, TCP and TLS each; `first_token_s` until the
    model says its first token, whatever keep-alives come; `between_tokens_s` between two;
    `attempt_s` for all of it. `total_s` bounds all attempts and the waits between them.

    Raises: Misconfigured for a value that could never work.
    """

    base_url: str
    model: str
    api: Api = Api.openai
    key_file: Path | None = None
    key: Callable[[], str] | None = field(default=None, repr=False)
    dialect: Dialect = Dialect.auto
    max_tokens_field: MaxTokensField = MaxTokensField.auto
    max_output_tokens: int = 8_192
    temperature: float | None = None
    asks_for_usage: bool = True
    extra_body: Mapping[str, JsonValue] = field(default_factory=dict)
    ca_file: Path | None = None
    allows_plain_http: bool = False
    connect_s: float = 10.0
    first_token_s: float = 120.0
    between_tokens_s: float = 60.0
    attempt_s: float = 300.0
    total_s: float = 600.0
    reuse_idle_s: float = 30.0
    max_attempts: int = 4
    backoff_base_s: float = 1.0
    backoff_cap_s: float = 30.0
    max_response_bytes: int = 32 * 1024 * 1024
    max_text_bytes: int = 1024 * 1024
    max_argument_bytes: int = 256 * 1024
    max_calls: int = 32

    def __post_init__(self) -> None:
        """Refuse what could never work, with the field's name and what to write."""
        parts = urlsplit(self.base_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise _bad("base_url", "an address such as https://api.example.com/v1")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise _bad("base_url", "an address without user, query or fragment")
        if parts.scheme == "http" and not (self.allows_plain_http or _is_loopback(parts.hostname)):
            raise _bad(
                "base_url", "https://, or allow plain HTTP for a server on a trusted network"
            )
        if not self.model:
            raise _bad("model", "the model's name")
        if _RESERVED & set(self.extra_body):
            raise _bad("extra_body", "no " + ", ".join(sorted(_RESERVED & set(self.extra_body))))
        for name, value in self._limits():
            if not 0 < value < float("inf"):
                raise _bad(name, "a finite number above zero")

    def _limits(self) -> tuple[tuple[str, float], ...]:
        names = (
            "connect_s first_token_s between_tokens_s attempt_s total_s reuse_idle_s max_attempts "
            "backoff_base_s backoff_cap_s max_output_tokens max_response_bytes max_text_bytes "
            "max_argument_bytes max_calls"
        )
        return tuple((name, float(getattr(self, name))) for name in names.split())

    @property
    def host(self) -> str:
        """The server's name in lower case."""
        return (urlsplit(self.base_url).hostname or "").lower()

    @property
    def is_tls(self) -> bool:
        """Whether the server is reached over TLS."""
        return urlsplit(self.base_url).scheme == "https"

    def url(self, path: str) -> str:
        """The address of `path` below the API's root."""
        return f"{self.base_url.rstrip('/')}/{path.lstrip('/')}"

    def read_key(self) -> str | None:
        """The key as it is now, or None when none is configured; never kept.

        Raises: Misconfigured when it cannot be read or is not one line of printable ASCII.
        """
        if self.key is not None:
            return _checked_key(self.key())
        if self.key_file is None:
            return None
        try:
            with self.key_file.open("rb") as file:
                raw = file.read(MAX_KEY_BYTES + 1)
        except OSError as error:
            raise Misconfigured(
                "model_key_unreadable",
                f"the model's key file cannot be read ({type(error).__name__})",
                remedy="write the key into the model's key_file, readable by this user",
            ) from error
        return _checked_key(raw.decode("ascii", "replace"))

    @property
    def effective_dialect(self) -> Dialect:
        """The dialect, `auto` resolved where the server's name tells."""
        if self.dialect is not Dialect.auto:
            return self.dialect
        if _is_within(self.host, "deepseek.com"):
            return Dialect.deepseek
        if _is_within(self.host, "moonshot.cn", "moonshot.ai", "kimi.com"):
            return Dialect.kimi
        return Dialect.auto

    @property
    def effective_max_tokens_field(self) -> str:
        """The name of the field that bounds the answer."""
        if self.max_tokens_field is not MaxTokensField.auto:
            return self.max_tokens_field
        if self.effective_dialect is Dialect.kimi or _is_within(self.host, "openai.com"):
            return MaxTokensField.max_completion_tokens
        return MaxTokensField.max_tokens


def _checked_key(raw: str) -> str:
    key = raw.strip()
    if (
        not key
        or len(key) > MAX_KEY_BYTES
        or not key.isascii()
        or not key.isprintable()
        or " " in key
    ):
        raise Misconfigured(
            "model_key_malformed",
            "the model's key is not one line of printable ASCII",
            remedy="write the key alone into its file",
        )
    return key


def _is_within(host: str, *domains: str) -> bool:
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _bad(name: str, wanted: str) -> Misconfigured:
    return Misconfigured(
        "model_settings", f"model.{name} cannot work: write {wanted}", remedy=wanted
    )
