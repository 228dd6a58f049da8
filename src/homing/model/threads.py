"""Blocking work that nobody can stop, such as a lookup of a name or a long request."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


async def in_daemon_thread(work: Callable[[], T]) -> T:
    """Run work in a thread of its own. Neither the end of the loop nor of the process waits for it, unlike a pool's."""
    done: Future[T] = Future()
    # Said at once, so that a cancellation leaves it to the thread.
    done.set_running_or_notify_cancel()

    def run() -> None:
        try:
            done.set_result(work())
        except Exception as error:  # noqa: BLE001 - raised where the result is awaited
            done.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return await asyncio.wrap_future(done)
