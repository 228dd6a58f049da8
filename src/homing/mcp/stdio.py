"""stdin and stdout, for programs that start us. Each call goes to the running server, or else to the database."""

import asyncio
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_METHOD_HEADER, MCP_NAME_HEADER, MCP_PROTOCOL_VERSION_HEADER, encode_header_value
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    INTERNAL_ERROR,
    PROTOCOL_VERSION_META_KEY,
    CallToolResult,
    ListToolsResult,
    Tool,
)
from mcp_types.version import LATEST_MODERN_VERSION

from homing.mcp.backend import Backend, make_server
from homing.mcp.results import NOT_READY, beside, failed, refused
from homing.model.clock import NOTHING_FIRES
from homing.model.errors import NotReady, Refused
from homing.model.threads import in_daemon_thread

Post = Callable[[str, dict[str, Any], Mapping[str, str]], Any]
"""Post JSON to a path of the running server, with these headers; gives its JSON, or raises NotReady."""


async def serve(
    *, version: str, every: bool, find: Callable[[], Post | None], open_here: Callable[[], Backend]
) -> None:
    """Serve until stdin ends. `find` tells the running server; where there is none, `open_here` opens the database.

    `open_here` is called once, in a thread, and raises NotReady with a sentence when it cannot.
    """
    if find() is None:
        sys.stderr.write(NOTHING_FIRES + "\n")
    async with stdio_server() as (reads, writes):
        server = make_server(_Nearest(every, find, open_here), version)
        await server.run(reads, writes, server.create_initialization_options())


@dataclass(frozen=True, kw_only=True)
class _Remote:
    """The tools of a running server: every call is one request to its /mcp, which keeps nothing between two."""

    post: Post
    every: bool

    async def tools(self) -> list[Tool]:
        return ListToolsResult.model_validate(await self._ask("tools/list", {})).tools

    async def call(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        try:
            return CallToolResult.model_validate(await self._ask("tools/call", {"name": name, "arguments": arguments}))
        except Refused as refusal:
            return refused(refusal)
        except NotReady as error:
            return failed("not_ready", str(error))

    async def _ask(self, method: str, params: dict[str, Any]) -> Any:
        meta: dict[str, Any] = {PROTOCOL_VERSION_META_KEY: LATEST_MODERN_VERSION, CLIENT_CAPABILITIES_META_KEY: {}}
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params | {"_meta": meta}}
        headers = {
            "Accept": "application/json, text/event-stream",
            MCP_PROTOCOL_VERSION_HEADER: LATEST_MODERN_VERSION,
            MCP_METHOD_HEADER: method,
        }
        if "name" in params:
            headers[MCP_NAME_HEADER] = encode_header_value(params["name"])
        path = "/mcp?tools=all" if self.every else "/mcp"
        match await in_daemon_thread(partial(self.post, path, message, headers)):
            case {"result": result}:
                return result
            case {"error": {"code": int(code), "message": str(text)}}:
                raise MCPError(code, text)
            case {"detail": str(detail), "code": str(code)}:
                raise Refused(detail, code=code)
            case _:
                raise NotReady("The server answered, and not as Homing does. Check HOMING_URL.")


class _Nearest:
    """Looks again at each call: servers come and go while an MCP client stays."""

    def __init__(self, every: bool, find: Callable[[], Post | None], open_here: Callable[[], Backend]) -> None:
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

    def _there(self) -> _Remote | None:
        post = self._find()
        return _Remote(post=post, every=self._every) if post else None

    async def _local(self) -> Backend:
        async with self._opening:
            if self._here is None:
                self._here = await asyncio.to_thread(self._open_here)
            return self._here
