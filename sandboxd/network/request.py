"""The head of a proxy request: CONNECT, or a plain request with an absolute address (RFC 9112)."""

import re
from dataclasses import dataclass

from sandboxd.faults import Refused

_CONNECT = re.compile(r"CONNECT (?P<name>[^\s:/@]+):(?P<port>[0-9]{1,5}) HTTP/1\.[01]")
_PLAIN = re.compile(
    r"(?P<method>[A-Z]{1,16}) http://(?P<name>[^\s:/@?#]+)(:(?P<port>[0-9]{1,5}))?"
    r"(?P<path>[/?][\x21-\x7e]*)? HTTP/1\.[01]"
)
_HOP_BY_HOP = {
    *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization"),
    *("proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"),
}
_NEVER_HOP_BY_HOP = {"host", "content-length"}
"""Taken out, they would leave the server another request than the one that was checked here."""
_DEFAULT_PORT = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyRequest:
    """Where it wants to go. For a plain request `head` is what goes out, `body_bytes` follow."""

    name: str
    port: int
    is_tunnel: bool
    head: bytes = b""
    body_bytes: int = 0


def parse_request(raw: bytes) -> ProxyRequest:
    """Parses a head that ends with an empty line. Raises: Refused."""
    try:
        first, *lines = raw.decode("ascii").removesuffix("\r\n\r\n").split("\r\n")
    except UnicodeDecodeError:
        raise Refused("the request is not ASCII") from None
    tunnel = _CONNECT.fullmatch(first)
    if tunnel is not None:
        return ProxyRequest(name=_name(tunnel["name"]), port=int(tunnel["port"]), is_tunnel=True)
    plain = _PLAIN.fullmatch(first)
    if plain is None:
        raise Refused("only CONNECT and plain requests with a whole http:// address are taken")
    return _plain_request(plain, lines)


def _plain_request(plain: re.Match[str], lines: list[str]) -> ProxyRequest:
    name, port = _name(plain["name"]), int(plain["port"] or _DEFAULT_PORT)
    headers = [_header(line) for line in lines]
    hosts = [value.lower() for key, value in headers if key == "host"]
    expected = {name if port == _DEFAULT_PORT else f"{name}:{port}", f"{name}:{port}"}
    if len(hosts) != 1 or hosts[0] not in expected:
        raise Refused("the Host header names another server than the address")
    lengths = [value for key, value in headers if key == "content-length"]
    has_odd_length = len(lengths) > 1 or not all(re.fullmatch("[0-9]{1,15}", n) for n in lengths)
    if has_odd_length or any(key == "transfer-encoding" for key, _ in headers):
        raise Refused("a body must come with one Content-Length")
    named = {word.strip().lower() for k, v in headers if k == "connection" for word in v.split(",")}
    if named & _NEVER_HOP_BY_HOP:
        raise Refused("the Connection header names a header that the server needs")
    path = plain["path"] or "/"
    kept = [f"{k}: {v}" for k, v in headers if k not in _HOP_BY_HOP and k not in named]
    origin = path if path.startswith("/") else f"/{path}"
    head = "\r\n".join((f"{plain['method']} {origin} HTTP/1.1", *kept, "connection: close", "", ""))
    return ProxyRequest(
        name=name,
        port=port,
        is_tunnel=False,
        head=head.encode("ascii"),
        body_bytes=int(lengths[0]) if lengths else 0,
    )


def _name(text: str) -> str:
    return text.lower().removesuffix(".")


def _header(line: str) -> tuple[str, str]:
    key, colon, value = line.partition(":")
    if not colon or not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", key):
        raise Refused("a header line is damaged")
    if re.search(r"[\x00-\x08\x0a-\x1f\x7f]", value):
        raise Refused("a header line holds a control character")
    return key.lower(), value.strip()
