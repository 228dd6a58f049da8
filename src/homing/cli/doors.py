"""Every door that speaks HTTP in one app: the front door, and beside it the MCP door at /mcp."""

import asyncio
from collections.abc import Callable
from functools import partial

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from homing.model.people import Caller
from homing.web.app import make_app
from homing.web.bodies import read_body
from homing.web.endpoint import let_in
from homing.web.hosts import check_origin
from homing.web.state import AppState
from homing.web.waiting import closed
from homing.wiring import Homing


def make_doors(homing: Homing) -> Starlette:
    """Make the app that a server runs. Both doors ask for the same proof and count in the same buckets."""
    app = make_app(store=homing.store, instance=homing.instance, clock=homing.clock)
    state: AppState = app.state.homing

    async def admit(request: Request) -> Caller:
        check_origin(request, homing.settings)
        return await let_in(state, request)

    def make_mcp() -> ASGIApp:
        from homing.mcp.http import make_mcp_app

        return make_mcp_app(
            store=homing.store, instance=homing.instance, admit=admit, read=read_body, closed=partial(closed, state)
        )

    app.router.routes.append(Route("/mcp", endpoint=_MadeWhenAsked(make_mcp)))
    return app


class _MadeWhenAsked:
    """An app that is made for its first request: MCP's library takes half a second to import, and not all need it."""

    def __init__(self, make: Callable[[], ASGIApp]) -> None:
        self._make = make
        self._made: ASGIApp | None = None
        self._making = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._making:
            if self._made is None:
                self._made = await asyncio.to_thread(self._make)
        await self._made(scope, receive, send)
