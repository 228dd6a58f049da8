"""The process under attack: `homing up` in a home of its own, with few descriptors, and what can be seen of it."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.error import URLError
from urllib.request import urlopen

from homing.testing import PostgresServer

TOKEN = "hom_soak_owner_with_a_long_token"
DESCRIPTORS = 512
_STARTS_WITHIN = 60.0
_ENDS_WITHIN = 30.0


class House:
    """One Homing on a fresh database, on loopback."""

    def __init__(self, kind: str, *, descriptors: int = DESCRIPTORS) -> None:
        self.descriptors = descriptors
        self.folder = Path(tempfile.mkdtemp(prefix="homing-soak-"))
        self.log = self.folder / "up.log"
        self.url = ""
        self._server = PostgresServer() if kind == "postgresql" else None
        self._database = self._server.fresh() if self._server else f"sqlite:///{self.folder / 'homing.db'}"
        self._process: subprocess.Popen[bytes] | None = None
        self._kept = False

    def __enter__(self) -> Self:
        home = self.folder / "home"
        settings = {"HOME": home, "DATABASE_URL": self._database, "TOKEN": TOKEN, "MODEL": "offline", "TIMEZONE": "UTC"}
        env = {name: value for name, value in os.environ.items() if not name.startswith("HOMING_")}
        env |= {f"HOMING_{name}": str(value) for name, value in settings.items()} | {"NO_COLOR": "1"}
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "homing", "up", "--no-open", "--port", "0"],
                stdout=log,
                stderr=log,
                env=env,
                preexec_fn=self._limit_descriptors,  # noqa: PLW1509 - one thread, and nothing else to do it by
            )
        ends = time.monotonic() + _STARTS_WITHIN
        while not self._is_ready(home / "server.json"):
            if self._process.poll() is not None or time.monotonic() > ends:
                raise AssertionError(f"Homing did not start:\n{self.log.read_text()[-4000:]}")
            time.sleep(0.1)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop(signal.SIGKILL)
        if self._server:
            self._server.stop()
        if not self._kept:
            shutil.rmtree(self.folder, ignore_errors=True)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> float | None:
        """Stop it; tell how long that took, or None when it had ended by itself."""
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return None
        began = time.monotonic()
        process.send_signal(how)
        try:
            process.wait(_ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        return time.monotonic() - began

    def keep(self) -> Path:
        """Leave the log where it is."""
        self._kept = True
        return self.log

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def rss_mb(self) -> float:
        """Tell how much memory it has."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        return 0.0

    def _is_ready(self, announced: Path) -> bool:
        with suppress(URLError, OSError, ValueError):
            self.url = json.loads(announced.read_text())["url"]
            with urlopen(f"{self.url}/readyz", timeout=1) as response:
                return response.status == 200
        return False

    def _limit_descriptors(self) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (self.descriptors, self.descriptors))
