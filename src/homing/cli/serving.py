"""The app with all doors that speak HTTP, and its server on a socket that we hold."""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncGenerator, Callable, Generator
from functools import partial

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from homing.cli.problems import failed
from homing.model.people import Caller
from homing.settings import Settings
from homing.web.app import make_app
from homing.web.bodies import read_body
from homing.web.connections import BACKLOG
from homing.web.endpoint import let_in
from homing.web.hosts import check_origin
from homing.web.server import make_server
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


def bind(settings: Settings) -> socket.socket:
    """Take the port, before anything slow is done."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=BACKLOG)
    except OSError as error:
        reason = os.strerror(error.errno).lower() if error.errno else str(error)
        raise failed(
            f"Port {settings.port} on {settings.host} cannot be used: {reason}.",
            code="port_taken",
            hint="Choose another with --port or HOMING_PORT; 0 takes a free one.",
        ) from None


@contextlib.contextmanager
def _no_signals() -> Generator[None]:
    yield


@contextlib.asynccontextmanager
async def serving(app: Starlette, listening: socket.socket) -> AsyncGenerator[asyncio.Task[None]]:
    """Serve for as long as the block lasts; the task ends early only if the server breaks."""
    host, port = listening.getsockname()[:2]
    server = make_server(app, host=host, port=port)
    # Signals are ours: turns finish or are handed back before the doors close.
    server.capture_signals = _no_signals
    task = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started and not task.done():  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.005)
    try:
        yield task
    finally:
        server.should_exit = True
        await task
