"""A small HTTP/1.1 server on loopback, in a thread of its own.

Written by hand because its users must be able to misbehave: to cut a stream, to close without an answer, to hang.
"""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from homing.testing.loopback_socket import LoopbackSocket, accept_key


@dataclass(frozen=True, kw_only=True)
class HttpRequest:
    """One request as it came; header names are in lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


class Exchange:
    """A request, and the ways to answer it, good and bad.

    The end of an answer leaves with the loop's next step: logging it in this one is done before the client can
    know that it has ended.
    """

    def __init__(self, request: HttpRequest, transport: asyncio.Transport, reader: asyncio.StreamReader) -> None:
        self.request = request
        self._transport = transport
        self._reader = reader

    def answer(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        """Send a whole response."""
        self._soon(self._head(status, {"content-length": str(len(body)), **(headers or {})}) + body)

    def answer_json(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        """Send a whole response in JSON."""
        self.answer(status, json.dumps(body).encode(), {"content-type": "application/json", **(headers or {})})

    def start(self, headers: Mapping[str, str]) -> None:
        """Begin a response that comes in pieces."""
        self._transport.write(self._head(200, {"transfer-encoding": "chunked", **headers}))

    def send(self, data: bytes) -> None:
        """Send a piece."""
        self._transport.write(b"%x\r\n%b\r\n" % (len(data), data))

    def finish(self) -> None:
        """Say that there are no more pieces."""
        self._soon(b"0\r\n\r\n")

    def cut(self, partial: bytes = b"") -> None:
        """Close the connection, whatever was promised."""
        self._soon(partial)
        asyncio.get_running_loop().call_soon(self._transport.close)

    def cut_answer(self, body: bytes, headers: Mapping[str, str]) -> None:
        """Promise a whole response, send half of it and close."""
        self.cut(self._head(200, {"content-length": str(len(body)), **headers}) + body[: len(body) // 2])

    def upgrade(self) -> LoopbackSocket:
        """Go on as a WebSocket."""
        accept = accept_key(self.request.headers["sec-websocket-key"])
        headers = {"upgrade": "websocket", "connection": "Upgrade", "sec-websocket-accept": accept}
        self._transport.write(self._head(101, headers))
        return LoopbackSocket(self._reader, self._transport)

    def _soon(self, data: bytes) -> None:
        asyncio.get_running_loop().call_soon(self._transport.write, data)

    def _head(self, status: int, headers: Mapping[str, str]) -> bytes:
        lines = [f"HTTP/1.1 {status} {_reason(status)}", *(f"{name}: {value}" for name, value in headers.items())]
        return "\r\n".join([*lines, "", ""]).encode()


Serve = Callable[[Exchange], Awaitable[None]]


class LoopbackServer:
    """Runs `serve` for each request until closed."""

    def __init__(self, serve: Serve, *, port: int = 0) -> None:
        self._serve = serve
        self._port = port
        self._loop: asyncio.AbstractEventLoop
        self._connections: set[_Connection] = set()
        self._thread = threading.Thread(target=self._run, name="homing-loopback", daemon=True)
        self._listener: asyncio.Server | None = None
        self.url = ""

    def start(self) -> None:
        """Listen; the url is known afterwards."""
        self._loop = asyncio.new_event_loop()
        self._thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        except OSError:
            self._stop_loop()
            raise

    def call(self, deed: Callable[[], object]) -> None:
        """Do something in the server's own thread, and return when it is done."""

        async def do() -> None:
            deed()

        asyncio.run_coroutine_threadsafe(do(), self._loop).result()

    def close(self) -> None:
        """Stop listening and drop every connection."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._stop_loop()

    def _stop_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    async def _listen(self) -> None:
        self._listener = await self._loop.create_server(
            lambda: _Connection(self._serve, self._connections), "127.0.0.1", self._port, backlog=512
        )
        self.url = f"http://127.0.0.1:{self._listener.sockets[0].getsockname()[1]}"

    async def _end(self) -> None:
        if self._listener:
            self._listener.close()
        # What was just accepted becomes a connection with one of the loop's next steps, and what was left closes so.
        for _ in range(5):
            tasks = [connection.leave() for connection in list(self._connections)]
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.sleep(0)


class _Connection(asyncio.Protocol):
    """One client; when it goes away, its handler is cancelled."""

    def __init__(self, serve: Serve, peers: set["_Connection"]) -> None:
        self._serve = serve
        self._peers = peers
        self._reader = asyncio.StreamReader(limit=1 << 20)
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._peers.add(self)
        self._task = asyncio.get_running_loop().create_task(self._converse(transport))

    def data_received(self, data: bytes) -> None:
        self._reader.feed_data(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._peers.discard(self)
        if self._task:
            self._task.cancel()

    def leave(self) -> asyncio.Task[None]:
        assert self._transport
        assert self._task
        self._transport.abort()
        self._task.cancel()
        return self._task

    async def _converse(self, transport: asyncio.Transport) -> None:
        try:
            while not transport.is_closing():
                request = await _read_request(self._reader)
                await self._serve(Exchange(request, transport, self._reader))
        finally:
            transport.close()


async def _read_request(reader: asyncio.StreamReader) -> HttpRequest:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = head[0].split(" ", 2)
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:-2])}
    url = urlsplit(target)
    body = await _read_body(reader, headers)
    return HttpRequest(method=method, path=url.path, query=dict(parse_qsl(url.query)), headers=headers, body=body)


async def _read_body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding") != "chunked":
        return await reader.readexactly(int(headers.get("content-length", "0")))
    pieces: list[bytes] = []
    while size := int(await reader.readline(), 16):
        pieces.append(await reader.readexactly(size))
        await reader.readline()
    await reader.readline()
    return b"".join(pieces)


def _reason(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unassigned"
