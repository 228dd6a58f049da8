"""Worker processes on one database, a stub model, and the rows.

Fixtures: `nursery` (once a test process), `stub`, `ledger`, `crew`. On SQLite one worker is alive at a time.
"""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from homing.model.clock import SystemClock
from homing.store import Store
from homing.testing import StubModelServer
from support import deeds
from support.ledger import PATIENCE, Ledger
from support.nursery import Nursery, Worker
from support.orders import Order
from support.tripwires import Trip

CLAIM_SECONDS = 2.0
MODEL = "openai-chat:stub"


class Crew:
    """Starts workers on a database and rings for them."""

    def __init__(self, nursery: Nursery, ledger: Ledger, url: str, stub: StubModelServer, folder: Path) -> None:
        self.folder = folder
        self.workers: list[Worker] = []
        self._nursery = nursery
        self._ledger = ledger
        self._url = url
        self._stub = stub

    @property
    def postgres(self) -> bool:
        return self._ledger.store.postgres

    def start(
        self,
        *,
        trip: Trip | None = None,
        renamed: Mapping[str, str] | None = None,
        answers: int | None = None,
        wait: bool = True,
        **settings: Any,
    ) -> Worker:
        """Start a worker; settings by their names in lower case."""
        given = {
            "home": self.folder, "database_url": self._url, "model": MODEL, "claim_seconds": CLAIM_SECONDS,
            "idle_retry_ms": 200,
        } | settings  # fmt: skip
        order = Order(
            settings={f"HOMING_{name.upper()}": str(value) for name, value in given.items()},
            environment=self._stub.environment(),
            folder=self.folder,
            log=self.folder / f"worker-{len(self.workers) + 1}.log",
            trip=trip,
            renamed=renamed or {},
            answers=answers,
        )
        worker = self._nursery.start(order, wait=wait)
        self.workers.append(worker)
        return worker

    def spare(self) -> Worker | None:
        """Start the worker that shall take over, where two may stand side by side."""
        return self.relieve(None) if self.postgres else None

    def relieve(self, spare: Worker | None, *, renamed: Mapping[str, str] | None = None) -> Worker:
        """Give the worker that goes on after a death: the spare one, or a restarted one.

        Its own claims are long: a busy machine must not let it lose what it has just taken up.
        """
        return spare or self.start(renamed=renamed, claim_seconds=60)

    def ring(self) -> None:
        """Let everybody look now."""
        if self.postgres:
            self._ledger.write(
                lambda tx: tx.rows(sa.text("select pg_notify('homing', 'lanes cancels jobs approvals')"))
            )
        for worker in self.workers:
            worker.ring()

    def deeds(self) -> list[str]:
        """Name the test tools' calls that were begun, in order."""
        return deeds.lines(self.folder)

    def until_begun(self, deed: str, seconds: float = PATIENCE) -> None:
        """Wait until a test tool's call has begun."""
        until = time.monotonic() + seconds
        while deed not in self.deeds():
            assert time.monotonic() < until, f"{deed!r} was not begun within {seconds:g} s"
            time.sleep(0.005)

    def open_gate(self, gate: str) -> None:
        deeds.open_gate(self.folder, gate)

    def logs(self) -> str:
        return "".join(path.read_text() for path in sorted(self.folder.glob("worker-*.log")))

    def close(self) -> None:
        for worker in self.workers:
            worker.thaw()
            worker.kill()


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    nursery = Nursery()
    yield nursery
    nursery.close()


@pytest.fixture
def stub() -> Iterator[StubModelServer]:
    with StubModelServer() as server:
        yield server


@pytest.fixture
def ledger(database: str) -> Iterator[Ledger]:
    store = Store(database, SystemClock(), fsync=False)
    yield Ledger(store)
    store.engine.dispose()


@pytest.fixture
def crew(nursery: Nursery, ledger: Ledger, database: str, stub: StubModelServer, tmp_path: Path) -> Iterator[Crew]:
    folder = tmp_path / "crew"
    folder.mkdir()
    crew = Crew(nursery, ledger, database, stub, folder)
    yield crew
    crew.close()
    # Shown by pytest when the test has failed.
    print(crew.logs())
