"""F7: how late jobs are that come due one after another beside very many stored ones, against a bare timer; SQLite.

Bare timers of the same loop stand between the jobs, so both see the same moments. `lateness` is the product's own: the
instant at which the run was queued. `lateness_started` is when its turn began to think.
"""

import argparse
import asyncio
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import sqlalchemy as sa

from benchmarks._filled import fill
from benchmarks._instance import instance, say
from benchmarks._witness import Witness, percentile
from homing.store import Tx
from homing.store import tables as t
from homing.wiring import Homing, make_engine, running

_AHEAD = 2.0


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks lateness")
    parser.add_argument("--stored", type=int, default=1_000_000)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=20.0)
    ask = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="homing-lateness-") as folder:
        path = Path(folder) / "homing.db"
        fill(path, max(ask.stored, ask.jobs))
        with instance(f"sqlite:///{path}") as homing:
            queued, started, bare = asyncio.run(_watch(homing, ask.jobs, ask.seconds))
    more = {"stored": ask.stored, "jobs": ask.jobs, "seconds": ask.seconds, "database": "sqlite"}
    timer = percentile(bare, 99)
    for name, late in (("lateness", queued), ("lateness_started", started)):
        p50, p99 = percentile(late, 50), percentile(late, 99)
        say(f"{name}_p99", p99, "ms", p50_ms=round(p50, 2), timer_p99_ms=round(timer, 2), ratio=p99 / timer, **more)
    say("timer_p99", timer, "ms", p50_ms=round(percentile(bare, 50), 2), **more)


async def _watch(homing: Homing, jobs: int, seconds: float) -> tuple[list[float], list[float], list[float]]:
    """Return in milliseconds how late runs were queued, turns began, and bare timers rang."""
    witness = Witness()
    loop = asyncio.get_running_loop()
    bare: list[float] = []
    async with running(homing, make_engine(homing, think=witness)):
        first_at = datetime.now(UTC) + timedelta(seconds=_AHEAD)
        gap = seconds / jobs
        await homing.store.write(lambda tx: _let_be_due(tx, first_at, jobs, gap))
        left = (first_at - datetime.now(UTC)).total_seconds()
        begun, on_loop = time.perf_counter() + left, loop.time() + left

        def ring(planned: float) -> None:
            bare.append((loop.time() - planned) * 1000)

        for n in range(jobs):
            planned = on_loop + (n + 0.5) * gap
            loop.call_at(planned, ring, planned)
        await witness.wait_for(jobs, seconds + 30)
    rows = homing.store.write_now(lambda tx: tx.rows(sa.select(t.run.c.queued_at, t.run.c.scheduled_for)))
    await homing.store.close()
    queued = [(at - planned) / timedelta(milliseconds=1) for at, planned in rows]
    started = [
        (witness.began[f"job_bench{n:07d}"] - begun - n * gap) * 1000 for n in range(jobs)
    ]  # fmt: skip
    return queued, started, bare


def _let_be_due(tx: Tx, first_at: datetime, jobs: int, gap: float) -> None:
    for n in range(jobs):
        at = first_at + timedelta(seconds=n * gap)
        tx.run(sa.update(t.job).where(t.job.c.id == f"job_bench{n:07d}").values(next_run_at=at, anchor=at))
    tx.ring("jobs")
