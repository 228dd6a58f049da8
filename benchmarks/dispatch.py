"""F1–F3, F5: dispatch of jobs due at once through the real scheduler, lanes and runner, with a no-op turn."""

import argparse
import asyncio
import time
from datetime import UTC, datetime

import sqlalchemy as sa

from benchmarks._house import database, house, no_op, say, stock
from homing.store import Tx
from homing.store import tables as t
from homing.wiring import Homing, make_engine


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks dispatch")
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--due", type=int, default=10_000)
    parser.add_argument("--stored", type=int, default=20_000)
    parser.add_argument("--sessions", type=int, default=0, help="how many conversations the jobs share; 0: one each")
    parser.add_argument("--slots", type=int, default=512)
    ask = parser.parse_args(argv)
    with database(ask.database) as url:
        print_result(ask.database, *measure(url, ask.due, ask.stored, ask.sessions or ask.due, ask.slots))


def print_result(kind: str, due: int, seconds: float, first_ms: float, stall_ms: float, stored: int) -> None:
    say("dispatch", due / seconds, "runs/s", database=kind, due=due, stored=stored, seconds=round(seconds, 3))
    say("dispatch_first_start", first_ms, "ms", database=kind, due=due)
    say("dispatch_loop_stall", stall_ms, "ms", database=kind, due=due)


def measure(url: str, due: int, stored: int, sessions: int, slots: int) -> tuple[int, float, float, float, int]:
    """Store jobs, let them all come due at once, and wait until every run is finished on record."""
    with house(url, max_concurrent_runs=slots, slots=slots) as homing:
        stock(homing, due=due, stored=stored, sessions=sessions, now=datetime.now(UTC))
        seconds, first_ms, stall_ms = asyncio.run(_dispatch(homing, due))
    return due, seconds, first_ms, stall_ms, stored


async def _dispatch(homing: Homing, due: int) -> tuple[float, float, float]:
    engine = make_engine(homing, think=no_op)
    assert engine.scheduler is not None
    await homing.store.bell.open()
    stalls: list[float] = []
    watch = asyncio.create_task(_watch_stalls(stalls))
    begun = time.perf_counter()
    wall = datetime.now(UTC)
    tasks = [asyncio.create_task(engine.scheduler.run()), asyncio.create_task(engine.runner.run())]
    # The rows are the witness: every due job has a run that ended well. Each closing rings.
    ear = homing.store.bell.listen("lanes")
    while await homing.store.read(_finished) < due:
        await ear.wait(0.25)
    seconds = time.perf_counter() - begun
    first = await homing.store.read(lambda tx: tx.rows(sa.select(sa.func.min(t.run.c.started_at)))[0][0])
    for task in (*tasks, watch):
        task.cancel()
    await asyncio.gather(*tasks, watch, return_exceptions=True)
    await homing.store.close()
    return seconds, (first - wall).total_seconds() * 1000, max(stalls) * 1000


def _finished(tx: Tx) -> int:
    return tx.rows(sa.select(sa.func.count()).select_from(t.run).where(t.run.c.state == "ok"))[0][0]


async def _watch_stalls(stalls: list[float]) -> None:
    while True:
        before = time.perf_counter()
        await asyncio.sleep(0.005)
        stalls.append(time.perf_counter() - before - 0.005)
