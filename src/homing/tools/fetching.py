"""GET a page from the web: judged addresses, few redirects, bounded in bytes and seconds. Sends nothing about anyone.

No cookies, credentials or proxies; robots.txt is not consulted, since one person asked for one page.
"""

import asyncio
import ssl
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial

import httpx2

from homing import __version__
from homing.channels.pinned import Network, PinnedTransport, UnknownHost, direct, host_and_port
from homing.model.errors import Invalid, ToolFailed
from homing.sandbox.hosts import Hosts

MAX_BYTES = 2 << 20
SECONDS = 20.0
MAX_REDIRECTS = 5
MAX_URL = 2048
# So that a second address is tried in time; the whole is bounded apart.
_TIMEOUT = httpx2.Timeout(None, connect=8.0)

MayGo = Callable[[httpx2.URL], None]
"""Raises for a URL that the caller may not ask for; called for the first and for each redirect."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """What a server answered at the end of its redirects."""

    url: str
    status: int
    reason: str
    content_type: str
    body: bytes


def read_url(text: str) -> httpx2.URL:
    """Read a URL as the connection will have it, without its fragment, or say what is wrong with it."""
    text = text.strip()
    if len(text) > MAX_URL:
        raise _invalid(f"A URL has at most {MAX_URL} characters.")
    if any(not char.isprintable() or char.isspace() or char == "\\" for char in text):
        raise _invalid("A URL has no spaces, backslashes or control characters; write them as %20 and so on.")
    try:
        url = httpx2.URL(text).copy_with(fragment=None)
    except (httpx2.InvalidURL, ValueError):
        raise _invalid("This is not a URL. Write for example https://example.org/news.") from None
    if url.scheme not in ("http", "https") or not url.raw_host or not 0 < host_and_port(url)[1] < 65536:
        raise _invalid("A URL begins with http:// or https:// and names a host, such as https://example.org/news.")
    if url.userinfo:
        raise _invalid("Leave user name and password out of the URL.")
    return url


async def fetch(
    url: httpx2.URL,
    *,
    hosts: Hosts,
    may_go: MayGo,
    seconds: float = SECONDS,
    network: Network | None = None,
) -> Page:
    """Get a page, or say in a sentence why there is none."""
    try:
        async with asyncio.timeout(seconds):
            transport = PinnedTransport(hosts.check_address, network or await asyncio.to_thread(internet))
            async with httpx2.AsyncClient(transport=transport, trust_env=False, timeout=_TIMEOUT) as client:
                return await _follow(client, url, may_go)
    except TimeoutError:
        raise ToolFailed(f"{_where(url)} did not give the whole page within {seconds:g} seconds.") from None


async def _follow(client: httpx2.AsyncClient, url: httpx2.URL, may_go: MayGo) -> Page:
    for _ in range(MAX_REDIRECTS + 1):
        may_go(url)
        found = await _get(client, url)
        if isinstance(found, Page):
            return found
        url = found
    raise ToolFailed(f"The page redirects more than {MAX_REDIRECTS} times.")


async def _get(client: httpx2.AsyncClient, url: httpx2.URL) -> Page | httpx2.URL:
    """Ask once: the page, or where it is instead."""
    try:
        async with client.stream("GET", url, headers=_headers(), follow_redirects=False) as response:
            # Cookies are the jar's, and a jar would carry them on.
            client.cookies.clear()
            if response.is_redirect and (location := response.headers.get("location")):
                return _redirected(url, location)
            return Page(
                url=str(url),
                status=response.status_code,
                reason=response.reason_phrase,
                content_type=response.headers.get("content-type", ""),
                body=await _read(response),
            )
    except UnknownHost:
        raise ToolFailed(f"There is no host {url.host}.") from None
    except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
        if any(isinstance(cause, ssl.SSLError) for cause in _causes(error)):
            raise ToolFailed(f"{_where(url)} has no certificate that can be trusted.") from None
        raise ToolFailed(f"{_where(url)} cannot be reached.") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError):
        raise ToolFailed(f"{_where(url)} did not give a complete HTTP answer.") from None


async def _read(response: httpx2.Response) -> bytes:
    unpack = _unpacker(response.headers.get("content-encoding", "").strip().lower())
    body = bytearray()
    async for chunk in response.aiter_raw(65536):
        body += unpack(chunk, MAX_BYTES + 1 - len(body))
        if len(body) > MAX_BYTES:
            raise ToolFailed(f"The page is larger than {MAX_BYTES >> 20} MB, so it was not read.")
    return bytes(body)


def _unpacker(encoding: str) -> Callable[[bytes, int], bytes]:
    """Give what unpacks a body chunk by chunk, never more than asked for: a bomb stays small here."""
    if encoding in ("", "identity"):
        return lambda chunk, most: chunk[:most]
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise ToolFailed("The page is packed in a way that cannot be read.")
    stream = zlib.decompressobj(wbits=47)

    def unpack(chunk: bytes, most: int) -> bytes:
        try:
            return stream.decompress(chunk, most)
        except zlib.error:
            raise ToolFailed("The page is packed in a way that cannot be read.") from None

    return unpack


def _redirected(url: httpx2.URL, location: str) -> httpx2.URL:
    try:
        return read_url(str(url.join(location)))
    except (Invalid, httpx2.InvalidURL, ValueError):
        raise ToolFailed(f"{_where(url)} redirects to something that is not a web page.") from None


def _headers() -> dict[str, str]:
    return {
        "user-agent": f"Homing/{__version__}",
        "accept": "text/html, text/*;q=0.9, application/json;q=0.9, application/xml;q=0.9, */*;q=0.1",
        "accept-encoding": "gzip",
    }


@cache
def internet() -> Network:
    """Give the network with its certificates, the same for everybody; made in a thread when it is first used."""
    # Reading all the certificates takes a moment.
    return Network(connect=partial(direct, httpx2.create_ssl_context()))


def _where(url: httpx2.URL) -> str:
    host, port = host_and_port(url)
    return host if url.port is None else f"{host}:{port}"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _invalid(detail: str) -> Invalid:
    return Invalid(detail, field="url", code="wrong_type")
