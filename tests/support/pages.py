"""A web server for tests: answers each path with the raw bytes it was given, and keeps what it was asked."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

Answer = bytes | Callable[[], AsyncIterator[bytes]]
"""The whole answer, or something that gives it piece by piece."""


def page(
    body: str | bytes = "", *, status: str = "200 OK", kind: str = "text/html; charset=utf-8", **headers: str
) -> bytes:
    """Write an HTTP answer."""
    data = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(data)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + data


def moved(to: str) -> bytes:
    return page(status="302 Found", Location=to)


@dataclass
class PageServer:
    """Its pages by path, and every request line and header that came."""

    port: int = 0
    pages: dict[str, Answer] = field(default_factory=dict[str, Answer])
    requests: list[str] = field(default_factory=list[str])

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "/") -> str:
        return f"http://{self.place}{path}"

    @property
    def paths(self) -> list[str]:
        return [request.split(" ")[1] for request in self.requests]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.requests.append(head)
            answer = self.pages.get(head.split(" ")[1], page("There is no such page.", status="404 Not Found"))
            if isinstance(answer, bytes):
                writer.write(answer)
            else:
                async for piece in answer():
                    writer.write(piece)
                    await writer.drain()
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving_pages(**options: object) -> AsyncGenerator[PageServer]:
    """Run a server on loopback for as long as the block lasts."""
    pages = PageServer()
    server = await asyncio.start_server(pages.serve, "127.0.0.1", 0, **options)  # pyright: ignore[reportArgumentType]
    pages.port = server.sockets[0].getsockname()[1]
    try:
        yield pages
    finally:
        server.close()
