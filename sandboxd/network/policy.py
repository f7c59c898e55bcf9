"""Which names, ports and addresses a sandbox may reach. The node's configuration alone decides.

Names are resolved here and every address of a name is looked at: one that is not public refuses
the whole name, so that an allowed name cannot be pointed at the node, its neighbours, the cluster
or a metadata service.
"""

import ipaddress
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sandboxd.config import Egress, EgressRule
from sandboxd.faults import Refused
from sandboxd.network.names import resolve

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_LABEL = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_MAX_NAME = 253
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_SIX_TO_FOUR = ipaddress.ip_network("2002::/16")
_EMBEDDING = tuple(
    ipaddress.ip_network(text)
    for text in ("::/96", "64:ff9b:1::/48", "2001::/32", "::ffff:0:0:0/96")
)
"""Old or local ways to write an IPv4 address as IPv6; nobody needs them here."""
_SPECIAL = tuple(
    ipaddress.ip_network(text)
    for text in ("192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "2001::/23", "3fff::/20")
)
"""Ranges for protocols, benchmarks and documentation that a library may take for public."""
_UNICAST = ipaddress.ip_network("2000::/3")
_METADATA = {ipaddress.ip_address("168.63.129.16")}
"""Public addresses that clouds answer from inside; the rest of them are link-local or private."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """An allowed name and port with the checked addresses, in the order to try them."""

    name: str
    port: int
    addresses: tuple[str, ...]


def check_name(egress: Egress, name: str, port: int) -> EgressRule:
    """The rule that names it, or its parent with `*.`, with that port. Raises: Refused."""
    if len(name) > _MAX_NAME or not _HOST.fullmatch(name):
        raise Refused("this is no name of a host")
    for rule in egress.allow:
        suffix = rule.name.removeprefix("*")
        is_named = name == rule.name or (suffix != rule.name and name.endswith(suffix))
        if is_named and port in rule.ports:
            return rule
    raise Refused("this name and port are not on the allow-list of the node")


def find_destination(
    egress: Egress, name: str, port: int, *, resolve: Callable[[str], tuple[str, ...]] = resolve
) -> Destination:
    """The checked addresses of an allowed name. They are checked anew at each use, wherever
    `resolve` has them from, and the connection goes to one of them and to nothing else.

    Raises: Refused, Retryable (it does not resolve).
    """
    check_name(egress, name, port)
    addresses = resolve(name)
    if not addresses or not all(is_reachable(egress, address) for address in addresses):
        raise Refused("the name leads to an address that is not public")
    return Destination(name=name, port=port, addresses=addresses)


def is_reachable(egress: Egress, text: str) -> bool:
    """Whether an address is public, whatever form it is written in."""
    try:
        address = _plain(ipaddress.ip_address(text.partition("%")[0]))
    except ValueError:
        return False
    if address is None:
        return False
    if address in egress.test_only_addresses:
        return True
    if address.version == 6 and address not in _UNICAST:  # noqa: PLR2004
        return False
    is_public = address.is_global and not (address.is_multicast or address.is_reserved)
    closed = (*_SPECIAL, *egress.forbidden_networks)
    return is_public and address not in _METADATA and not _is_in(address, closed)


def _plain(address: _Address) -> _Address | None:
    """The IPv4 address behind an IPv6 form of it. None for forms that are never let through."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if address in _SIX_TO_FOUR:
        return ipaddress.IPv4Address(int(address) >> 80 & 0xFFFFFFFF)
    return None if _is_in(address, _EMBEDDING) and address != ipaddress.IPv6Address(1) else address


def _is_in(
    address: _Address, networks: Iterable[ipaddress.IPv4Network | ipaddress.IPv6Network]
) -> bool:
    return any(address in network for network in networks if network.version == address.version)
