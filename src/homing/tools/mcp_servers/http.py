"""MCP over streamable HTTP. Each connection goes to an address that was judged, in the name of the host; no redirects.

Plain http, this machine and private networks only where the agent's `hosts` have an exact entry.
"""

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager

import httpx2
from mcp.client.streamable_http import streamable_http_client

from homing.model.addresses import Address, addresses_in, read_address
from homing.model.errors import Invalid, Refused
from homing.sandbox.hosts import Hosts
from homing.tools.mcp_servers.line import MAX_MESSAGE, TOO_LONG, Line, LineState

_READ_SECONDS = 120.0
_CONNECT_SECONDS = 20.0
_SIGN_IN = (
    "The server answered {status}: it wants to know who asks. Signing in by OAuth is not supported; if it takes a"
    ' token, give it as a header: {{"Authorization": {{"secret": "NAME"}}}}.'
)


def check_url(url: str, hosts: Hosts) -> None:
    """Refuse an address that can never be used."""
    try:
        read = httpx2.URL(url)
    except httpx2.InvalidURL:
        raise _invalid("This URL cannot be read.") from None
    if read.scheme not in ("http", "https") or not read.host or read.userinfo or read.fragment:
        raise _invalid("Write the server's URL as https://HOST/PATH, without a name or password in it.")
    if read.scheme == "http" and not hosts.has_exact(read.host, _port(read)):
        raise _invalid(
            f"An MCP server is reached by https. For plain http, put {read.host}:{_port(read)} into the agent's hosts."
        )


@asynccontextmanager
async def open_http(url: str, headers: Mapping[str, str], hosts: Hosts, state: LineState) -> AsyncGenerator[Line]:
    """Open a line to a server for as long as the block lasts."""
    check_url(url, hosts)
    timeout = httpx2.Timeout(_CONNECT_SECONDS, read=_READ_SECONDS)
    # Unpacked by nobody: a small answer must not become a large one.
    sent = {**headers, "user-agent": "Homing", "accept-encoding": "identity"}
    async with (
        httpx2.AsyncClient(
            transport=_Judged(hosts, state), trust_env=False, follow_redirects=False, headers=sent, timeout=timeout
        ) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=MAX_MESSAGE) as streams,
    ):
        try:
            yield Line(streams=streams, state=state)
        finally:
            state.ended = True


class _Judged(httpx2.AsyncBaseTransport):
    """Connects to judged addresses only. What it refuses is an answer of status 502, with its sentence in the state."""

    def __init__(self, hosts: Hosts, state: LineState) -> None:
        self._hosts = hosts
        self._state = state
        self._inner = httpx2.AsyncHTTPTransport(verify=httpx2.create_ssl_context(trust_env=False))

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        host = request.url.raw_host.decode("ascii")
        try:
            check_url(str(request.url), self._hosts)
            response = await self._connect(request, host)
        except Refused as refused:
            return self._refuse(refused.detail)
        except (httpx2.TransportError, OSError, UnicodeError) as error:
            return self._refuse(f"{host} cannot be reached: {(str(error) or type(error).__name__)[:200]}.")
        return await self._checked(response)

    async def _connect(self, request: httpx2.Request, host: str) -> httpx2.Response:
        addresses = await _find(host, _port(request.url))
        for address in addresses:
            self._hosts.check_address(host, _port(request.url), address)
        failure: Exception = OSError("no address was found")
        for address in addresses:
            try:
                return await self._inner.handle_async_request(_to(request, host, address))
            except httpx2.ConnectError as error:
                failure = error
        raise failure

    async def _checked(self, response: httpx2.Response) -> httpx2.Response:
        status = response.status_code
        if 300 <= status < 400:
            await response.aclose()
            return self._refuse(f"The server answered {status}, and redirects are not followed: give its final URL.")
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            return self._refuse("The server packed its answer, and packed answers are not taken.")
        if status in (401, 403):
            self._state.why = _SIGN_IN.format(status=status)
        elif status >= 500 or status == 429:
            self._state.why = f"The server answered {status}."
        elif status < 300:
            self._state.why = None
        streaming = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        if not streaming and isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _Bounded(response.stream, self._state)
        return response

    def _refuse(self, why: str) -> httpx2.Response:
        self._state.why = why
        return httpx2.Response(502)


class _Bounded(httpx2.AsyncByteStream):
    """A body that is not read beyond the limit of one message; events have a limit of their own."""

    def __init__(self, inner: httpx2.AsyncByteStream, state: LineState) -> None:
        self._inner = inner
        self._state = state

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MAX_MESSAGE
        async for chunk in self._inner:
            left -= len(chunk)
            if left < 0:
                self._state.why = TOO_LONG
                raise httpx2.StreamError(TOO_LONG)
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _find(host: str, port: int) -> list[Address]:
    if (address := read_address(host)) is not None:
        return [address]
    return addresses_in(await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM))


def _to(request: httpx2.Request, host: str, address: Address) -> httpx2.Request:
    """Send the same to a judged address, in the name of the host."""
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=str(address)),
        headers=request.headers,  # with the Host that the URL named
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": host},
    )


def _port(url: httpx2.URL) -> int:
    return url.port or (443 if url.scheme == "https" else 80)


def _invalid(detail: str) -> Invalid:
    return Invalid(detail, field="url", code="out_of_range")
