"""`homing open`: a fresh sign-in link to the running server's page."""

import asyncio
import os
import sys
from typing import Annotated
from urllib.parse import urlsplit

import typer

from homing.cli.connection import AsJson
from homing.cli.output import write_json
from homing.cli.problems import failed
from homing.client.home import announced_url
from homing.settings import load


def open_page(
    no_open: Annotated[bool, typer.Option("--no-open", help="Only print the link.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print a fresh sign-in link (once, within ten minutes), and open it where there is a browser."""
    settings = load()
    url = announced_url(settings)
    if settings.url and not _is_same(settings.url, url, settings.public_url):
        raise failed(
            f"A link to {settings.url} can be made only where that server runs.",
            hint="Run `homing open` there, or open the page and sign in with a token (`homing tokens create`).",
        )
    if url is None:
        raise failed(f"Homing isn't running (home: {settings.home}).", hint="Start it: `homing up` prints a link, too.")
    from homing.cli.instance import open_instance, sign_in_link
    from homing.cli.logs import quiet_logs

    quiet_logs()
    homing = open_instance(settings)
    link = sign_in_link(homing, settings.public_url or url)
    asyncio.run(homing.store.close())
    if as_json:
        write_json({"url": link})
    else:
        typer.echo(link)
    if not no_open and not as_json and can_open():
        open_browser(link)


def _is_same(wanted: str, url: str | None, public_url: str | None) -> bool:
    """Say whether HOMING_URL means this home's own server, by whichever name."""
    if url is None or wanted in (url, public_url):
        return url is not None
    host, port = urlsplit(wanted).hostname or "", urlsplit(wanted).port
    return host in ("localhost", "127.0.0.1", "::1") and port == urlsplit(url).port


def can_open() -> bool:
    """Say whether a person sits in front of a screen that shows pages."""
    if not sys.stdout.isatty() or os.environ.get("SSH_CONNECTION"):
        return False
    if sys.platform == "darwin":
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def open_browser(url: str) -> None:
    import webbrowser

    webbrowser.open(url)
