"""HTTP to the servers of a chat platform: what fails there is a ChannelFailed, and no error shows a secret."""

from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx2

from homing.channels.forms import Form
from homing.channels.retry_after import LATER
from homing.model.errors import ChannelFailed

if TYPE_CHECKING:
    import ssl

_MOST_SEEN = 5_000
_LONGEST_ERROR = 200
_UNAUTHORIZED = 401


class Platform:
    """HTTP calls of one account; `name` is what people call the platform."""

    def __init__(self, name: str, *, base_url: str, secret: str, timeout_seconds: float) -> None:
        self.name = name
        self.base_url = base_url.rstrip("/")
        self.timeout_seconds = timeout_seconds
        self._secret = secret

    def client(self, headers: Mapping[str, str] | None = None) -> httpx2.AsyncClient:
        """Make a client whose connections stay open. It follows no redirects: the token would be sent along."""
        return httpx2.AsyncClient(
            verify=self._tls or True, timeout=self.timeout_seconds, follow_redirects=False, headers=headers
        )

    async def request(
        self,
        client: httpx2.AsyncClient,
        method: str,
        url: str,
        *,
        sends: bool = True,
        seconds: float | None = None,
        body: Mapping[str, Any] | Form | None = None,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> httpx2.Response:
        """Give an answer below 500; else raise ChannelFailed, `unsure` if the call `sends` and may have been heard."""
        timeout = seconds or self.timeout_seconds
        if isinstance(body, Form):
            headers, more = {**(headers or {}), **body.headers}, {**more, "content": body.content()}
        elif body is not None:
            more = {**more, "json": dict(body)}
        try:
            response = await client.request(method, url, timeout=timeout, headers=headers, **more)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout) as error:
            raise ChannelFailed(f"{self.name} could not be reached: {self._plain(error)}.") from None
        except httpx2.TimeoutException:
            raise ChannelFailed(f"{self.name} did not answer within {timeout:g} seconds.", unsure=sends) from None
        except httpx2.HTTPError as error:
            raise ChannelFailed(f"{self.name}'s answer broke off ({type(error).__name__}).", unsure=sends) from None
        if response.status_code >= 500:
            raise ChannelFailed(f"{self.name} answered {response.status_code}.", unsure=sends)
        return response

    async def download(
        self,
        client: httpx2.AsyncClient,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        redirect_means: str | None = None,
    ) -> AsyncIterator[bytes]:
        """Give a file piece by piece; raise ChannelFailed, permanent where another try cannot help."""
        try:
            async with client.stream("GET", url, headers=headers) as response:
                code = response.status_code
                if code != 200:
                    said = redirect_means if response.is_redirect else None
                    final = code < 500 and code not in (_UNAUTHORIZED, *LATER)
                    raise ChannelFailed(said or f"{self.name} answered {code}.", permanent=final)
                async for piece in response.aiter_bytes():
                    yield piece
        except httpx2.HTTPError as error:
            raise ChannelFailed(f"The file's download broke off ({type(error).__name__}).") from None

    def serves(self, url: str, *hosts: str) -> bool:
        """Say whether a URL belongs to the platform: at its base, or with https below one of the hosts."""
        asked, base = urlsplit(url), urlsplit(self.base_url)
        if (asked.scheme, asked.netloc) == (base.scheme, base.netloc):
            return True
        return asked.scheme == "https" and f".{asked.hostname}".endswith(hosts)

    def without_secret(self, said: str, longest: int) -> str:
        """Hide the secret in what the platform said, then shorten it: half a secret would not be found."""
        return said.replace(self._secret, "…")[:longest]

    @cached_property
    def _tls(self) -> "ssl.SSLContext | None":
        # Reading the certificates takes up to 0.1 seconds, and describing a channel does not need them.
        return httpx2.create_ssl_context() if self.base_url.startswith("https") else None

    def _plain(self, error: Exception) -> str:
        return self.without_secret(str(error) or type(error).__name__, _LONGEST_ERROR).rstrip(".")


class SeenIds:
    """The ids of the latest messages of one listen, because platforms repeat events."""

    def __init__(self) -> None:
        self._ids: OrderedDict[str, None] = OrderedDict()

    def add(self, external_id: str) -> bool:
        """Remember an id; say whether it is new."""
        known = external_id in self._ids
        self._ids[external_id] = None
        if len(self._ids) > _MOST_SEEN:
            self._ids.popitem(last=False)
        return not known


def read_base_url(fields: Mapping[str, str], default: str) -> str:
    """Read the address of a platform's servers; raise ValueError with a sentence for its field."""
    base_url = fields.get("base_url", default)
    if not base_url.startswith(("https://", "http://")):
        raise ValueError("base_url must begin with https:// or http://")
    return base_url


def short_label(option: str, longest: int) -> str:
    """Cut the words of a button."""
    return option if len(option) <= longest else option[: longest - 1] + "…"
