"""Which hosts a program may reach: `name`, `*.name`, `name:port` or `address:port`. Pure judgement."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from homing.model.addresses import KIND_WORDS, Address, kind_of, read_address
from homing.model.errors import Forbidden, Invalid

_NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*")
# As 127.1 or 0x7f000001: the C library takes it for an address, and no person sees which one.
_NUMBER = re.compile(r"(.*\.)?([0-9]+|0x[0-9a-f]*)")
_ENTRY = re.compile(r"(?P<host>\[[0-9a-f:.]+\]|[^:\s]+)(:(?P<port>[0-9]{1,5}))?")


@dataclass(frozen=True, kw_only=True)
class Hosts:
    """A list of allowed hosts. An entry with a port is exact; only an exact one leads into a private network."""

    names: frozenset[str]
    endings: tuple[str, ...]
    exact: frozenset[tuple[str, int]]

    def has_exact(self, host: str, port: int) -> bool:
        """Say whether an entry names this very host and port."""
        return (_plain(host), port) in self.exact

    def covers(self, other: "Hosts") -> bool:
        """Say whether everything on another list is on this one as well."""
        named = all(name in self.names or name.endswith(self.endings) for name in other.names)
        return named and other.exact <= self.exact and set(other.endings) <= set(self.endings)

    def check_name(self, host: str, port: int) -> None:
        """Refuse a host that is not on the list, before its name is looked up."""
        host = _plain(host)
        # Only a plain name is compared by its ending: the C library looks up what stands before a NUL.
        named = _NAME.fullmatch(host) and read_address(host) is None
        if (host, port) in self.exact or (named and (host in self.names or host.endswith(self.endings))):
            return
        raise Forbidden(f"{host}:{port} is not among the hosts that this program may reach.")

    def check_address(self, host: str, port: int, address: Address) -> None:
        """Refuse an address that the host's name leads to and that its entry does not cover."""
        kind, exact = kind_of(address), self.has_exact(host, port)
        # An exact entry may lead a name into a private network; only an address may name a cloud's metadata.
        if kind == "public" or (exact and (read_address(host) is not None or kind in ("loopback", "private"))):
            return
        raise Forbidden(
            f"{host} leads to {KIND_WORDS[kind]} ({address}); that needs an entry with its port"
            f" in the list of hosts, such as {host}:{port} (`homing agents update main --host …`)."
        )


def read_hosts(entries: Iterable[str]) -> Hosts:
    """Read a list of host entries, or say which one cannot be used."""
    names, endings, exact = set[str](), list[str](), set[tuple[str, int]]()
    for entry in entries:
        found = _ENTRY.fullmatch(entry.strip().lower())
        host, port = (_plain(found["host"]), found["port"]) if found else ("", None)
        address = read_address(host) is not None
        if not (address or _NAME.fullmatch(host.removeprefix("*."))) or (port and not 0 < int(port) < 65536):
            raise _invalid(entry, "write example.org, *.example.org, example.org:8080 or 127.0.0.1:8080")
        if port is None and (address or not re.search("[a-z]", host)):
            raise _invalid(entry, "an address needs its port, such as 127.0.0.1:8080")
        if port is not None and host.startswith("*."):
            raise _invalid(entry, "an entry with a port names one host")
        if port is not None:
            exact.add((host, int(port)))
        elif host.startswith("*."):
            endings.append(host[1:])
        else:
            names.add(host)
    return Hosts(names=frozenset(names), endings=tuple(endings), exact=frozenset(exact))


def spell_host(entry: str) -> str:
    """Give an entry in the one way in which it is kept: however it is spelled, it is granted, or denied, once."""
    hosts = read_hosts([entry])
    for host, port in hosts.exact:
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return next(iter(hosts.names), None) or f"*{hosts.endings[0]}"


def check_hosts(entries: Iterable[str]) -> None:
    """Refuse a list that somebody writes: what cannot be read, a whole top-level domain, an address in disguise."""
    hosts = read_hosts(entries)
    for ending in hosts.endings:
        if "." not in ending[1:]:
            raise _invalid(f"*{ending}", "it would open a whole top-level domain. Name a domain, such as *.example.org")
    for host in (*hosts.names, *(host for host, _ in hosts.exact if read_address(host) is None)):
        if _NUMBER.fullmatch(host):
            raise _invalid(host, "write an address as four numbers with its port, such as 127.0.0.1:8080")


def inward(entry: str) -> str | None:
    """Say into what an entry may lead that is not the public internet; None for one that leads nowhere else."""
    for host, _ in read_hosts([entry]).exact:
        address = read_address(host)
        if address is not None:
            kind = kind_of(address)
            return None if kind == "public" else f"{entry} is {KIND_WORDS[kind]}."
        if is_local(host):
            return f"{entry} is {KIND_WORDS['loopback']}."
        return f"{entry} names a port, so it may also lead into a private network."
    return None


def is_local(entry: str) -> bool:
    """Say whether an entry names this machine without a port, which leads nowhere."""
    host = entry.rstrip(".")
    return host == "localhost" or host.endswith(".localhost")


def _plain(host: str) -> str:
    """Spell a host in one way: lower case, no final dot, an address as Python writes it."""
    host = host.lower().rstrip(".")
    address = read_address(host)
    return host if address is None else str(address)


def _invalid(entry: str, how: str) -> Invalid:
    return Invalid(f"{entry:.80} is not a host: {how}.", field="hosts", code="out_of_range")
