"""The only way out of the sandbox: an HTTP proxy on a unix socket that reaches the hosts on its list.

A name is looked up once, every address it gave is judged, and the connection goes to a judged address. What goes
through a tunnel is not looked into.
"""

import asyncio
import os
import socket
import tempfile
import time
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from homing.model.addresses import Address, addresses_in, read_address
from homing.model.errors import Forbidden
from homing.sandbox.hosts import Hosts

MAX_CONNECTIONS = 32
MAX_BYTES = 100 << 20
"""What a command may move in all; a program that goes on, such as an MCP server, in each stretch of WINDOW_SECONDS."""
WINDOW_SECONDS = 600.0
HEAD_SECONDS = 10.0
CONNECT_SECONDS = 20.0
_CHUNK = 65536
# Between the program and the proxy, not for the host.
_HOP_BY_HOP_HEADERS = (
    "connection",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
)

LookUp = Callable[..., list[Any]]


@asynccontextmanager
async def open_proxy(
    hosts: Hosts, *, goes_on: bool = False, look_up: LookUp = socket.getaddrinfo
) -> AsyncGenerator[Path]:
    """Serve one program, which may go on for as long as somebody uses it; gives the socket's path."""
    proxy = _Proxy(hosts, goes_on, look_up)
    with tempfile.TemporaryDirectory(prefix="homing-proxy-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "socket"
        server = await asyncio.start_unix_server(proxy.serve, sock=_bind(path))
        try:
            yield path
        finally:
            server.close()
            await proxy.close()


def _bind(path: Path) -> socket.socket:
    """Bind by way of the open folder: a socket's path has at most 107 bytes, and TMPDIR may be longer."""
    folder, bound = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY), socket.socket(socket.AF_UNIX)
    try:
        bound.bind(f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)
    # The folder keeps other people out; inside the sandbox another uid connects.
    path.chmod(0o666)
    return bound


class _Proxy:
    """Counts what one program uses."""

    def __init__(self, hosts: Hosts, goes_on: bool, look_up: LookUp) -> None:
        self._hosts = hosts
        self._goes_on = goes_on
        self._since = time.monotonic()
        self._look_up = look_up
        # Threads of its own: names that nobody answers for would hold up every other lookup of this process.
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="proxy")
        self._left = MAX_BYTES
        self._open = set[asyncio.Task[None]]()

    async def close(self) -> None:
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        self._threads.shutdown(wait=False, cancel_futures=True)

    def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        if len(self._open) >= 2 * MAX_CONNECTIONS:
            # Those beyond the limit get a sentence; a flood of them must not take our descriptors.
            writer.close()
            return
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        try:
            status, said = await self._answer(reader, writer)
            if status:
                body = f"{said}\n".encode()
                head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
                writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    async def _answer(self, reader: StreamReader, writer: StreamWriter) -> tuple[str, str]:
        """Connect one request through; otherwise give the status and the sentence that say why not."""
        try:
            async with asyncio.timeout(HEAD_SECONDS):
                host, port, head = _read_head(await reader.readuntil(b"\r\n\r\n"))
        except (ValueError, TimeoutError, EOFError, asyncio.LimitOverrunError):
            return "400 Bad Request", "This proxy reads CONNECT host:port and http:// requests."
        if len(self._open) > MAX_CONNECTIONS:
            return "503 Service Unavailable", f"A program has at most {MAX_CONNECTIONS} connections."
        self._look_at_time()
        if self._left == 0:
            stretch = f"in {WINDOW_SECONDS / 60:g} minutes" if self._goes_on else "per run"
            return "403 Forbidden", f"A program moves at most {MAX_BYTES >> 20} MB {stretch}."
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                outer = await self._connect(host, port)
        except Forbidden as refused:
            return "403 Forbidden", refused.detail
        except (OSError, UnicodeError, TimeoutError):
            return "502 Bad Gateway", f"{host}:{port} cannot be reached."
        await self._join(reader, writer, *outer, head)
        return "", ""

    async def _connect(self, host: str, port: int) -> tuple[StreamReader, StreamWriter]:
        self._hosts.check_name(host, port)
        addresses = await self._find(host, port)
        for address in addresses:
            self._hosts.check_address(host, port, address)
        failure: OSError = OSError("no address")
        for address in addresses:
            try:
                return await asyncio.open_connection(str(address), port)
            except OSError as error:
                failure = error
        raise failure

    async def _find(self, host: str, port: int) -> list[Address]:
        if (address := read_address(host)) is not None:
            return [address]
        asked = partial(self._look_up, host, port, type=socket.SOCK_STREAM)
        return addresses_in(await asyncio.get_running_loop().run_in_executor(self._threads, asked))

    async def _join(
        self, reader: StreamReader, writer: StreamWriter, from_host: StreamReader, to_host: StreamWriter, head: bytes
    ) -> None:
        """Carry bytes both ways until both ends have ended, or the program's measure is full."""
        try:
            if head:
                self._left -= min(len(head), self._left)
                to_host.write(head)
            else:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            async with asyncio.TaskGroup() as both:
                both.create_task(self._carry(reader, to_host))
                both.create_task(self._carry(from_host, writer))
        except* OSError:
            pass
        finally:
            to_host.close()

    def _look_at_time(self) -> None:
        """Begin a new stretch once the old one is over."""
        if self._goes_on and (now := time.monotonic()) - self._since >= WINDOW_SECONDS:
            self._since, self._left = now, MAX_BYTES

    async def _carry(self, source: StreamReader, sink: StreamWriter) -> None:
        while data := await source.read(_CHUNK):
            self._look_at_time()
            sink.write(data[: self._left])
            self._left -= min(len(data), self._left)
            await sink.drain()
            if self._left == 0:
                raise ConnectionResetError
        with suppress(OSError):
            sink.write_eof()


def _read_head(head: bytes) -> tuple[str, int, bytes]:
    """Read a request: its host, its port, and what the host is sent of it; nothing of a tunnel's."""
    first, *lines = head.decode("latin-1").split("\r\n")[:-2]
    method, target, version = first.split(" ")
    if method == "CONNECT":
        host, _, port = target.rpartition(":")
        if not port.isdecimal() or not 0 < int(port) < 65536:
            raise ValueError(target)
        return host.strip("[]"), int(port), b""
    url = urlsplit(target)
    if url.scheme != "http" or not url.hostname:
        raise ValueError(target)
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    kept = [line for line in lines if line.partition(":")[0].strip().lower() not in _HOP_BY_HOP_HEADERS]
    named = url.netloc.rpartition("@")[2]
    sent = [f"{method} {path} {version}", f"Host: {named}", *kept, "Connection: close", "", ""]
    return url.hostname, url.port or 80, "\r\n".join(sent).encode("latin-1")
