"""MCP over streamable HTTP. Each connection goes to an address that was judged, in the name of the host; no redirects.

Plain http, this machine and private networks only where the agent's `hosts` have an exact entry.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager

import httpx2
from mcp.client.streamable_http import streamable_http_client

from homing.channels.pinned import Network, PinnedTransport
from homing.model.errors import Refused
from homing.sandbox.hosts import Hosts
from homing.tools.fetching import internet
from homing.tools.mcp_servers.checks import check_url
from homing.tools.mcp_servers.line import MAX_MESSAGE, TOO_LONG, Line, LineState

_READ_SECONDS = 120.0
_CONNECT_SECONDS = 20.0
_SIGN_IN = (
    "The server answered {status}: it requires authentication. Signing in by OAuth is not supported; if it takes a"
    ' token, give it as a header: {{"Authorization": {{"secret": "NAME"}}}}.'
)


@asynccontextmanager
async def open_http(url: str, headers: Mapping[str, str], hosts: Hosts, state: LineState) -> AsyncGenerator[Line]:
    """Open a line to a server for as long as the block lasts."""
    check_url(url, hosts)
    network = await asyncio.to_thread(internet)
    timeout = httpx2.Timeout(_CONNECT_SECONDS, read=_READ_SECONDS)
    # Unpacked by nobody: a small answer must not become a large one.
    sent = {**headers, "user-agent": "Homing", "accept-encoding": "identity"}
    async with (
        httpx2.AsyncClient(
            transport=_Judged(hosts, state, network),
            trust_env=False,
            follow_redirects=False,
            headers=sent,
            timeout=timeout,
        ) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=MAX_MESSAGE) as streams,
    ):
        try:
            yield Line(streams=streams, state=state)
        finally:
            state.ended = True


class _Judged(httpx2.AsyncBaseTransport):
    """Connects to judged addresses only. What it refuses is an answer of status 502, with its sentence in the state."""

    def __init__(self, hosts: Hosts, state: LineState, network: Network) -> None:
        self._state = state
        self._inner = PinnedTransport(hosts.check_address, network)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            response = await self._inner.handle_async_request(request)
        except Refused as refused:
            return self._refuse(refused.detail)
        except (httpx2.TransportError, OSError) as error:
            why = self._state.redact(str(error) or type(error).__name__)[:200].rstrip(".")
            return self._refuse(f"{request.url.host} cannot be reached: {why}.")
        return await self._checked(response)

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
