"""Looking names up once for a few seconds, and hellos that may hide another name."""

import threading

import pytest

from sandboxd.config import Egress
from sandboxd.faults import Refused, Retryable
from sandboxd.network.hello import server_name
from sandboxd.network.names import KEPT_S, MAX_NAMES, Names
from sandboxd.network.policy import find_destination
from tests.sandboxd.test_egress_rules import hello_for

PUBLIC, PRIVATE = "93.184.216.34", "10.0.0.1"
EGRESS = Egress.model_validate({"allow": [{"name": "mirror.example"}]})


class Resolver:
    """Answers from a table, counts, and can be held up."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = addresses
        self.asked: list[str] = []
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.now_s = 100.0

    def look(self, name: str) -> tuple[str, ...]:
        self.asked.append(name)
        self.may_answer.wait(5)
        if not self.addresses:
            raise Retryable("the name does not resolve")
        return self.addresses

    def names(self) -> Names:
        return Names(self.look, lambda: self.now_s)


def test_a_name_is_looked_up_once_for_a_few_seconds_and_then_again() -> None:
    resolver = Resolver(PUBLIC)
    names = resolver.names()

    for _ in range(40):
        names.find("mirror.example")
    resolver.now_s += KEPT_S - 0.1
    names.find("mirror.example")
    first = len(resolver.asked)
    resolver.now_s += 0.2
    names.find("mirror.example")

    assert (first, len(resolver.asked)) == (1, 2)


def test_connections_that_come_at_once_share_one_look_up() -> None:
    resolver = Resolver(PUBLIC)
    resolver.may_answer.clear()
    names = resolver.names()
    found: list[tuple[str, ...]] = []
    crowd = [
        threading.Thread(target=lambda: found.append(names.find("mirror.example")))
        for _ in range(20)
    ]
    for one in crowd:
        one.start()
    resolver.may_answer.set()
    for one in crowd:
        one.join(5)

    assert found == [(PUBLIC,)] * 20
    assert len(resolver.asked) == 1


def test_a_name_that_did_not_resolve_is_looked_up_again_at_once() -> None:
    resolver = Resolver()
    names = resolver.names()
    with pytest.raises(Retryable):
        names.find("mirror.example")
    resolver.addresses = (PUBLIC,)

    assert names.find("mirror.example") == (PUBLIC,)


def test_the_memory_of_names_is_bounded() -> None:
    resolver = Resolver(PUBLIC)
    names = resolver.names()
    for number in range(MAX_NAMES + 1):
        names.find(f"n{number}.example")
    asked = len(resolver.asked)

    names.find(f"n{MAX_NAMES}.example")
    names.find("n0.example")

    assert len(resolver.asked) == asked + 1


@pytest.mark.parametrize(
    "addresses", [(PUBLIC, PRIVATE), (PRIVATE, PUBLIC), (PRIVATE,), (), ("::1", PUBLIC)]
)
def test_one_address_that_is_not_public_closes_the_whole_name(addresses: tuple[str, ...]) -> None:
    with pytest.raises(Refused, match="not public"):
        find_destination(EGRESS, "mirror.example", 443, resolve=lambda _: addresses)


def test_addresses_from_the_memory_are_checked_as_new_ones_are() -> None:
    names = Resolver(PRIVATE).names()

    for _ in range(2):
        with pytest.raises(Refused, match="not public"):
            find_destination(EGRESS, "mirror.example", 443, resolve=names.find)


def with_extension(hello: bytes, kind: int, content: bytes) -> bytes:
    """The same hello with one extension more, all lengths set right."""
    body = bytearray(hello[9:])
    at = 34
    at += 1 + body[at]
    at += 2 + int.from_bytes(body[at : at + 2], "big")
    at += 1 + body[at]
    extensions = body[at + 2 :] + kind.to_bytes(2, "big") + len(content).to_bytes(2, "big")
    extensions += content
    message = bytes(body[:at]) + len(extensions).to_bytes(2, "big") + bytes(extensions)
    message = b"\x01" + len(message).to_bytes(3, "big") + message
    return b"\x16\x03\x01" + len(message).to_bytes(2, "big") + message


def encrypted_hello(form: int = 0) -> bytes:
    """The outer form of RFC 9849 5, as browsers send it, pretended or not: a suite, an id, a key
    and a payload that nobody on the way can read.
    """
    suite = b"\x00\x01\x00\x01"
    return bytes([form]) + suite + b"\x2a" + b"\x00\x20" + b"k" * 32 + b"\x00\x90" + b"p" * 144


def test_a_hello_that_may_hide_another_name_is_refused() -> None:
    hello = with_extension(hello_for("mirror.example"), 0xFE0D, encrypted_hello())

    with pytest.raises(Refused, match="may hide"):
        server_name(hello)


def test_where_it_is_allowed_the_outer_name_is_the_one_that_is_checked() -> None:
    hello = with_extension(hello_for("mirror.example"), 0xFE0D, encrypted_hello())

    assert server_name(hello, may_encrypt=True) == "mirror.example"


@pytest.mark.parametrize("content", [encrypted_hello(form=1), b"\x01", b"\x07junk", b""])
def test_an_inner_or_damaged_one_is_refused_even_where_it_is_allowed(content: bytes) -> None:
    hello = with_extension(hello_for("mirror.example"), 0xFE0D, content)

    with pytest.raises(Refused, match="damaged"):
        server_name(hello, may_encrypt=True)


@pytest.mark.parametrize("kind", [0x0A0A, 0x7A7A, 0xFAFA])
def test_other_extensions_that_browsers_make_up_hide_nothing(kind: int) -> None:
    assert server_name(with_extension(hello_for("mirror.example"), kind, b"")) == "mirror.example"


def test_encrypted_hellos_are_refused_unless_a_rule_says_otherwise() -> None:
    allowing = {"name": "own.example", "encrypted_hello": "allow"}
    egress = Egress.model_validate({"allow": [{"name": "mirror.example"}, allowing]})

    assert [rule.encrypted_hello for rule in egress.allow] == ["refuse", "allow"]
