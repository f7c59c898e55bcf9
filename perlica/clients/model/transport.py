"""One HTTP request over `requests`: no redirects, no environment, no cookies, bounded bytes.

Used by `perlica.clients.model.exchange` for each attempt. `requests.Session` is left out on
purpose: it reads netrc and proxies from the environment, and reads the whole body of a redirect
that it does not follow.
"""

import http.client
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

import requests
import urllib3
from requests.adapters import HTTPAdapter
from requests.utils import DEFAULT_CA_BUNDLE_PATH
from urllib3.util.ssl_ import create_urllib3_context

from perlica.clients.model.abort import Abort, Cut
from perlica.clients.model.attempt_failure import AttemptFailure
from perlica.clients.model.dialing import TetheredPool, TetheredTlsPool, tethered
from perlica.clients.model.settings import ModelSettings
from perlica.domain.clock import monotonic_s
from perlica.domain.errors import Cancelled, Misconfigured, Refused

_PIECE_BYTES = 65_536
_SETTLE_S = 0.05
_SETTLE_READS = 4
_LIBRARY_ERRORS = (
    requests.RequestException,
    urllib3.exceptions.HTTPError,
    http.client.HTTPException,
    OSError,
)


class TetheredAdapter(HTTPAdapter):
    """Hands out connections that an abort can cut, all with one TLS context."""

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self._context = context
        super().__init__(pool_connections=1, pool_maxsize=2, max_retries=0)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - requests' own
        """Make the pool manager use tethered pools."""
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {"http": TetheredPool, "https": TetheredTlsPool}

    def build_connection_pool_key_attributes(
        self,
        request: requests.PreparedRequest,
        verify: Any,  # noqa: ANN401 - requests' signature
        cert: Any = None,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401 - a private type of requests
        """Always verify, with our context."""
        host, _ = super().build_connection_pool_key_attributes(request, verify, cert)
        return host, {"ssl_context": self._context, "cert_reqs": "CERT_REQUIRED"}

    def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:  # noqa: ANN401
        """Leave the pool alone: the context holds the certificates, read once."""


class Answer:
    """A response whose headers came: read its body in pieces, or whole up to a limit."""

    def __init__(self, response: requests.Response, abort: Abort, limit_bytes: int) -> None:
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self.received_bytes = 0
        self._raw = response.raw
        self._abort = abort
        self._limit_bytes = limit_bytes

    @property
    def media_type(self) -> str:
        """The content type without parameters, in lower case."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def pieces(self) -> Iterator[bytes]:
        """The body as it arrives.

        Raises: Refused when it is longer than the limit; Misconfigured when it is compressed;
        AttemptFailure, Cancelled as `translated` does.
        """
        if self.headers.get("content-encoding", "identity").strip().lower() not in {"", "identity"}:
            raise Misconfigured(
                "model_encoded_answer",
                "the model's server compresses although it was asked not to",
                remedy="turn compression off in the proxy before the model",
            )
        while piece := self._read():
            self.received_bytes += len(piece)
            if self.received_bytes > self._limit_bytes:
                raise Refused("model_answer_too_large", "the model's answer is too long")
            yield piece

    def read_start(self, most_bytes: int) -> bytes:
        """The first bytes of the body, at most `most_bytes`; what there is when it breaks off."""
        start = b""
        with suppress(AttemptFailure, Refused, Misconfigured):
            for piece in self.pieces():
                start += piece
                if len(start) >= most_bytes:
                    break
        return start[:most_bytes]

    def settle(self) -> None:
        """Read the end of the body if it is there already, so that the connection can be kept."""
        sock = self._abort.connection.sock if self._abort.connection else None
        if sock is None:
            return
        with suppress(*_LIBRARY_ERRORS):
            sock.settimeout(_SETTLE_S)
            for _ in range(_SETTLE_READS):
                if not self._raw.read1(_PIECE_BYTES, decode_content=False):
                    return

    def _read(self) -> bytes:
        with translated(self._abort):
            piece: bytes = self._raw.read1(_PIECE_BYTES, decode_content=False)
        if not piece:
            raise_if_cut(self._abort)
        return piece


class Transport:
    """Sends requests to one server and keeps its connections."""

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        self._adapter = TetheredAdapter(_make_context(settings) if settings.is_tls else None)

    @contextmanager
    def send(
        self, path: str, headers: Mapping[str, str], body: bytes | None, abort: Abort
    ) -> Iterator[Answer]:
        """POST `body` (GET without one) and yield the answer when its headers came.

        The connection is kept if the body was read to its end, and closed otherwise.

        Raises: AttemptFailure, Cancelled, Misconfigured: see `translated`.
        """
        settings = self._settings
        request = requests.Request(
            "GET" if body is None else "POST",
            settings.url(path),
            headers={"User-Agent": "perlica", "Accept-Encoding": "identity", **headers},
            data=body,
        ).prepare()
        with tethered(abort, settings.connect_s):
            with translated(abort):
                response = self._adapter.send(
                    request, stream=True, timeout=(settings.connect_s, settings.attempt_s)
                )
            try:
                yield Answer(response, abort, settings.max_response_bytes)
            finally:
                _release(response, abort)

    def close(self) -> None:
        """Close idle connections."""
        self._adapter.close()


def _release(response: requests.Response, abort: Abort) -> None:
    connection = abort.connection
    if connection is not None and connection.sock is not None:
        connection.idle_since_s = monotonic_s()
    with suppress(*_LIBRARY_ERRORS):
        response.close()


@contextmanager
def translated(abort: Abort) -> Iterator[None]:
    """Turn the library's errors into ours; a cut explains every error that came after it.

    Raises:
        Cancelled: the token was set.
        AttemptFailure: a deadline passed, or the connection failed.
        Misconfigured: the server's certificate is not trusted, or the address is none.
    """
    try:
        yield
    except _LIBRARY_ERRORS as error:
        raise_if_cut(abort, error)
        if _was_untrusted(error):
            raise Misconfigured(
                "model_tls_untrusted",
                "the certificate of the model's server is not trusted",
                remedy="give the authority's certificate as the model's ca_file",
            ) from error
        if isinstance(error, requests.exceptions.InvalidURL):
            raise Misconfigured("model_settings", "the model's base_url is no address") from error
        kind = type(error).__name__
        raise AttemptFailure(
            _name_failure(error),
            f"the connection to the model failed ({kind})",
            is_stale=abort.is_reused,
        ) from error


def raise_if_cut(abort: Abort, cause: BaseException | None = None) -> None:
    """Raise what the cut of an attempt means, if it was cut.

    Raises: Cancelled when its owner cut it, AttemptFailure when a deadline did.
    """
    match abort.was_cut:
        case None:
            return
        case Cut.cancelled:
            raise Cancelled("cancelled", "the task was cancelled") from cause
        case Cut.total:
            raise AttemptFailure(
                "model_total_deadline", "the model took too long altogether"
            ) from cause
        case late:
            raise AttemptFailure(
                f"model_{late}_deadline", f"the model missed a deadline ({late})"
            ) from cause


_FAILURES: Final[tuple[tuple[type[BaseException], str], ...]] = (
    (socket.gaierror, "model_dns"),
    (ssl.SSLError, "model_tls"),
    (ConnectionRefusedError, "model_connection_refused"),
    (TimeoutError, "model_connect_deadline"),
)
"""What a failed connection is called, by what lies below the library's error."""


def _name_failure(error: BaseException) -> str:
    causes = tuple(_causes(error))
    for kind, code in _FAILURES:
        if any(isinstance(cause, kind) for cause in causes):
            return code
    return "model_unreachable"


def _was_untrusted(error: BaseException) -> bool:
    """Whether a certificate check failed somewhere below `error`."""
    return any(isinstance(cause, ssl.SSLCertVerificationError) for cause in _causes(error))


def _causes(error: BaseException) -> Iterator[BaseException]:
    """`error` and everything below it, each once."""
    seen: set[int] = set()
    pending: list[object] = [error]
    while pending:
        item = pending.pop()
        if isinstance(item, BaseException) and id(item) not in seen:
            yield item
            seen.add(id(item))
            pending += [item.__cause__, item.__context__, getattr(item, "reason", None), *item.args]


def _make_context(settings: ModelSettings) -> ssl.SSLContext:
    context = create_urllib3_context(cert_reqs=ssl.CERT_REQUIRED)
    try:
        context.load_verify_locations(str(settings.ca_file or DEFAULT_CA_BUNDLE_PATH))
    except OSError as error:
        raise Misconfigured(
            "model_ca_unreadable",
            f"the model's ca_file cannot be read ({type(error).__name__})",
            remedy="write the path of a PEM file with the authority's certificate",
        ) from error
    return context
