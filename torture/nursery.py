"""Processes without the seconds of their imports: one process loads everything once, and forks the others.

They are real processes with ids of their own, to be killed and frozen. When the driver dies, all of them end.
"""

import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Order:
    """What a forked process becomes: a role of `torture.roles`, with its arguments and environment."""

    role: str
    arguments: list[str]
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    log: str


class Nursery:
    """Starts processes and knows which have ended."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._started: list[int] = []
        self._ended: dict[int, int] = {}
        root = str(Path(__file__).resolve().parents[1])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "torture.nursery"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=root,
            # A process group of its own: Ctrl-C is for the driver, which then ends the others in order.
            process_group=0,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def start(self, order: Order) -> int:
        """Fork one; return its process id."""
        with self._changed:
            before = len(self._started)
        assert self._process.stdin
        self._process.stdin.write(json.dumps(asdict(order)).encode() + b"\n")
        self._process.stdin.flush()
        self._wait(lambda: len(self._started) > before, 120, "the nursery starts a process")
        return self._started[before]

    def signal(self, pid: int, number: signal.Signals) -> bool:
        """Send a signal, unless the process has ended."""
        with self._changed:
            if pid in self._ended:
                return False
            os.kill(pid, number)
            return True

    def ended(self, pid: int) -> int | None:
        """Tell a process's exit status, negative for a signal; None while it lives."""
        with self._changed:
            return self._ended.get(pid)

    def wait_ended(self, pid: int, seconds: float) -> int:
        self._wait(lambda: pid in self._ended, seconds, f"process {pid} ends")
        return self._ended[pid]

    def close(self) -> None:
        """End everything that was started here."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait(30)
        self._reader.join(5)
        self._process.stdout.close()

    def _wait(self, enough: Callable[[], bool], seconds: float, what: str) -> None:
        with self._changed:
            if not self._changed.wait_for(enough, seconds):
                raise TimeoutError(f"Waited {seconds:g} s until {what}.")

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            news: dict[str, Any] = json.loads(line)
            with self._changed:
                if "started" in news:
                    self._started.append(news["started"])
                else:
                    self._ended[news["ended"]] = news["status"]
                self._changed.notify_all()


def _tell(**news: int) -> None:
    # One short write: lines do not mix.
    os.write(1, json.dumps(news).encode() + b"\n")


def _become(order: Order) -> None:
    from torture.roles import ROLES
    from torture.sabotage import SABOTAGES, VARIABLE

    log = os.open(order.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for name in [name for name in os.environ if name.startswith("HOMING_")]:
        del os.environ[name]
    os.environ.update(order.environment)
    if guard := os.environ.get(VARIABLE):
        SABOTAGES[guard].apply()
    ROLES[order.role](order.arguments)


def _fork(order: Order) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        _become(order)
        code = 0
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 1
    except BaseException:  # noqa: BLE001 - a forked child must never go on as its parent
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _reap(alive: set[int]) -> None:
    while alive:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        alive.discard(pid)
        _tell(ended=pid, status=os.waitstatus_to_exitcode(status))


def main() -> None:
    """Fork a process for each line; tell who ended; end them all when nobody asks any more."""
    from torture.roles import preload

    preload()
    alive: set[int] = set()
    wake_in, wake_out = os.pipe()
    os.set_blocking(wake_in, False)
    os.set_blocking(wake_out, False)
    signal.set_wakeup_fd(wake_out)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    buffer = b""
    while True:
        ready, _, _ = select.select([0, wake_in], [], [])
        if wake_in in ready:
            os.read(wake_in, 4096)
            _reap(alive)
        if 0 not in ready:
            continue
        piece = os.read(0, 65536)
        if not piece:
            break
        *wanted, buffer = (buffer + piece).split(b"\n")
        for line in wanted:
            pid = _fork(Order(**json.loads(line)))
            alive.add(pid)
            _tell(started=pid)
    for pid in alive:
        os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
