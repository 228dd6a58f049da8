"""The end of a process. Every command comes by here, so it needs nothing but Python's own."""

import os
import sys
import threading

THREADS = "homing-thread"


def leave(code: int) -> None:
    """End the process with this code, on the spot if a thread of ours still works."""
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
