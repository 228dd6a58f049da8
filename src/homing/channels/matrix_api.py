"""HTTP to one Matrix homeserver as one account. What it refuses keeps its own words; no error shows the token."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast
from urllib.parse import quote

import httpx2

from homing.channels.platform import Platform
from homing.channels.retry_after import LONGEST_WAIT_SECONDS
from homing.model.errors import ChannelFailed

CLIENT = "/_matrix/client/v3"
_LONGEST_SENTENCE = 300


class MatrixRefused(Exception):
    """The server answered, and said no."""

    def __init__(self, status: int, errcode: str, said: str, *, retry_after: float | None = None) -> None:
        super().__init__(f"{errcode}: {said}")
        self.status = status
        self.errcode = errcode
        self.said = said
        self.retry_after = retry_after

    def failure(self, channel: str) -> ChannelFailed:
        """Say what it means for a part or a listener."""
        said = self.said.rstrip(".") or f"error {self.status}"
        if self.status == 429:
            return ChannelFailed(f"The Matrix server says: {said}.", retry_after=self.retry_after, limited=True)
        if self.status == 401:
            # A broken channel, not a refused message: somebody may put it right before the last attempt.
            return ChannelFailed(
                f"The Matrix server does not accept the token of {channel}: {said}. Log in again, and put the new token"
                " in its settings."
            )
        if self.status == 403:
            return ChannelFailed(f"The Matrix server refused it: {said}.", permanent=True, blocked=True)
        return ChannelFailed(f"The Matrix server refused it: {said}.", permanent=True)


class MatrixApi:
    """Calls of one account."""

    def __init__(self, *, base_url: str, token: str, timeout_seconds: float) -> None:
        self._token = token
        self._platform = Platform("The Matrix server", base_url=base_url, secret=token, timeout_seconds=timeout_seconds)

    @asynccontextmanager
    async def connect(self) -> "AsyncGenerator[MatrixCalls]":
        """Keep connections open for some calls."""
        async with self._platform.client({"Authorization": f"Bearer {self._token}"}) as client:
            yield MatrixCalls(client, self._platform)


class MatrixCalls:
    """Calls over open connections."""

    def __init__(self, client: httpx2.AsyncClient, platform: Platform) -> None:
        self._client = client
        self._platform = platform

    async def get(self, path: str, params: Mapping[str, str] | None = None, *, seconds: float | None = None) -> Any:
        """Read something; values of the path are quoted by `at`."""
        return await self._call("GET", path, seconds=seconds, params=params)

    async def put(self, path: str, content: Mapping[str, Any]) -> Any:
        return await self._call("PUT", path, json=content)

    async def post(self, path: str, content: Mapping[str, Any]) -> Any:
        return await self._call("POST", path, json=content)

    async def upload(self, name: str | None, media_type: str, size: int, content: AsyncIterator[bytes]) -> str:
        """Put a file on the server; give its mxc address."""
        headers = {"content-type": media_type, "content-length": str(size)}
        params = {"filename": name} if name is not None else {}
        path, seconds = "/_matrix/media/v3/upload", 15 + size / 1_000_000
        found = await self._call("POST", path, seconds=seconds, content=content, headers=headers, params=params)
        return str(found["content_uri"])

    async def download(self, server: str, media_id: str) -> AsyncIterator[bytes]:
        """Fetch a file; raise ChannelFailed, permanent where another try cannot help."""
        path = at("/_matrix/client/v1/media/download/{}/{}", server, media_id)
        async for piece in self._platform.download(self._client, self._platform.base_url + path):
            yield piece

    async def _call(self, method: str, path: str, *, seconds: float | None = None, **more: Any) -> Any:
        """Call the server; raise MatrixRefused if it said no, else ChannelFailed."""
        url = self._platform.base_url + path
        response = await self._platform.request(self._client, method, url, seconds=seconds, **more)
        try:
            answer = cast("dict[str, Any]", response.json())
            if response.status_code == 200:
                return answer
            errcode, said = str(answer.get("errcode", "")), str(answer.get("error", ""))
            wait = answer.get("retry_after_ms")
        except (ValueError, AttributeError, RecursionError):
            if response.status_code == 200:
                raise ChannelFailed("What answered is not a Matrix server. Check base_url.", unsure=True) from None
            errcode, said, wait = "", f"it answered {response.status_code}", None
        header = response.headers.get("retry-after", "")
        if not isinstance(wait, int | float):
            wait = int(header) * 1000 if header.isdecimal() else None
        retry_after = min(max(wait / 1000, 0.0), LONGEST_WAIT_SECONDS) if wait is not None else None
        said = self._platform.without_secret(said, _LONGEST_SENTENCE)
        raise MatrixRefused(response.status_code, errcode[:60], said, retry_after=retry_after)


def at(path: str, *values: str) -> str:
    """Fill a path's places with quoted values."""
    return path.format(*(quote(value, safe="") for value in values))
