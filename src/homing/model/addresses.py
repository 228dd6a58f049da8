"""What kind of place an IP address is. Pure judgement; names are looked up elsewhere, and each address is judged here.

Homing connects from inside somebody's network: without this, anyone who may name a host could reach what only that
network may.
"""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, Literal

Address = IPv4Address | IPv6Address
Kind = Literal["public", "loopback", "private", "multicast", "surroundings"]

KIND_WORDS: dict[Kind, str] = {
    "loopback": "this machine",
    "private": "a private network",
    "multicast": "a group of machines",
    "surroundings": "a machine's own surroundings",
}

_NAT64 = ip_network("64:ff9b::/96")
# Beside link-local ones, the addresses that tell a cloud's machines their secrets: of Azure (a public one by its
# number), Alibaba, Oracle, Amazon and Google.
_METADATA = [
    ip_address(text) for text in ("168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254")
]
# Special though a Python may take them for public; 2001::/23 and 2002::/16 are tunnels, whose other end nobody knows.
_SPECIAL = [ip_network(text) for text in ("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "2002::/16", "3fff::/20")]
_PUBLIC_6 = ip_network("2000::/3")


def kind_of(address: Address) -> Kind:
    """Say what kind of place an address is; an IPv6 address that only wraps an IPv4 one is what that is."""
    address = _meant(address)
    if address.is_loopback:
        return "loopback"
    if address.is_multicast:
        return "multicast"
    if address.is_link_local or address in _METADATA:
        return "surroundings"
    public = address.is_global and (address.version == 4 or address in _PUBLIC_6)
    if not public or address.is_reserved or any(address in network for network in _SPECIAL):
        return "private"
    return "public"


def refused_because(address: Address) -> str | None:
    """Say why nothing is sent to an address, loopback included; None when it is an ordinary public one."""
    return KIND_WORDS.get(kind_of(address))


def names_loopback(host: str) -> bool:
    """Say whether a host names this machine in so many words. A name that merely resolves to it does not."""
    address = read_address(host)
    return host.rstrip(".").lower() == "localhost" if address is None else address.is_loopback


def read_address(host: str) -> Address | None:
    """Read an address as a URL has it, IPv6 in brackets or not; None when it is a name."""
    try:
        return ip_address(host.strip("[]"))
    except ValueError:
        return None


def addresses_in(found: Iterable[tuple[Any, ...]]) -> list[Address]:
    """Give the addresses that `getaddrinfo` found, each once. Connect to one of these, not to the name again: its owner
    may have another answer by then.
    """
    # An IPv6 address may carry its zone behind a percent sign.
    return list(dict.fromkeys(ip_address(str(where[0]).partition("%")[0]) for *_, where in found))


def _meant(address: Address) -> Address:
    """Give the IPv4 address that an IPv6 one only wraps."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address
