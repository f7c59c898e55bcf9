"""The rules of the way out, without a node: names, addresses, TLS hellos, request heads."""

import ssl

import pytest

from sandboxd.config import Egress
from sandboxd.faults import Refused, Retryable
from sandboxd.network.hello import server_name
from sandboxd.network.policy import check_name, find_destination, is_reachable
from sandboxd.network.request import parse_request

EGRESS = Egress.model_validate(
    {
        "allow": [
            {"name": "pypi.example", "ports": [443]},
            {"name": "*.mirror.example", "ports": [80, 443]},
            {"name": "localhost", "ports": [443]},
        ],
        "forbidden_networks": ["8.8.4.0/24", "2600:1f00::/24"],
    }
)


def hello_for(name: str | None) -> bytes:
    """The first bytes that a real TLS client sends."""
    context = ssl.create_default_context()
    context.check_hostname = False
    outgoing = ssl.MemoryBIO()
    tls = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    return outgoing.read()


@pytest.mark.parametrize(
    ("name", "port"),
    [("pypi.example", 443), ("a.mirror.example", 80), ("a.b.mirror.example", 443)],
)
def test_names_on_the_list_are_allowed_with_their_ports(name: str, port: int) -> None:
    check_name(EGRESS, name, port)


@pytest.mark.parametrize(
    ("name", "port"),
    [
        ("pypi.example", 80),
        ("pypi.example", 22),
        ("evil.example", 443),
        ("pypi.example.evil.example", 443),
        ("xpypi.example", 443),
        ("mirror.example", 443),
        ("xmirror.example", 443),
        ("127.0.0.1", 443),
        ("", 443),
        ("x" * 64 + ".mirror.example", 443),
        ("..mirror.example", 443),
        (f"{'x.' * 130}mirror.example", 443),
    ],
)
def test_everything_else_is_refused(name: str, port: int) -> None:
    with pytest.raises(Refused, match=r"allow-list|no name"):
        check_name(EGRESS, name, port)


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.8.8.8", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1"),
        *("169.254.169.254", "100.100.100.200", "100.64.0.1", "168.63.129.16", "192.0.0.192"),
        *("224.0.0.1", "255.255.255.255", "240.0.0.1", "198.18.0.1", "192.0.2.1", "8.8.4.4"),
        *("::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1"),
        *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:8.8.4.4"),
        *("64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808"),
        *("2002:7f00:1::", "2002:a00:1::1", "2001:0:7f00:1::", "::127.0.0.1", "::8.8.8.8"),
        *("::ffff:0:127.0.0.1", "2001:db8::1", "2600:1f00::1", "not an address", ""),
    ],
)
def test_an_address_that_is_not_public_is_never_reached(address: str) -> None:
    assert not is_reachable(EGRESS, address)


@pytest.mark.parametrize(
    "address",
    [*("8.8.8.8", "1.1.1.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808")],
)
def test_public_addresses_are_reached(address: str) -> None:
    assert is_reachable(EGRESS, address)


def test_an_allowed_name_that_leads_to_the_node_is_refused() -> None:
    with pytest.raises(Refused, match="not public"):
        find_destination(EGRESS, "localhost", 443)


def test_an_allowed_name_that_does_not_exist_can_be_tried_again() -> None:
    with pytest.raises(Retryable, match="does not resolve"):
        find_destination(EGRESS, "no-such-host.mirror.example", 443)


def test_the_name_in_a_real_hello_is_found_whatever_the_pieces() -> None:
    hello = hello_for("PyPI.example")

    found = [server_name(hello[:size]) for size in range(len(hello) + 1)]

    assert set(found[:-1]) == {None}
    assert found[-1] == "pypi.example"


def test_a_hello_in_many_small_records_is_put_together() -> None:
    message = hello_for("pypi.example")[5:]
    pieces = [message[at : at + 50] for at in range(0, len(message), 50)]
    records = b"".join(b"\x16\x03\x01" + len(p).to_bytes(2, "big") + p for p in pieces)

    assert server_name(records) == "pypi.example"


def test_a_hello_without_a_name_is_refused() -> None:
    with pytest.raises(Refused, match="does not name one server"):
        server_name(hello_for(None))


def test_a_hello_that_hides_the_name_is_refused() -> None:
    hello = bytearray(hello_for("pypi.example"))
    at = hello.index(b"\x00\x17\x00\x00")  # extended_master_secret becomes an encrypted hello.
    hello[at : at + 2] = b"\xfe\x0d"

    with pytest.raises(Refused, match="may hide"):
        server_name(bytes(hello))


@pytest.mark.parametrize(
    "raw",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"SSH-2.0-OpenSSH_9\r\n",
        b"\x15\x03\x01\x00\x02\x02\x28",
        b"\x16\x03\x01\xff\xff",
        b"\x16\x03\x01\x00\x04\x02\x00\x00\x00",
        b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00",
        b"\x16\x03\x01\x00\x04\x01\xff\xff\xff",
    ],
)
def test_what_is_no_hello_is_refused(raw: bytes) -> None:
    with pytest.raises(Refused):
        server_name(raw)


def test_every_cut_and_flipped_hello_is_refused_or_incomplete_and_never_crashes() -> None:
    hello = hello_for("pypi.example")
    for at in range(len(hello)):
        changed = bytearray(hello)
        changed[at] ^= 0xFF
        try:
            found = server_name(bytes(changed))
        except Refused:
            continue
        assert found is None or isinstance(found, str)


def test_a_plain_request_goes_out_without_what_belongs_to_the_proxy() -> None:
    request = parse_request(
        b"POST http://a.mirror.example/x?y=1 HTTP/1.1\r\nHost: a.mirror.example\r\n"
        b"Proxy-Authorization: secret\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\n"
        b"Upgrade: websocket\r\nContent-Length: 3\r\nAccept: */*\r\n\r\n"
    )

    assert (request.name, request.port, request.body_bytes) == ("a.mirror.example", 80, 3)
    assert request.head == (
        b"POST /x?y=1 HTTP/1.1\r\nhost: a.mirror.example\r\ncontent-length: 3\r\naccept: */*\r\n"
        b"connection: close\r\n\r\n"
    )


@pytest.mark.parametrize(
    "raw",
    [
        b"GET / HTTP/1.1\r\nHost: a.mirror.example\r\n\r\n",
        b"GET http://a.mirror.example/ HTTP/1.1\r\nHost: b.mirror.example\r\n\r\n",
        b"GET http://a.mirror.example/ HTTP/1.1\r\n\r\n",
        b"GET http://a.mirror.example/ HTTP/1.1\r\nHost: a.mirror.example\r\nHost: x\r\n\r\n",
        b"GET http://user@a.mirror.example/ HTTP/1.1\r\nHost: a.mirror.example\r\n\r\n",
        b"GET https://a.mirror.example/ HTTP/1.1\r\nHost: a.mirror.example\r\n\r\n",
        b"GET ftp://a.mirror.example/ HTTP/1.1\r\nHost: a.mirror.example\r\n\r\n",
        (
            b"GET http://a.mirror.example/ HTTP/1.1\r\nHost: a.mirror.example\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        ),
        (
            b"GET http://a.mirror.example/ HTTP/1.1\r\nHost: a.mirror.example\r\n"
            b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n"
        ),
        b"GET http://a.mirror.example/ HTTP/1.1\r\nHost: a.mirror.example\r\nX : y\r\n\r\n",
        b"GET http://a.mirror.example/ HTTP/1.1\r\nHost: a.mirror.example\r\nX: a\nb: c\r\n\r\n",
        (
            b"GET http://a.mirror.example/ HTTP/1.1\r\nHost: a.mirror.example\r\n"
            b"Connection: close, Host\r\n\r\n"
        ),
        b"CONNECT pypi.example HTTP/1.1\r\n\r\n",
        b"CONNECT pypi.example:443 HTTP/2\r\n\r\n",
        b"CONNECT [::1]:443 HTTP/1.1\r\n\r\n",
        b"\xff\xfe\r\n\r\n",
        b"\r\n\r\n",
    ],
)
def test_odd_requests_are_refused(raw: bytes) -> None:
    with pytest.raises(Refused):
        parse_request(raw)


def test_a_connection_header_cannot_turn_a_body_into_a_second_request() -> None:
    hidden = b"GET / HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n"
    head = (
        b"POST http://a.mirror.example/ HTTP/1.1\r\nHost: a.mirror.example\r\n"
        b"Content-Length: %d\r\nConnection: Content-Length\r\n\r\n" % len(hidden)
    )

    with pytest.raises(Refused, match="Connection header"):
        parse_request(head)
