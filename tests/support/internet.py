"""An internet for tests: names lead to one public address, and what is asked for there is answered from a table."""

import socket
from dataclasses import dataclass, field
from typing import Any

import httpx2

from homing.channels.pinned import Network

ADDRESS = "93.184.215.14"


@dataclass
class Internet(httpx2.AsyncBaseTransport):
    """Its pages by URL: a text, or a whole response. Keeps every URL that was asked for, in the name of its host."""

    pages: dict[str, str | httpx2.Response] = field(default_factory=dict[str, "str | httpx2.Response"])
    asked: list[str] = field(default_factory=list[str])

    @property
    def network(self) -> Network:
        return Network(connect=lambda: self, look_up=self._look_up)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        assert request.url.host == ADDRESS, "only the address that was looked up is connected to"
        url = f"{request.url.scheme}://{request.headers['host']}{request.url.raw_path.decode()}"
        self.asked.append(url)
        found = self.pages.get(url, httpx2.Response(404, html=f"<p>There is no page {url} here."))
        answer = httpx2.Response(200, html=found) if isinstance(found, str) else found
        # As from a wire: not read yet, and each time again.
        stream = httpx2.ByteStream(answer.content)
        return httpx2.Response(answer.status_code, headers=answer.headers, stream=stream)

    def _look_up(self, host: str, port: int, **_: object) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ADDRESS, port))]


def redirect(to: str) -> httpx2.Response:
    return httpx2.Response(302, headers={"location": to})
