"""What every command needs: the settings, the server it talks to, and the output."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from homing.cli.home import make_home
from homing.cli.output import Screen, note
from homing.cli.problems import failed
from homing.client.base import BaseClient
from homing.client.home import known_token, server_url
from homing.client.problems import Unreachable
from homing.model.clock import NOTHING_FIRES
from homing.settings import Settings, load

if TYPE_CHECKING:
    from homing.client.remote import Client

CLI = "homing-cli"
"""How commands name themselves to a server, which writes down the door."""

AsJson = Annotated[bool, typer.Option("--json", help="Print the API's JSON; lists have one object per line.")]


@dataclass(frozen=True, kw_only=True)
class Connection:
    """One command at work."""

    settings: Settings
    server: BaseClient
    screen: Screen


@contextmanager
def connected(as_json: bool) -> Generator[Connection]:
    """Connect to the server or the database; at the end say if nothing fires."""
    settings = load()
    server = reach(settings)
    screen = Screen(as_json=as_json)
    try:
        yield Connection(settings=settings, server=server, screen=screen)
    finally:
        server.close()
    if not server.alive or NOTHING_FIRES in screen.warnings:
        note(NOTHING_FIRES)


def reach(settings: Settings) -> BaseClient:
    """Find the server: HOMING_URL, else this home's server, else the database in this process."""
    found = running_server(settings)
    if found is not None:
        return found
    from homing.cli.instance import caller_here, open_instance
    from homing.cli.logs import quiet_logs
    from homing.client.local import LocalClient

    quiet_logs()
    make_home(settings)
    homing = open_instance(settings)
    return LocalClient(homing, caller_here(homing, "cli"))


def running_server(settings: Settings) -> "Client | None":
    """Find a running server; a set HOMING_URL that does not answer is an error, never passed over."""
    from homing.client.remote import Client

    url = server_url(settings)
    if url is None:
        return None
    server = Client(url, known_token(settings), user_agent=CLI)
    try:
        server.connect()
    except Unreachable:
        if settings.url:
            raise
        # It holds its lock and does not listen: it is starting, or on its way out.
        raise failed(f"The server of this home ({url}) does not answer.", hint="Try again in a moment.") from None
    return server


def need_server(connection: Connection, what: str) -> None:
    """Refuse what makes no sense while nothing fires."""
    if not connection.server.alive:
        raise failed(f"{what} needs a running server, and none is.", hint="Start one: `homing up`.")
