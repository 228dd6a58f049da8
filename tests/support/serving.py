"""The front door in a process of its own: started, stopped and killed by tests, always at the same address."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.error import URLError
from urllib.request import urlopen

from homing.model.clock import SystemClock
from homing.settings import load
from homing.store import Store
from homing.web.app import make_app
from homing.web.server import make_server
from support.ports import free_port
from support.worlds import make_instance

_STARTS_WITHIN = 40.0
_ENDS_WITHIN = 15.0


class ServerProcess:
    """One server over a database; what it writes goes to a file."""

    def __init__(self, database: str, folder: Path) -> None:
        self.database = database
        self.log = folder / "server.log"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process is not None:
            self.stop(signal.SIGKILL)

    def start(self) -> None:
        """Start, and wait until it answers."""
        tests = Path(__file__).parents[1]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "support.serving", self.database, str(self.port)],
                cwd=tests,
                stdout=log,
                stderr=log,
                env=os.environ | {"PYTHONPATH": str(tests)},
            )
        ends = time.monotonic() + _STARTS_WITHIN
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > ends:
                raise AssertionError(f"The server did not start:\n{self.log.read_text()[-4000:]}")
            time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> float:
        """Stop it one way or another; return how long that took."""
        assert self._process is not None
        began = time.monotonic()
        self._process.send_signal(how)
        self._process.wait(_ENDS_WITHIN)
        self._process = None
        return time.monotonic() - began

    def _answers(self) -> bool:
        try:
            with urlopen(f"{self.url}/healthz", timeout=1) as response:
                return response.status == 200
        except (URLError, OSError):
            return False


def main(database: str, port: int) -> None:
    """Serve until told to stop."""
    clock = SystemClock()
    settings = load({"HOMING_HOME": "/nonexistent", "TZ": "UTC", "HOMING_PORT": str(port)})
    store = Store(database, clock, fsync=False)
    app = make_app(store=store, instance=make_instance(settings), clock=clock)
    asyncio.run(make_server(app, host="127.0.0.1", port=port).serve())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
