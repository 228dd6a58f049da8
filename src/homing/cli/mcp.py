"""`homing mcp`: the side door, over stdio."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from homing import __version__
from homing.cli.home import make_home
from homing.cli.logs import quiet_logs
from homing.cli.problems import Problem
from homing.client.home import known_token, server_url
from homing.model.contract import Json
from homing.model.errors import NotReady
from homing.settings import Settings, load

if TYPE_CHECKING:
    from homing.mcp.local import LocalBackend
    from homing.mcp.stdio import Post
    from homing.wiring import Homing


def mcp(
    tools: Annotated[Literal["default", "all"], typer.Option(help="`all` offers most other operations too.")] = (
        "default"
    ),
) -> None:
    """Serve this Homing to an MCP client over stdin and stdout."""
    import asyncio
    import signal

    quiet_logs()
    # The thread that reads stdin hears no cancellation, and Python would wait for it; what we keep survives a kill.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(_serve(load(), every=tools == "all"))


async def _serve(settings: Settings, *, every: bool) -> None:
    from homing.mcp.stdio import serve

    opened: list[Homing] = []

    def open_here() -> "LocalBackend":
        here, homing = _open(settings, every=every)
        opened.append(homing)
        return here

    try:
        await serve(version=__version__, every=every, find=lambda: _find(settings), open_here=open_here)
    finally:
        for homing in opened:
            await homing.store.close()


def _find(settings: Settings) -> "Post | None":
    from homing.client.remote import Client

    url = server_url(settings)
    if url is None:
        return None

    def post(path: str, message: Json, headers: Mapping[str, str]) -> Any:
        try:
            # A connection of its own: calls come side by side.
            with Client(url, known_token(settings)) as client:
                return client.exchange("POST", path, message, headers)[1]
        except Problem as problem:
            raise _not_ready(problem) from None

    return post


def _open(settings: Settings, *, every: bool) -> "tuple[LocalBackend, Homing]":
    from homing.cli.instance import caller_here, open_instance
    from homing.mcp.local import LocalBackend

    try:
        make_home(settings)
        homing = open_instance(settings)
        caller = homing.store.write_now(caller_here(homing, "mcp"))
    except Problem as problem:
        raise _not_ready(problem) from None
    return LocalBackend(store=homing.store, instance=homing.instance, caller=caller, every=every), homing


def _not_ready(problem: Problem) -> NotReady:
    return NotReady(" ".join(filter(None, (problem.detail, problem.hint))))
