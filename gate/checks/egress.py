"""The way out of a sandbox: what the allow-list lets through, and that nothing else gets out.

A node of its own gets a small allow-list that names a server of the gate on loopback. The server
counts what reaches it; the sandbox speaks to the proxy by `nc`, byte for byte.
"""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gate.bench import Bench
from gate.lines import Broken, Check, Line, require, try_check
from gate.rig.client import Answered, Sandbox
from gate.rig.node import Node, wait_for

_UPLOAD_BYTES = 20_000
_SAID_WITHIN_S = 10.0
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 15\r\nConnection: close\r\n\r\nfrom the server"
_SETTINGS = """
[egress]
test_only_addresses = ["127.0.0.1", "::1"]
upload_bytes = {upload}
upload_bytes_per_hour = {hourly}
[[egress.allow]]
name = "localhost"
ports = [{port}]
"""


class _Server:
    """Takes connections on loopback, counts them and their bytes, answers each the same."""

    def __init__(self) -> None:
        self.reached = 0
        self.taken = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                self.reached += 1
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(_SAID_WITHIN_S)
            first = connection.recv(65536)
            self.taken += len(first)
            if not first.startswith(b"\x16"):
                connection.sendall(_ANSWER)
                return
            while piece := connection.recv(65536):
                self.taken += len(piece)

    def close(self) -> None:
        self._listening.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """A sandbox with a way out, and the server that it may reach."""

    node: Node
    sandbox: Sandbox
    server: _Server
    digest: str

    def exchange(self, raw: bytes) -> bytes:
        """What the proxy answers to these bytes."""
        self.sandbox.write("/root/said", raw)
        script = "nc -w 1 127.0.0.1 3128 < /root/said"
        return self.sandbox.run("/bin/sh", "-c", script).stdout

    def tunnel(self, first: bytes) -> bytes:
        """The same through a tunnel to the allowed name."""
        head = f"CONNECT localhost:{self.server.port} HTTP/1.1\r\n\r\n".encode()
        return self.exchange(head + first)


@contextlib.contextmanager
def _way_out(bench: Bench) -> Iterator[_Way]:
    server = _Server()
    more = _SETTINGS.format(port=server.port, upload=_UPLOAD_BYTES, hourly=3 * _UPLOAD_BYTES)
    try:
        with bench.side_node(more) as (node, digest):
            node.start()
            sandbox = node.client.create("way-out", digest, network="egress")
            yield _Way(node=node, sandbox=sandbox, server=server, digest=digest)
            node.ensure_running()
            sandbox.delete()
    finally:
        server.close()


def _hello(name: str) -> bytes:
    """The first bytes that a real TLS client sends."""
    context = ssl.create_default_context()
    context.check_hostname = False
    outgoing = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name)
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def _get(name: str, port: int) -> bytes:
    return f"GET http://{name}:{port}/ HTTP/1.1\r\nHost: {name}:{port}\r\n\r\n".encode()


def _allowed(way: _Way) -> str:
    port = way.server.port
    plain = way.exchange(_get("localhost", port))
    require(plain.endswith(b"from the server"), f"a plain request got {plain[:80]!r}")
    before = way.server.taken
    opened = way.tunnel(_hello("localhost"))
    require(opened.startswith(b"HTTP/1.1 200 "), f"a tunnel got {opened[:80]!r}")
    require(way.server.taken > before, "the hello did not arrive")
    return "a plain request and a tunnel reached the server"


def _refused(way: _Way, what: str, *said: bytes) -> str:
    before = way.server.reached
    for raw in said:
        answer = way.exchange(raw)
        require(answer.startswith(b"HTTP/1.1 403 "), f"{what}: {answer[:80]!r}")
    require(way.server.reached == before, f"{what} reached the server")
    return f"{len(said)} tries got 403, none reached the server"


def _other_names(way: _Way) -> str:
    port = way.server.port
    return _refused(
        way,
        "another name or port",
        _get("elsewhere.example", port),
        b"CONNECT elsewhere.example:443 HTTP/1.1\r\n\r\n",
        f"CONNECT localhost:{port + 1} HTTP/1.1\r\n\r\n".encode(),
    )


def _addresses(way: _Way) -> str:
    port = way.server.port
    return _refused(
        way,
        "an address in place of a name",
        _get("127.0.0.1", port),
        f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n".encode(),
        f"CONNECT 2130706433:{port} HTTP/1.1\r\n\r\n".encode(),
        b"GET http://169.254.169.254/ HTTP/1.1\r\nHost: 169.254.169.254\r\n\r\n",
    )


def _server_names(way: _Way) -> str:
    before = way.server.reached
    for first in (_hello("other.example"), b"SSH-2.0-OpenSSH_9\r\n"):
        way.tunnel(first)
    require(way.server.reached == before, "a tunnel carried another name, or no TLS")
    return "TLS to another name and SSH in a tunnel reached nobody"


def _lookups(way: _Way) -> str:
    script = (
        "for at in 127.0.0.1 8.8.8.8 $(sed -n 's/^nameserver //p' /etc/resolv.conf); do"
        " nslookup localhost $at; done 2>&1; ls /sys/class/net 2>/dev/null; cat /proc/net/dev"
    )
    said = way.sandbox.run("/bin/sh", "-c", script, timeout_ms=60_000).stdout
    interfaces = [row.split(b":")[0].strip() for row in said.splitlines() if b": " in row]
    require(b"Address: 127.0.0.1\n" not in said, "a name was resolved inside")
    require(not {b"eth0", b"veth0"} & set(interfaces), f"interfaces: {interfaces}")
    return "no resolver answers inside: names are looked up by the proxy alone"


def _uploads(way: _Way) -> str:
    before, sent = way.server.taken, 0
    address = f"localhost:{way.server.port}"
    size = _UPLOAD_BYTES + 1
    head = f"POST http://{address}/ HTTP/1.1\r\nHost: {address}\r\nContent-Length: {size}\r\n\r\n"
    answer = way.exchange(head.encode() + b"x" * size)
    require(answer.startswith(b"HTTP/1.1 403 "), f"an upload above the cap got {answer[:80]!r}")
    for count, most in ((2, 1), (1, 2), (1, 3), (1, 3), (1, 3)):
        way.tunnel(_hello("localhost") + _record(_UPLOAD_BYTES * 2 // 3) * count)
        sent = way.server.taken - before
        require(sent <= most * _UPLOAD_BYTES, f"{sent} bytes went out with caps of {_UPLOAD_BYTES}")
    require(sent > _UPLOAD_BYTES, f"only {sent} bytes went out: nothing was capped")
    return f"{sent} bytes went out: the caps of one connection and of an hour held"


def _record(size: int) -> bytes:
    """What TLS carries, as far as a proxy can see."""
    return b"\x16\x03\x03" + size.to_bytes(2, "big") + b"x" * size


def _audit(way: _Way) -> str:
    way.exchange(b"CONNECT canary.elsewhere.example:443 HTTP/1.1\r\n\r\n")
    seen = wait_for(lambda: bool(way.node.audit("sandboxd.egress")), within_s=_SAID_WITHIN_S)
    require(seen, "no connection has a line of audit")
    require(not way.node.audit("canary"), "a name that is not allowed stands in the log")
    return f"{len(way.node.audit('sandboxd.egress'))} lines, none with a name that is not allowed"


def _none(way: _Way) -> str:
    closed = way.node.client.create("closed", way.digest)
    try:
        said = closed.run("/bin/sh", "-c", "nc -w 1 127.0.0.1 3128 < /dev/null; echo $?").stdout
    finally:
        closed.delete()
    require(said.strip() == b"1", f"a sandbox without network reached a proxy: {said!r}")
    return "nothing listens in it"


def _missing(way: _Way) -> str:
    way.node.stop()
    way.node.settings_without("egress")
    way.node.start()
    try:
        outcome = way.sandbox.run("/bin/true")
    except Answered as answered:
        state = way.sandbox.state().state
        require(state == "stopped", f"it is {state} all the same")
        return f"refused: {answered.answer.message}"
    raise Broken(f"it ran without its way out being watched: {outcome.ended}")


LINES: tuple[tuple[str, str, Callable[[_Way], str]], ...] = (
    ("egress.allowed", "a name on the allow-list is reached", _allowed),
    ("egress.other-names", "another name or port is refused", _other_names),
    ("egress.addresses", "an address in place of a name is refused", _addresses),
    ("egress.server-names", "a tunnel carries TLS to its own name alone", _server_names),
    ("egress.look-ups", "names cannot be looked up from inside", _lookups),
    ("egress.audit", "each connection has a line, without names that are not allowed", _audit),
    ("egress.none", "a sandbox without network has no way out", _none),
    ("egress.uploads", "uploads stop at their caps", _uploads),
    ("egress.enforced", "without enforcement the sandbox does not start", _missing),
)


def _all(bench: Bench) -> tuple[Line, ...]:
    with _way_out(bench) as way:
        tries = (Check(key=key, claim=claim, run=act) for key, claim, act in LINES)
        return tuple(line for one in tries for line in try_check(one, way))


CHECKS: tuple[Check[Bench], ...] = (
    Check(key="egress", claim="the way out of a sandbox can be tried", run=_all),
)
