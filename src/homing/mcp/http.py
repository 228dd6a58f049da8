"""Streamable HTTP at /mcp. Nothing is kept between two requests: each brings its proof and names its session."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from homing.mcp.backend import make_server
from homing.mcp.local import Closed, LocalBackend
from homing.model.bounds import check_structure
from homing.model.errors import Malformed
from homing.model.people import Caller
from homing.operations.context import Instance
from homing.store import Store

Read = Callable[[Request], Awaitable[bytes]]
"""Read a body of bounded size; a bigger one is refused."""
Admit = Callable[[Request], Awaitable[Caller]]
"""Find out who asks, and that they may; else a refusal."""


def make_mcp_app(*, store: Store, instance: Instance, admit: Admit, read: Read, closed: Closed) -> ASGIApp:
    """Make what stands at /mcp; it needs no lifespan. The app around it checks the Host and answers what is refused."""
    return _SideDoor(store, instance, admit, read, closed)


class _SideDoor:
    # An object, because a router takes a function for something that returns its response.
    def __init__(self, store: Store, instance: Instance, admit: Admit, read: Read, closed: Closed) -> None:
        self._store = store
        self._instance = instance
        self._admit = admit
        self._read = read
        self._closed = closed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            # None of our streams stays open, and no session is there to be ended.
            raise HTTPException(405, "MCP is spoken by POST here; there is no stream to open.", {"Allow": "POST"})
        request = Request(scope, receive)
        caller = replace(await self._admit(request), door="mcp")
        body = await self._read(request)
        # The library reads and copies whatever it is given, on the event loop; arguments are counted when it is done.
        check_structure(body)
        here = LocalBackend(
            store=self._store, instance=self._instance, caller=caller, every=_wants_all(request), closed=self._closed
        )
        # A manager of one request: what it would keep between requests is exactly what we do not want kept.
        manager = StreamableHTTPSessionManager(
            app=make_server(here, self._instance.version),
            stateless=True,
            json_response=True,
            max_request_body_size=len(body) + 1,
        )
        async with manager.run():
            await manager.handle_request(scope, _again(body, receive), send)


def _again(body: bytes, receive: Receive) -> Receive:
    """Give a body that was read once more, and then whatever comes."""
    given = False

    async def give() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return give


def _wants_all(request: Request) -> bool:
    tools = request.query_params.get("tools")
    if tools not in (None, "all"):
        raise Malformed("tools is all, or left out: then there are three.")
    return tools == "all"
