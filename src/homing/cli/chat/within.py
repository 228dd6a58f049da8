"""The whole Homing inside this process, for as long as a chat is open and no server runs."""

import asyncio
import socket
import threading
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from homing.cli.ending import run_out
from homing.cli.home import announced, make_home, only_engine, sqlite_file
from homing.cli.leaving import THREADS
from homing.settings import Settings


@contextmanager
def own_server(settings: Settings) -> Generator[str]:
    """Run everything in a thread of its own; give its address. At the end turns finish or are handed back."""
    from homing.cli.serving import bind, url_of

    settings = replace(settings, host="127.0.0.1", port=0, public_url=None)
    make_home(settings)
    with ExitStack() as held:
        if (database := sqlite_file(settings)) is not None:
            held.enter_context(only_engine(database, settings.home))
        listening = bind(settings)
        held.callback(listening.close)
        url = url_of(settings, listening)
        engine = _Engine(replace(settings, port=listening.getsockname()[1]), listening)
        engine.start()
        held.callback(engine.stop)
        held.enter_context(announced(settings, url))
        yield url


class _Engine:
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
        from homing.cli.doors import make_doors
        from homing.cli.house import admit_owner, open_instance
        from homing.cli.logs import quiet_logs
        from homing.cli.serving import serving
        from homing.wiring import make_engine, running

        quiet_logs()
        self._loop, self._told = asyncio.get_running_loop(), asyncio.Event()
        homing = open_instance(self._settings)
        admit_owner(homing)
        async with serving(make_doors(homing), self._listening), running(homing, make_engine(homing)):
            self._ready.set()
            await self._told.wait()
        await homing.store.close()
