"""`homing up`, `serve` and `work`: the processes. Each takes what can be taken before it does anything slow."""

import asyncio
import signal
import socket
import sys
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from homing.cli.ending import run_out
from homing.cli.home import announced, make_home, only_engine, sqlite_file
from homing.cli.leaving import end_here
from homing.cli.problems import Problem
from homing.settings import Settings, load

if TYPE_CHECKING:
    from homing.wiring import Homing

Host = Annotated[str | None, typer.Option(help="Where to listen; 127.0.0.1 unless told (HOMING_HOST).")]
Port = Annotated[int | None, typer.Option(min=0, max=65535, help="4664 unless told (HOMING_PORT); 0 takes a free one.")]


def up(
    host: Host = None,
    port: Port = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser.")] = False,
) -> None:
    """Start everything in one process: doors, scheduler, runner, courier."""
    settings = _told(load(), host, port)
    with ExitStack() as held:
        listening = _open_doors(settings, held)
        if (database := sqlite_file(settings)) is not None:
            held.enter_context(only_engine(database, settings.home))
        ended = run_out(_up(settings, listening, opens=not no_open))
    if not ended:
        end_here()


def serve(
    host: Host = None,
    port: Port = None,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Accepted for symmetry with `up`; no browser is opened here.")
    ] = False,
) -> None:
    """Start the doors alone (API, page); needs PostgreSQL, and `homing work` somewhere."""
    from homing.cli.house import need_postgres

    settings = _told(load(), host, port)
    need_postgres(settings, "serve")
    with ExitStack() as held:
        listening = _open_doors(settings, held)
        ended = run_out(_serve(settings, listening))
    if not ended:
        end_here()


def work() -> None:
    """Start an engine alone (scheduler, runner, courier); needs PostgreSQL. Start as many as you like."""
    from homing.cli.house import need_postgres

    settings = load()
    need_postgres(settings, "work")
    make_home(settings)
    if not run_out(_work(settings)):
        end_here()


def _told(settings: Settings, host: str | None, port: int | None) -> Settings:
    return replace(settings, host=host or settings.host, port=settings.port if port is None else port)


def _open_doors(settings: Settings, held: ExitStack) -> socket.socket:
    """Check the home and take the port; both are freed when the stack unwinds."""
    from homing.cli.serving import bind
    from homing.web.hosts import check_exposure

    make_home(settings)
    check_exposure(settings)
    listening = bind(settings)
    held.callback(listening.close)
    return listening


async def _up(settings: Settings, listening: socket.socket, *, opens: bool) -> None:
    from homing.cli.browser import can_open, open_browser
    from homing.cli.serving import link_base, on_signals, serving, until, url_of
    from homing.wiring import make_engine, report_sandbox, running

    told = on_signals(signal.SIGINT, signal.SIGTERM)
    # The page must name the port that was really taken.
    settings = replace(settings, port=listening.getsockname()[1])
    homing, app = _make(settings)
    base = link_base(settings, listening)
    link = _link(homing, base)
    trial = asyncio.create_task(report_sandbox(settings))
    async with serving(app, listening) as server, running(homing, make_engine(homing)):
        with announced(settings, url_of(settings, listening)):
            await _greet(homing, base, link)
            if opens and link is not None and can_open():
                open_browser(link)
            await until(told, server)
            _say("Stopping: turns finish or are handed back.")
            trial.cancel()
    await homing.store.close()


async def _serve(settings: Settings, listening: socket.socket) -> None:
    from homing.cli.serving import link_base, on_signals, serving, until, url_of
    from homing.wiring import watching

    told = on_signals(signal.SIGINT, signal.SIGTERM)
    settings = replace(settings, port=listening.getsockname()[1])
    homing, app = _make(settings)
    base = link_base(settings, listening)
    link = _link(homing, base)
    await homing.store.bell.open()
    async with serving(app, listening) as server, watching(homing):
        with announced(settings, url_of(settings, listening)):
            await _greet(homing, base, link)
            await until(told, server)
    await homing.store.close()


async def _work(settings: Settings) -> None:
    from homing.cli.house import open_instance
    from homing.cli.logs import set_up_logs
    from homing.cli.serving import on_signals, until
    from homing.wiring import make_engine, report_sandbox, running

    set_up_logs()
    told = on_signals(signal.SIGINT, signal.SIGTERM)
    homing = open_instance(settings)
    engine = make_engine(homing, apart=True)
    trial = asyncio.create_task(report_sandbox(settings))
    async with running(homing, engine):
        _say(f"Working on {_database(settings)} as {engine.worker_id}, model {homing.instance.model}.")
        _warn_of_model(homing)
        await until(told)
        _say("Stopping: turns finish or are handed back.")
        trial.cancel()
    await homing.store.close()


def _make(settings: Settings) -> tuple["Homing", Any]:
    from homing.cli.doors import make_doors
    from homing.cli.house import admit_owner, open_instance
    from homing.cli.logs import set_up_logs

    set_up_logs()
    homing = open_instance(settings)
    admit_owner(homing)
    return homing, make_doors(homing)


def _link(homing: "Homing", base: str) -> str | None:
    """Make a sign-in link for a terminal. A revoked token gives none, and what is scheduled goes on all the same."""
    from homing.cli.codes import sign_in_link

    try:
        link = sign_in_link(homing, base)
    except Problem as problem:
        _say(f"{problem.detail} {problem.hint or ''}".rstrip())
        return None
    # Anything else is a file or a journal that others may read: it must not contain a sign-in link.
    return link if sys.stdout.isatty() else None


async def _greet(homing: "Homing", base: str, link: str | None) -> None:
    from homing.cli.format import away, moment, now
    from homing.cli.house import UNMARKED_FIX, unmarked_words
    from homing.store import jobs, people

    instance, zone = homing.instance, homing.settings.timezone
    wake, unmarked = await homing.store.read(lambda tx: (jobs.next_wake(tx), people.count_unmarked_admins(tx)))
    if wake is None:
        upcoming = "nothing is scheduled"
    else:
        from zoneinfo import ZoneInfo

        upcoming = f"{moment(wake.astimezone(ZoneInfo(zone)), now())} {zone}, {away(wake, now())}"
    _say(f"Homing {instance.version} is up.")
    _say("")
    _say(f"  Open       {link or base}")
    if link is not None:
        _say("             (once, within ten minutes; `homing open` gives a fresh one)")
    else:
        _say("             (`homing open` gives a link to sign in)")
    _say(f"  Model      {instance.model}: {instance.model_why}")
    _warn_of_model(homing)
    _say(f"  Database   {_database(homing.settings)}")
    if unmarked:
        _say(f"  Warning    {unmarked_words(unmarked)} {UNMARKED_FIX}")
    _say(f"  Time zone  {zone}")
    _say(f"  Next wake  {upcoming}")
    _say("")


def _warn_of_model(homing: "Homing") -> None:
    """Say that turns will fail with the model of the settings; reminders and everything else go on without it."""
    instance = homing.instance
    why = None if instance.model_offline else instance.why_unusable(instance.model)
    if why is not None:
        _say(f"  Warning    {why} Turns fail until HOMING_MODEL names one that works here.")


def _database(settings: Settings) -> str:
    """Show the database without its password."""
    file = sqlite_file(settings)
    if file is not None:
        return f"SQLite, {file}"
    from urllib.parse import urlsplit

    at = urlsplit(settings.database_url)
    return f"PostgreSQL, {at.hostname or 'local'}{at.path}"


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
