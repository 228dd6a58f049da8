"""Worker processes of a measurement: real ones, started as `python -m benchmarks NAME --work …`, ended by kill."""

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, Self


def tell(**news: Any) -> None:
    """In a worker: tell the driver something, in one line."""
    print(json.dumps(news), flush=True)


def ready() -> None:
    """In a worker: say that the work may come."""
    tell(ready=True)


class Worker:
    """One process, and what it tells."""

    def __init__(self, command: Sequence[str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks", *command], stdout=subprocess.PIPE, text=True
        )

        assert self.process.stdout
        self.told = self.process.stdout

    def hear(self) -> dict[str, Any]:
        """Wait for the next line."""
        line = self.told.readline()
        if not line:
            raise RuntimeError(f"A worker ended by itself, with status {self.process.wait()}; its error is above.")
        return json.loads(line)

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait()
        self.told.close()


class Crew:
    """Several workers of one kind, all of them ready when the block begins."""

    def __init__(self, name: str, arguments: Sequence[str], count: int) -> None:
        self._command = [name, *arguments]
        self._count = count
        self.workers: list[Worker] = []

    def __enter__(self) -> Self:
        self.workers = [Worker(self._command) for _ in range(self._count)]
        for worker in self.workers:
            worker.hear()
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.kill()

    def replace(self, killed: Worker) -> None:
        """Start another in the place of one that was killed."""
        fresh = Worker(self._command)
        self.workers[self.workers.index(killed)] = fresh
        fresh.hear()
