"""`homing up`, `serve` and `work`, and the Homing inside an open chat: one start-up, with doors, an engine, or both."""

import asyncio
import shutil
import signal
import socket
import sys
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from homing.cli.home import announced, make_home, only_engine, sqlite_file
from homing.cli.problems import Problem, failed, refused
from homing.cli.shutdown import THREADS, end_here, on_signals, run_out, until
from homing.client.home import announced_url
from homing.settings import Settings, load

if TYPE_CHECKING:
    from homing.model.model_setting import ModelSetting
    from homing.wiring import Engine, Homing

Host = Annotated[str | None, typer.Option(help="Where to listen; default 127.0.0.1 (HOMING_HOST).")]
Port = Annotated[int | None, typer.Option(min=0, max=65535, help="Default 4664 (HOMING_PORT); 0 takes a free port.")]


def up(
    host: Host = None,
    port: Port = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open a browser.")] = False,
) -> None:
    """Start everything in one process: server, scheduler, runner and courier."""
    _run(_told(load(), host, port), doors=True, works=True, opens=not no_open)


def serve(
    host: Host = None,
    port: Port = None,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Accepted for symmetry with `up`; no browser is opened here.")
    ] = False,
) -> None:
    """Start only the server (API, page, MCP); needs PostgreSQL, and `homing work` somewhere."""
    _run(_need_postgres(_told(load(), host, port), "serve"), doors=True)


def work() -> None:
    """Start only an engine (scheduler, runner, courier); needs PostgreSQL. Start as many as you like."""
    _run(_need_postgres(load(), "work"), works=True)


def _told(settings: Settings, host: str | None, port: int | None) -> Settings:
    return replace(settings, host=host or settings.host, port=settings.port if port is None else port)


def _need_postgres(settings: Settings, command: str) -> Settings:
    """SQLite has one engine process; splitting doors from engine needs a database that several may share."""
    if settings.database_url.startswith("sqlite"):
        raise refused(
            f"`homing {command}` needs PostgreSQL: SQLite belongs to one process.",
            hint="Use `homing up`, or set HOMING_DATABASE_URL to postgresql://…",
        )
    return settings


def _run(settings: Settings, *, doors: bool = False, works: bool = False, opens: bool = False) -> None:
    with ExitStack() as held:
        make_home(settings)
        listening = _take(settings, held, works=works) if doors else None
        ended = run_out(_live(settings, listening, works=works, opens=opens))
    if not ended:
        end_here()


def _take(settings: Settings, held: ExitStack, *, works: bool) -> socket.socket:
    """Take the port and the database file before anything slow is done; both are freed when the stack unwinds."""
    from homing.cli.serving import bind
    from homing.web.hosts import check_exposure

    check_exposure(settings)
    if works and (url := announced_url(settings)) is not None:
        raise failed(
            f"Homing is already running at {url} (home: {settings.home}).",
            code="already_running",
            hint="Open its page: `homing open`. To have a second one, set HOMING_HOME to another folder.",
        )
    listening = held.enter_context(bind(settings))
    if works and (database := sqlite_file(settings)) is not None:
        held.enter_context(only_engine(database, settings.home))
    return listening


@asynccontextmanager
async def _opened(settings: Settings, *, doors: bool) -> "AsyncGenerator[Homing]":
    """Open this home's database, and let its owner in at its doors. It is closed at the end, also of a failed start."""
    from homing.cli.instance import admit_owner
    from homing.wiring import prepare, wire

    homing = wire(settings)
    try:
        prepare(homing)
        if doors:
            admit_owner(homing)
        yield homing
    finally:
        await homing.store.close()


@asynccontextmanager
async def started(
    homing: "Homing", listening: socket.socket | None, engine: "Engine | None"
) -> "AsyncGenerator[list[asyncio.Task[None]]]":
    """Run doors, an engine, or both; give the tasks that end early if they break. At the end turns are handed back."""
    from homing.wiring import running, watching

    async with AsyncExitStack() as parts:
        if engine is None:
            await homing.store.bell.open()
        tasks: list[asyncio.Task[None]] = []
        if listening is not None:
            from homing.cli.serving import make_doors, serving

            tasks.append(await parts.enter_async_context(serving(make_doors(homing), listening)))
        await parts.enter_async_context(watching(homing) if engine is None else running(homing, engine))
        yield tasks


async def _live(settings: Settings, listening: socket.socket | None, *, works: bool, opens: bool) -> None:
    from homing.cli.logs import set_up_logs
    from homing.cli.opening import can_open, open_browser
    from homing.wiring import make_engine

    set_up_logs()
    told = on_signals(signal.SIGINT, signal.SIGTERM)
    base, link = "", None
    if listening is not None:
        # The page must name the port that was really taken.
        settings = replace(settings, port=listening.getsockname()[1])
        base = _link_base(settings, listening)
    async with AsyncExitStack() as parts:
        homing = await parts.enter_async_context(_opened(settings, doors=listening is not None))
        if listening is not None:
            link = _link(homing, base)
        engine = make_engine(homing, apart=listening is None) if works else None
        tasks = await parts.enter_async_context(started(homing, listening, engine))
        with ExitStack() as shown:
            if listening is not None:
                shown.enter_context(announced(settings, _url_of(listening)))
                await _greet(homing, base, link)
            elif engine is not None:
                from homing.operations.models import default_model
                from homing.store import maintenance

                chosen = await homing.store.read(maintenance.model_setting)
                model = default_model(homing.instance, chosen)
                _say(f"Working on {_database(settings)} as {engine.worker_id}, model {model}.")
                _warn_of_model(homing, chosen)
            if opens and link is not None and can_open():
                open_browser(link)
            await until(told, *tasks)
            if engine is not None:
                _say("Stopping: turns finish or are handed back.")


def _url_of(listening: socket.socket) -> str:
    """Tell the address under which this machine reaches the server."""
    host, port = listening.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104 - a comparison, not a way to listen
        host = "127.0.0.1"
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _link_base(settings: Settings, listening: socket.socket) -> str:
    """Tell the address that goes into links."""
    return settings.public_url or _url_of(listening)


def _link(homing: "Homing", base: str) -> str | None:
    """Make a sign-in link for a terminal. A revoked token gives none, and what is scheduled goes on all the same."""
    from homing.cli.instance import sign_in_link

    try:
        link = sign_in_link(homing, base)
    except Problem as problem:
        _say(f"{problem.detail} {problem.hint or ''}".rstrip())
        return None
    # Anything else is a file or a journal that others may read: it must not contain a sign-in link.
    return link if sys.stdout.isatty() else None


async def _greet(homing: "Homing", base: str, link: str | None) -> None:
    from homing.cli.format import away, moment, now
    from homing.cli.instance import UNMARKED_FIX, unmarked_words
    from homing.operations.kept_channels import with_kept
    from homing.operations.models import server_model
    from homing.store import jobs, maintenance, people

    instance, zone = homing.instance, homing.settings.timezone
    wake, unmarked, chosen, channels = await homing.store.read(
        lambda tx: (
            jobs.next_wake(tx),
            people.count_unmarked_admins(tx),
            maintenance.model_setting(tx),
            with_kept(tx, homing.settings).channel_names,
        )
    )
    model = server_model(instance, chosen)
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
    _say(f"  Model      {model.name}: {model.why}")
    _warn_of_model(homing, chosen)
    _say(f"  Channels   {', '.join(channels) or 'none yet; `homing channels add telegram` adds one'}")
    _say(f"  Database   {_database(homing.settings)}")
    _say(f"  Command    {command_path()}")
    if unmarked:
        _say(f"  Warning    {unmarked_words(unmarked)} {UNMARKED_FIX}")
    _say(f"  Time zone  {zone}")
    _say(f"  Next wake  {upcoming}")
    _say("")


def command_path() -> str:
    """Tell how the command is called from anywhere: it may lie in a virtual environment that is on no PATH."""
    given = Path(sys.argv[0])
    if given.name == "__main__.py":
        return f"{sys.executable} -m homing"
    found = shutil.which(str(given)) or str(given)
    return str(Path(found).absolute())


def _warn_of_model(homing: "Homing", chosen: "ModelSetting | None") -> None:
    """Say that turns will fail with the server's model; reminders and everything else go on without it."""
    from homing.operations.models import why_failing

    why = why_failing(homing.instance, chosen)
    if why is not None:
        _say(f"  Warning    {why} Turns fail until `homing model set` or HOMING_MODEL names one that works here.")


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


@contextmanager
def own_server(settings: Settings) -> Generator[str]:
    """Run everything in a thread of its own; give its address. At the end turns finish or are handed back."""
    settings = replace(settings, host="127.0.0.1", port=0, public_url=None)
    with ExitStack() as held:
        make_home(settings)
        listening = _take(settings, held, works=True)
        url = _url_of(listening)
        engine = _EngineThread(replace(settings, port=listening.getsockname()[1]), listening)
        engine.start()
        held.callback(engine.stop)
        held.enter_context(announced(settings, url))
        yield url


class _EngineThread:
    """A thread with a loop in which Homing lives."""

    def __init__(self, settings: Settings, listening: socket.socket) -> None:
        self._settings = settings
        self._listening = listening
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._told: asyncio.Event | None = None
        self._over = threading.Event()
        self._ended = True
        self._thread = threading.Thread(target=self._run, name=f"{THREADS}-engine", daemon=True)

    def start(self) -> None:
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            self._thread.join()
            raise self._failure

    def stop(self) -> None:
        if self._loop is not None and self._told is not None and not self._over.is_set():
            self._loop.call_soon_threadsafe(self._told.set)
        self._over.wait()
        if self._ended:
            self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            self._ended = run_out(self._live())
        except BaseException as error:  # noqa: BLE001 - told to the thread that waits for us
            self._failure = error
        finally:
            self._ready.set()
            self._over.set()
        if not self._ended:
            # Kept as it is: taken apart it would only complain, and `leave` ends it with the process.
            threading.Event().wait()

    async def _live(self) -> None:
        from homing.cli.logs import quiet_logs
        from homing.wiring import make_engine

        quiet_logs()
        self._loop, self._told = asyncio.get_running_loop(), asyncio.Event()
        async with (
            _opened(self._settings, doors=True) as homing,
            started(homing, self._listening, make_engine(homing)) as tasks,
        ):
            self._ready.set()
            await until(self._told, *tasks)
