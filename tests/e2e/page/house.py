"""A real `homing up` in a process of its own, always at the same port, and a plain HTTP client for what it knows."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from homing.testing import StubModelServer
from support.ports import free_port

PATIENCE = 60.0
ZONE = "Europe/Berlin"


class House:
    """One home, and the server over it. With a stub the model is the stub's, without one it is `offline`."""

    def __init__(
        self,
        folder: Path,
        stub: StubModelServer | None = None,
        *,
        database: str | None = None,
        model: str | None = "offline",
        settings: Mapping[str, str] | None = None,
        program: Sequence[str] = (sys.executable, "-m", "homing"),
    ) -> None:
        self._program = program
        self.home = folder / "home"
        self._database = {"HOMING_DATABASE_URL": database} if database else {}
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._log = folder / "up.log"
        given = {"HOMING_MODEL": model} if model else {}
        self._model = {"HOMING_MODEL": "openai-chat:stub", **stub.environment()} if stub else given
        self._settings = dict(settings or {})
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process is not None:
            self.stop(signal.SIGKILL)

    def start(self) -> None:
        """Start, and wait until it answers."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._program, "up", "--no-open", "--port", str(self.port)],
                stdout=log,
                stderr=log,
                env=self._environment(),
            )
        wait_until(self._answers, f"an answer of the server, whose log is {self._log}")

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Stop it one way or another."""
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait(PATIENCE)
        self._process = None

    @property
    def token(self) -> str:
        return (self.home / "token").read_text().strip()

    def sign_in_link(self) -> str:
        """Ask the command line for a fresh link, as a person would."""
        return json.loads(self.command("open", "--no-open", "--json"))["url"]

    def command(self, *words: str) -> str:
        """Run a command in this home; return what it prints."""
        said = subprocess.run(
            [*self._program, *words],
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=True,
        )
        return said.stdout

    def get(self, path: str) -> Any:
        return self.ask("GET", path)

    def post(self, path: str, **body: Any) -> Any:
        return self.ask("POST", path, body)

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Ask the API as the owner; a refusal is an error of the test."""
        data = None if body is None else json.dumps(body).encode()
        request = Request(f"{self.url}/api{path}", method=method, data=data)
        request.add_header("Authorization", f"Bearer {self.token}")
        request.add_header("Content-Type", "application/json")
        try:
            with urlopen(request, timeout=PATIENCE) as response:
                return json.load(response)
        except HTTPError as refusal:
            raise AssertionError(f"{method} {path} was refused: {refusal.read().decode()}") from refusal

    def session(self, key: str, title: str) -> str:
        """Make a conversation; return its key."""
        return self.post("/sessions", key=key, title=title, timezone=ZONE)["key"]

    def job(self, session_key: str, when: str, message: str, **more: Any) -> Any:
        """Make a job at another door than the page."""
        return self.post("/jobs", session_key=session_key, when=when, message=message, **more)

    def finished_run(self, job_id: str) -> Any:
        """Wait until the job's newest run is over; return it whole."""

        def newest() -> Any:
            runs = self.get(f"/jobs/{job_id}/runs?limit=1")["items"]
            return runs[0] if runs and runs[0]["finished_at"] else None

        return self.get(f"/runs/{wait_until(newest, 'the end of a run')['id']}")

    def _environment(self) -> dict[str, str]:
        plain = {"HOMING_HOME": str(self.home), "HOMING_TIMEZONE": ZONE}
        return os.environ | plain | self._database | self._model | self._settings

    def _answers(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise AssertionError(f"`homing up` ended instead of serving:\n{self._log.read_text()[-4000:]}")
        try:
            with urlopen(f"{self.url}/readyz", timeout=2) as response:
                return response.status == 200
        except (URLError, OSError):
            return False


def wait_until(look: Callable[[], Any], what: str) -> Any:
    """Look until there is something, and return it."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if found := look():
            return found
        time.sleep(0.03)
    raise AssertionError(f"Waited {PATIENCE:.0f} s in vain for {what}.")
