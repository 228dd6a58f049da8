"""A test server as a process of its own."""

import json
import signal
import sys
import threading
from collections.abc import Mapping


def run_until_told(where: Mapping[str, str]) -> None:
    """Print one line that says where the server is, and wait for SIGTERM or SIGINT."""
    told = threading.Event()

    def tell(*_: object) -> None:
        told.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, tell)
    sys.stdout.write(json.dumps(where) + "\n")
    sys.stdout.flush()
    told.wait()
