"""The end of a process, also when something in it does not react to its cancellation.

asyncio waits forevery task and every thread, and a tool that ignores its cancellation would keep the process forever.
By the time the main part has ended all that counts is on record, so the rest may die with the process. Every command
imports this module, so it needs only what is light of Python's own.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

THREADS = "homing-thread"
_LAST_SECONDS = 1.0


def leave(code: int) -> None:
    """End the process with this code, at once if one of our threads still works."""
    if our_threads():
        end_here(code)
    sys.exit(code)


def end_here(code: int = 0) -> None:
    """End the process on the spot: Python itself would wait for what has not ended."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def our_threads() -> list[threading.Thread]:
    """List the threads in which an engine or its blocking work lives, but not the one that asks."""
    others = (thread for thread in threading.enumerate() if thread is not threading.current_thread())
    return [thread for thread in others if thread.name.startswith(THREADS)]


def run_out(main: Coroutine[Any, Any, None]) -> bool:
    """Run the main part of a process; say whether everything in it has ended."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    runner = asyncio.Runner()
    pool = ThreadPoolExecutor(thread_name_prefix=THREADS)
    runner.get_loop().set_default_executor(pool)
    try:
        runner.run(main)
    except BaseException:
        runner.close()
        raise
    pool.shutdown(wait=False, cancel_futures=True)
    deaf = [*runner.run(_deaf_tasks()), *_deaf_threads()]
    if not deaf:
        runner.close()
        return True
    import structlog

    log = structlog.get_logger(__name__)
    log.warning("left_deaf", deaf=deaf)
    return False


async def _deaf_tasks() -> list[str]:
    import asyncio

    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if not others:
        return []
    _, deaf = await asyncio.wait(others, timeout=_LAST_SECONDS)
    return [str(getattr(task.get_coro(), "__qualname__", task.get_name())) for task in deaf]


def _deaf_threads() -> list[str]:
    """Name the threads that still work; a look-up of a name can take half a minute, and hears nothing meanwhile."""
    ends = time.monotonic() + _LAST_SECONDS
    ours = our_threads()
    for thread in ours:
        thread.join(max(0.0, ends - time.monotonic()))
    return [thread.name for thread in ours if thread.is_alive()]


def on_signals(*numbers: signal.Signals) -> "asyncio.Event":
    """Make an event that a signal sets; a second signal ends the process at once."""
    import asyncio

    told = asyncio.Event()
    loop = asyncio.get_running_loop()

    def tell(number: signal.Signals) -> None:
        told.set()
        loop.remove_signal_handler(number)
        signal.signal(number, signal.SIG_DFL)

    for number in numbers:
        loop.add_signal_handler(number, tell, number)
    return told


async def until(told: "asyncio.Event", *tasks: "asyncio.Task[None]") -> None:
    """Wait for the event or the first task that ends."""
    import asyncio

    waiting = asyncio.create_task(told.wait())
    await asyncio.wait({waiting, *tasks}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
