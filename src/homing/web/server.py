"""uvicorn, as Homing runs it: streams end before it waits for connections, and its own log is ours."""

import asyncio
import socket
from functools import partial
from typing import Any

import structlog
import uvicorn
from starlette.applications import Starlette

from homing.web.connections import ACCEPTED_AT_ONCE, BACKLOG, Connection, Patience, UnprovenConnections, connection_cap
from homing.web.state import AppState
from homing.web.stream import Streams

try:
    import resource
except ImportError:  # Windows has no such limit
    resource = None

log = structlog.get_logger(__name__)

_GRACE_SECONDS = 10
_MANY_DESCRIPTORS = 65_536
_ACCEPT_FAILED = "socket.accept() out of system resource"
_BETWEEN_LINES_SECONDS = 1.0


class Server(uvicorn.Server):
    """A server that says goodbye to streams first: they would hold it up until the last browser is closed."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        _log_accept_failures_seldom(asyncio.get_running_loop())
        await super().startup(sockets)
        for listening in (one for server in self.servers for one in server.sockets):
            # asyncio has one number for what the system keeps and for what it accepts at once; the first may be larger.
            with listening.dup() as same:
                same.listen(BACKLOG)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        app = self.config.app
        if isinstance(app, Starlette):
            streams: Streams = app.state.streams
            streams.leave()
        await super().shutdown(sockets)


def make_server(
    app: Starlette, *, host: str, port: int, patience: Patience | None = None, cap: int | None = None
) -> Server:
    """Make the server of an app; `await server.serve()` runs it until SIGINT or SIGTERM."""
    state: AppState = app.state.homing
    unproven = UnprovenConnections(cap=cap or connection_cap(raise_descriptor_limit()), patience=patience or Patience())
    state.streams.most_per_user = unproven.cap // 4
    connect: Any = partial(Connection, unproven=unproven)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=connect,
        lifespan="on",
        ws="none",
        backlog=ACCEPTED_AT_ONCE,
        # Access lines and errors are written by the guard, without tokens; of a client's bad requests nothing is.
        access_log=False,
        log_config=None,
        log_level="error",
        server_header=False,
        # Anyone on this machine can claim to forward for others; a proxy is trusted once its operator named it.
        proxy_headers=state.settings.public_url is not None,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    return Server(config)


def raise_descriptor_limit() -> int:
    """Take as many descriptors as the system allows without asking, and say how many there are."""
    if resource is None:
        return 512
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MANY_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _MANY_DESCRIPTORS)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return _MANY_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):
        return soft
    return wanted


def _log_accept_failures_seldom(loop: asyncio.AbstractEventLoop) -> None:
    """asyncio writes a traceback for each connection it cannot accept, a hundred a second: one line is enough."""
    logged_at = -_BETWEEN_LINES_SECONDS

    def tell(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal logged_at
        if context.get("message") != _ACCEPT_FAILED:
            loop.default_exception_handler(context)
        elif loop.time() - logged_at >= _BETWEEN_LINES_SECONDS:
            logged_at = loop.time()
            log.warning("accept_failed", reason=str(context.get("exception")))

    loop.set_exception_handler(tell)
