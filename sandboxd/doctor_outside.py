"""The doctor's look at what lies outside the node: clock, registries, certificates, the way out."""

import ctypes
import shutil
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

from sandboxd.config import Config, Registry
from sandboxd.faults import Fault
from sandboxd.finding import Finding, judge, warn
from sandboxd.network.policy import find_destination

_CONNECT_WITHIN_S = 3.0
_HTTPS_PORT, _HTTP_PORT = 443, 80
_NOT_SYNCHRONISED = 5
_TIMEX_BYTES = 512
_DAY_S = 86400
_SOON_DAYS = 14


def look_outside(config: Config) -> Iterator[Finding]:
    """All of it; only what the configuration uses."""
    yield _clock()
    yield _mandatory_access_control()
    yield from _registries(config)
    yield from _tls(config)
    yield from _egress(config)


def _clock() -> Finding:
    """Asks the kernel with adjtimex(2), which changes nothing when `modes` is 0."""
    state = ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(_TIMEX_BYTES))
    is_fine = 0 <= state < _NOT_SYNCHRONISED
    return warn(
        "clock",
        is_fine=is_fine,
        message="synchronised" if is_fine else "not synchronised: times in records may be wrong",
        remedy="run a time service, such as chrony",
    )


def _mandatory_access_control() -> Finding:
    enabled = Path("/sys/module/apparmor/parameters/enabled")
    has_apparmor = enabled.exists() and enabled.read_text("ascii").strip() == "Y"
    message = "enabled" if has_apparmor else "not in use: user namespace and seccomp contain alone"
    return Finding(subject="apparmor", level="ok", message=message)


def _registries(config: Config) -> Iterator[Finding]:
    if config.registries:
        for program in ("skopeo", "zstd"):
            yield judge(
                f"program {program}",
                is_fine=shutil.which(program) is not None,
                message=shutil.which(program) or "not found",
                remedy=f"apt install {program}",
            )
    for registry in config.registries:
        problem = _unreachable(registry)
        yield warn(
            f"registry {registry.host}",
            is_fine=not problem,
            message=problem or "answers",
            remedy="images that are here already still work; see that it can be reached",
        )
        if registry.credentials is not None:
            yield _credentials(registry.credentials)


def _unreachable(registry: Registry) -> str:
    host, _, port = registry.host.partition(":")
    default = _HTTP_PORT if registry.plain_http else _HTTPS_PORT
    try:
        with socket.create_connection((host, int(port or default)), timeout=_CONNECT_WITHIN_S):
            return ""
    except OSError as error:
        return f"does not answer ({error.strerror or type(error).__name__})"


def _credentials(file: Path) -> Finding:
    is_fine = file.is_file() and not file.stat().st_mode & 0o027
    return judge(
        "credential file",
        is_fine=is_fine,
        message=f"{file}" if is_fine else f"{file} is missing or open to others",
        remedy="mount it with mode 0400",
    )


def _tls(config: Config) -> Iterator[Finding]:
    if config.tls is None:
        return
    try:
        context = ssl.create_default_context(cafile=config.tls.client_authority)
        context.load_cert_chain(config.tls.certificate, config.tls.key)
        left_days = _days_left(config.tls.certificate)
    except (OSError, ValueError) as error:
        yield judge(
            "tls",
            is_fine=False,
            message=f"a certificate or key cannot be used ({type(error).__name__})",
            remedy="give readable PEM files whose key and certificate belong together",
        )
        return
    yield warn(
        "tls",
        is_fine=left_days > _SOON_DAYS,
        message=f"{len(config.tls.clients)} clients, certificate valid for {left_days:.0f} days",
        remedy="renew the certificate and restart sandboxd",
    )


def _days_left(certificate: Path) -> float:
    """How long the certificate is valid; negative when it no longer is."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(certificate)
    stored = context.get_ca_certs()
    ends = [str(entry["notAfter"]) for entry in stored if "notAfter" in entry]
    if not ends:  # A leaf is not listed as an authority; OpenSSL's own decoder reads it.
        decode = ssl._ssl._test_decode_cert  # type: ignore[attr-defined]  # noqa: SLF001
        ends = [str(decode(str(certificate))["notAfter"])]
    return (ssl.cert_time_to_seconds(ends[0]) - time.time()) / _DAY_S


def _egress(config: Config) -> Iterator[Finding]:
    if config.egress is None:
        yield Finding(subject="egress", level="ok", message="off: sandboxes have no network")
        return
    if config.egress.test_only_addresses:
        yield Finding(
            subject="egress",
            level="warning",
            message="test_only_addresses lets sandboxes reach addresses that are not public",
            remedy="remove it on every node that is not for tests",
        )
    for rule in config.egress.allow:
        if rule.name.startswith("*"):
            continue
        problem = ""
        try:
            find_destination(config.egress, rule.name, rule.ports[0])
        except Fault as fault:
            problem = fault.message
        yield warn(
            f"egress {rule.name}",
            is_fine=not problem,
            message=problem or "resolves to public addresses",
            remedy="correct the name, or see why the node's resolver answers so",
        )
