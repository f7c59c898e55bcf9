"""Checked kinds of values that sections are made of: paths, addresses, QQ numbers, digests.

A check that fails raises a `PydanticCustomError` whose code `problems` turns into a text; no error
carries the value itself, because a credential could have been pasted there.
"""

import ipaddress
import re
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, Field, Strict
from pydantic_core import PydanticCustomError

_MAX_PATH_BYTES: Final = 4096
_INSIDE_SUFFIXES: Final = (".svc", ".svc.cluster.local", ".internal", ".local", ".lan")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_HOST: Final = re.compile(r"[a-zA-Z0-9]([a-zA-Z0-9.:-]{0,251}[a-zA-Z0-9])?")
_NODE: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?")
_MAX_ADDRESS_CODE_POINTS: Final = 500


def _fault(code: str) -> PydanticCustomError:
    return PydanticCustomError(code, code)


def _read_path(value: object) -> object:
    """A path as text; other kinds are left for pydantic to refuse."""
    if not isinstance(value, str):
        return value
    if not value.startswith("/"):
        raise _fault("path_not_absolute")
    if "\0" in value or len(value.encode("utf-8", "surrogateescape")) > _MAX_PATH_BYTES:
        raise _fault("path_bad")
    if ".." in value.split("/"):
        raise _fault("path_has_dots")
    return Path(value)


def is_inside(host: str) -> bool:
    """Whether a host is this machine or a private network, by its name or number alone."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        lowered = host.lower().rstrip(".")
        return "." not in lowered or lowered.endswith(_INSIDE_SUFFIXES)
    return address.is_loopback or address.is_private


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _check_address(value: str, *, plain: str, secure: str) -> str:
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        raise _fault("address_bad") from None
    if parts.scheme not in {plain, secure}:
        raise _fault(f"address_not_{plain}")
    if not parts.hostname or port == 0 or not value.isprintable() or " " in value:
        raise _fault("address_bad")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise _fault("address_with_credentials")
    if parts.scheme == plain and not is_inside(parts.hostname):
        raise _fault(f"address_not_encrypted_{plain}")
    return value.rstrip("/")


def _check_http(value: str) -> str:
    return _check_address(value, plain="http", secure="https")


def _check_ws(value: str) -> str:
    return _check_address(value, plain="ws", secure="wss")


def _check_listen(value: str) -> str:
    host, _, port = value.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 2**16:
        raise _fault("listen_bad")
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        raise _fault("listen_bad") from None
    return value


def _check_host_and_port(value: str) -> str:
    host, _, port = value.rpartition(":")
    is_port = port.isascii() and port.isdigit() and 0 < int(port) < 2**16
    if not is_port or not _HOST.fullmatch(host.strip("[]")):
        raise _fault("host_port_bad")
    return value


def _check_time_zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (KeyError, OSError, ValueError):
        raise _fault("time_zone_unknown") from None
    return value


def _check_one_line(value: str) -> str:
    if not value.strip():
        raise _fault("text_empty")
    if not value.isprintable():
        raise _fault("text_not_one_line")
    return value


def _check_text(value: str) -> str:
    if any(not (c.isprintable() or c in "\n\t\u3000") for c in value):
        raise _fault("text_not_printable")
    return value


def _refuse_placeholder(value: object) -> object:
    """No QQ number is 0: it stands in the example, where only the operator knows the number."""
    if value == 0 and type(value) is int:
        raise _fault("number_of_example")
    return value


def _check_digest(value: str) -> str:
    if not _DIGEST.fullmatch(value):
        raise _fault("digest_bad")
    return value


def _check_node(value: str) -> str:
    if not _NODE.fullmatch(value):
        raise _fault("node_bad")
    return value


AbsolutePath = Annotated[Path, BeforeValidator(_read_path)]
HttpAddress = Annotated[
    str, Field(max_length=_MAX_ADDRESS_CODE_POINTS), AfterValidator(_check_http)
]
WsAddress = Annotated[str, Field(max_length=_MAX_ADDRESS_CODE_POINTS), AfterValidator(_check_ws)]
ListenAddress = Annotated[
    str, Field(max_length=_MAX_ADDRESS_CODE_POINTS), AfterValidator(_check_listen)
]
HostAndPort = Annotated[
    str, Field(max_length=_MAX_ADDRESS_CODE_POINTS), AfterValidator(_check_host_and_port)
]
TimeZoneName = Annotated[str, Field(max_length=60), AfterValidator(_check_time_zone)]
Word = Annotated[str, Field(max_length=200), AfterValidator(_check_one_line)]
Paragraphs = Annotated[str, Field(max_length=8_000), AfterValidator(_check_text)]

Digest = Annotated[str, AfterValidator(_check_digest)]
NodeName = Annotated[str, AfterValidator(_check_node)]
QqNumber = Annotated[
    int, Strict(), Field(ge=10_000, le=99_999_999_999), BeforeValidator(_refuse_placeholder)
]
"""QQ numbers of people and groups have 5 to 11 digits."""
Seconds = Annotated[float, Strict(), Field(allow_inf_nan=False)]
Whole = Annotated[int, Strict()]
