"""stdin and stdout, for programs that start us. Each call goes to the running server, or else to the database."""

import asyncio
import sys
from collections.abc import Callable, Mapping
from typing import Any

import httpx2
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, CallToolResult, Tool

from homing.mcp.backend import Backend, make_server
from homing.mcp.remote import TIMEOUT, Address, RemoteBackend
from homing.mcp.results import NOT_READY, beside, failed
from homing.model.clock import NOTHING_FIRES
from homing.model.errors import NotReady, Refused


async def serve(
    *, version: str, every: bool, find: Callable[[], Address | None], open_here: Callable[[], Backend]
) -> None:
    """Serve until stdin ends. `find` tells the running server; where there is none, `open_here` opens the database.

    `open_here` is called once, in a thread, and raises NotReady with a sentence when it cannot.
    """
    if find() is None:
        sys.stderr.write(NOTHING_FIRES + "\n")
    # Commands talk to the server directly, whatever proxy the environment names.
    async with httpx2.AsyncClient(timeout=TIMEOUT, trust_env=False) as http, stdio_server() as (reads, writes):
        server = make_server(_Nearest(http, every, find, open_here), version)
        await server.run(reads, writes, server.create_initialization_options())


class _Nearest:
    """Asks anew at each call: servers come and go while an MCP client stays."""

    def __init__(
        self,
        http: httpx2.AsyncClient,
        every: bool,
        find: Callable[[], Address | None],
        open_here: Callable[[], Backend],
    ) -> None:
        self._http = http
        self._every = every
        self._find = find
        self._open_here = open_here
        self._here: Backend | None = None
        self._opening = asyncio.Lock()

    async def tools(self) -> list[Tool]:
        try:
            return await (self._there() or await self._local()).tools()
        except NotReady as error:
            sys.stderr.write(f"{error}\n")
            raise MCPError(INTERNAL_ERROR, NOT_READY) from None
        except Refused as error:
            raise MCPError(INTERNAL_ERROR, str(error)) from None

    async def call(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        there = self._there()
        if there is not None:
            return await there.call(name, arguments)
        try:
            here = await self._local()
        except NotReady as error:
            sys.stderr.write(f"{error}\n")
            return failed("not_ready", NOT_READY)
        return beside(await here.call(name, arguments), NOTHING_FIRES)

    def _there(self) -> RemoteBackend | None:
        address = self._find()
        return RemoteBackend(http=self._http, address=address, every=self._every) if address else None

    async def _local(self) -> Backend:
        async with self._opening:
            if self._here is None:
                self._here = await asyncio.to_thread(self._open_here)
            return self._here
