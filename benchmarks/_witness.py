"""Those who watch a measurement from inside its process: who thought when, and for how long the loop stood still."""

import asyncio
import statistics
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from benchmarks._instance import HISTORY
from homing.engine.opening import Opened
from homing.engine.step_journal import StepJournal
from homing.engine.turn_result import TurnResult

# A tick of the watch; a gap is what a sleep takes beyond it.
_TICK = 0.005


class Witness:
    """Thinks a no-op turn, and remembers when each began. Its turn is open and committed by then."""

    def __init__(self) -> None:
        self.began: dict[str, float] = {}
        """When the first turn of a job, or else of a session, began to think; by its id or key."""
        self._awaited: dict[str, asyncio.Event] = {}
        self._wanted = 0
        self._enough = asyncio.Event()

    async def __call__(self, opened: Opened, keeper: StepJournal) -> TurnResult:
        key = opened.turn.job_id or opened.session_key
        self.began.setdefault(key, time.perf_counter())
        if key in self._awaited:
            self._awaited[key].set()
        if len(self.began) >= self._wanted:
            self._enough.set()
        return TurnResult(outcome="answered", text="done", history=HISTORY, model="none")

    async def seen(self, key: str) -> float:
        """Wait until a turn of this job or session thinks; tell when it began."""
        if key not in self.began:
            await self._awaited.setdefault(key, asyncio.Event()).wait()
        return self.began[key]

    async def wait_for(self, count: int, seconds: float) -> None:
        """Wait until as many jobs or sessions have been seen."""
        self._wanted = count
        if len(self.began) >= count:
            return
        self._enough.clear()
        async with asyncio.timeout(seconds):
            await self._enough.wait()


@asynccontextmanager
async def watched_loop() -> AsyncGenerator[list[float]]:
    """Measure the gaps of the event loop for as long as the block lasts, in milliseconds."""
    gaps: list[float] = []

    async def watch() -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(_TICK)
            gaps.append((time.perf_counter() - before - _TICK) * 1000)

    task = asyncio.create_task(watch())
    try:
        yield gaps
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def percentile(values: list[float], percent: int) -> float:
    """Tell the value that so many percent of all do not exceed."""
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]
