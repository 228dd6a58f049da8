"""Worker processes without the seconds of their imports: one process loads everything once, and forks the others.

They are real processes with ids of their own; only they know the database. The nursery holds no thread and no socket.
"""

import importlib
import json
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from support.orders import Order


class Worker:
    """One worker process."""

    def __init__(self, nursery: "Nursery", pid: int) -> None:
        self.pid = pid
        self._nursery = nursery

    def send(self, number: signal.Signals) -> None:
        """Send a signal, unless the process has ended."""
        if not self._nursery.has_ended(self.pid):
            os.kill(self.pid, number)

    def ring(self) -> None:
        self.send(signal.SIGUSR1)

    def kill(self) -> None:
        """Let it die on the spot."""
        self.send(signal.SIGKILL)
        self.wait_ended()

    def freeze(self) -> None:
        self.send(signal.SIGSTOP)

    def thaw(self) -> None:
        self.send(signal.SIGCONT)

    def stop(self, seconds: float = 60.0) -> int:
        """Ask it to stop; return its exit status."""
        self.send(signal.SIGTERM)
        return self.wait_ended(seconds)

    def wait_ended(self, seconds: float = 60.0) -> int:
        """Wait until it has ended, by whomever; return the status, negative for a signal."""
        return self._nursery.wait_ended(self.pid, seconds)

    def wait_frozen(self, seconds: float = 60.0) -> None:
        """Wait until it stands still."""
        until = time.monotonic() + seconds
        while Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
            assert time.monotonic() < until, f"worker {self.pid} was not stopped within {seconds:g} s"
            time.sleep(0.005)

    @property
    def alive(self) -> bool:
        return not self._nursery.has_ended(self.pid)


class Nursery:
    """Starts workers. Belongs to the test process."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._started: list[int] = []
        self._ready: set[int] = set()
        self._ended: dict[int, int] = {}
        tests = str(Path(__file__).resolve().parents[1])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.nursery"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")])},
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def start(self, order: Order, *, wait: bool = True) -> Worker:
        """Start a worker and wait until it works; one that will die at its beginning is not waited for."""
        before = len(self._started)
        assert self._process.stdin
        self._process.stdin.write(pickle.dumps(order).hex().encode() + b"\n")
        self._process.stdin.flush()
        self._wait(lambda: len(self._started) > before, 60, "the nursery starts a worker")
        pid = self._started[before]
        if wait:
            self._wait(lambda: pid in self._ready or pid in self._ended, 60, f"worker {pid} is ready")
        return Worker(self, pid)

    def has_ended(self, pid: int) -> bool:
        with self._changed:
            return pid in self._ended

    def wait_ended(self, pid: int, seconds: float) -> int:
        self._wait(lambda: pid in self._ended, seconds, f"worker {pid} ends")
        return self._ended[pid]

    def close(self) -> None:
        """End everything that was started here."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait(30)
        self._reader.join(5)
        self._process.stdout.close()

    def _wait(self, enough: Any, seconds: float, what: str) -> None:
        with self._changed:
            if not self._changed.wait_for(enough, seconds):
                raise TimeoutError(f"Waited {seconds:g} s until {what}.")

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            news = json.loads(line)
            with self._changed:
                match news:
                    case {"started": pid}:
                        self._started.append(pid)
                    case {"ready": pid}:
                        self._ready.add(pid)
                    case {"ended": pid, "status": status}:
                        self._ended[pid] = status
                    case _:
                        raise AssertionError(news)
                self._changed.notify_all()


def _tell(**news: int) -> None:
    # One short write: lines of several processes do not mix.
    os.write(1, json.dumps(news).encode() + b"\n")


def _child(order: Order) -> None:
    from homing.cli.shutdown import run_out
    from support.worker import work

    log = os.open(order.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    news = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    run_out(work(order, lambda: (os.write(news, json.dumps({"ready": os.getpid()}).encode() + b"\n"), None)[1]))


def main() -> None:
    """Fork a worker for each line; tell who ended; end them all when nobody asks any more."""
    # Loaded here, so that no worker has to.
    for name in ("pydantic_ai.models.anthropic", "pydantic_ai.models.openai", "support.worker"):
        importlib.import_module(name)
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
            order: Order = pickle.loads(bytes.fromhex(line.decode()))
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    _child(order)
                    code = 0
                except BaseException:  # noqa: BLE001 - a forked child must never go on as its parent
                    import traceback

                    traceback.print_exc()
                finally:
                    os._exit(code)
            alive.add(pid)
            _tell(started=pid)
    for pid in alive:
        os.kill(pid, signal.SIGKILL)


def _reap(alive: set[int]) -> None:
    while alive:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        alive.discard(pid)
        _tell(ended=pid, status=os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
