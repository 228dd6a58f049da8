"""HTTP to judged addresses: a name is looked up once, every address it gave is judged, and the connection goes to one
of those. No proxy, no kept connection and no second lookup can lead it elsewhere.
"""

import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx2

from homing.model.addresses import Address, addresses_in, read_address
from homing.model.threads import in_daemon_thread

Judge = Callable[[str, int, Address], None]
"""Raises for an address that a host's name may not lead to."""
LookUp = Callable[..., list[Any]]


@dataclass(frozen=True, kw_only=True)
class Network:
    """How names are looked up and addresses connected to: a seam for tests, in which there is no internet."""

    connect: Callable[[], httpx2.AsyncBaseTransport]
    look_up: LookUp | None = None


def direct(tls: ssl.SSLContext) -> httpx2.AsyncBaseTransport:
    """Connect without proxies. No connection is kept: two hosts at one address must never share one."""
    limits = httpx2.Limits(max_keepalive_connections=0)
    return httpx2.AsyncHTTPTransport(verify=tls, trust_env=False, limits=limits)


class PinnedTransport(httpx2.AsyncBaseTransport):
    """Connects to the address that was judged, in the name of the host; the certificate is checked for that name."""

    def __init__(self, judge: Judge, network: Network) -> None:
        self._judge = judge
        self._look_up = network.look_up
        self._inner = network.connect()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        host, port = host_and_port(request.url)
        addresses = await self._find(host, port, request)
        for address in addresses:
            self._judge(host, port, address)
        *others, last = addresses
        for address in others:
            try:
                return await self._inner.handle_async_request(_pinned(request, host, address))
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                continue
        return await self._inner.handle_async_request(_pinned(request, host, last))

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _find(self, host: str, port: int, request: httpx2.Request) -> list[Address]:
        if (address := read_address(host)) is not None:
            return [address]
        asked = partial(self._look_up or socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        # A thread of its own: names that nobody answers for would hold up everything else that waits for one.
        try:
            found = await in_daemon_thread(asked)
        except (OSError, UnicodeError) as error:
            raise UnknownHost(f"The host {host} was not found", request=request) from error
        if not (addresses := addresses_in(found)):
            raise UnknownHost(f"The host {host} has no address", request=request)
        return addresses


class UnknownHost(httpx2.ConnectError):
    """A name that nobody answers for."""


def host_and_port(url: httpx2.URL) -> tuple[str, int]:
    """Say where a URL leads, as the connection will have it."""
    return url.raw_host.decode("ascii"), url.port or (443 if url.scheme == "https" else 80)


def _pinned(request: httpx2.Request, host: str, address: Address) -> httpx2.Request:
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=str(address)),
        # With the name in `host`: these were made for the URL that was asked for.
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": host},
    )
