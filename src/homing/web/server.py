"""uvicorn, as Homing runs it: streams end before it waits for connections, and its own log is ours."""

import socket

import uvicorn
from fastapi import FastAPI

from homing.web.stream import Streams

_GRACE_SECONDS = 10


class Server(uvicorn.Server):
    """A server that says goodbye to streams first: they would hold it up until the last browser is closed."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        app = self.config.app
        if isinstance(app, FastAPI):
            streams: Streams = app.state.streams
            streams.leave()
        await super().shutdown(sockets)


def make_server(app: FastAPI, *, host: str, port: int) -> Server:
    """Make the server of an app; `await server.serve()` runs it until SIGINT or SIGTERM."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        lifespan="on",
        ws="none",
        # Access lines and errors are written by the guard, without tokens.
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    return Server(config)
