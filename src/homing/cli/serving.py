"""A server on a socket we hold: we handle the signals, so that turns end or are handed back before the doors close."""

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import AsyncGenerator, Generator

from starlette.applications import Starlette

from homing.cli.problems import failed
from homing.settings import Settings
from homing.web.connections import BACKLOG
from homing.web.server import make_server


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


def url_of(settings: Settings, listening: socket.socket) -> str:
    """Tell the address under which this machine reaches the server."""
    host, port = listening.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104 - a comparison, not a way to listen
        host = "127.0.0.1"
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def link_base(settings: Settings, listening: socket.socket) -> str:
    """Tell the address that goes into links."""
    return settings.public_url or url_of(settings, listening)


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


def on_signals(*numbers: signal.Signals) -> asyncio.Event:
    """Make an event that a signal sets; a second signal ends the process at once."""
    told = asyncio.Event()
    loop = asyncio.get_running_loop()

    def tell(number: signal.Signals) -> None:
        told.set()
        loop.remove_signal_handler(number)
        signal.signal(number, signal.SIG_DFL)

    for number in numbers:
        loop.add_signal_handler(number, tell, number)
    return told


async def until(told: asyncio.Event, *tasks: asyncio.Task[None]) -> None:
    """Wait for the event or the first task that ends."""
    waiting = asyncio.create_task(told.wait())
    await asyncio.wait({waiting, *tasks}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
