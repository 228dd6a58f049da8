"""Running a process to its end, also when something in it does not hear that it shall stop.

asyncio waits for every task and every thread, and a tool that ignores its cancellation would keep the process forever.
By the time the main part has ended all that counts is on record, so the rest may die with the process.
"""

import asyncio
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import structlog

from homing.cli.leaving import THREADS, our_threads

log = structlog.get_logger(__name__)

_LAST_SECONDS = 1.0


def run_out(main: Coroutine[Any, Any, None]) -> bool:
    """Run the main part of a process; say whether everything in it has ended."""
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
    log.warning("tasks ignored cancellation and end with the process", action="left_deaf", deaf=deaf)
    return False


async def _deaf_tasks() -> list[str]:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if not others:
        return []
    _, deaf = await asyncio.wait(others, timeout=_LAST_SECONDS)
    return [str(getattr(task.get_coro(), "__qualname__", task.get_name())) for task in deaf]


def _deaf_threads() -> list[str]:
    """Name the threads that still work; a look-up of a name can take half a minute, and hears nothing meanwhile."""
    until = time.monotonic() + _LAST_SECONDS
    ours = our_threads()
    for thread in ours:
        thread.join(max(0.0, until - time.monotonic()))
    return [thread.name for thread in ours if thread.is_alive()]
