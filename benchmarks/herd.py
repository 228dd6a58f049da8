"""The herd: very many jobs at the same instant, as at nine o'clock, and a person who writes meanwhile; one process.

Turns are no-ops, so this is what Homing adds; with a model the herd takes as long as its answers divided by the slots.
Stops after so many seconds and then tells the end by the rate of the second half.
"""

import argparse
import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from benchmarks._instance import database, instance, let_be_due, say, stock
from benchmarks._witness import Witness, percentile, watched_loop
from benchmarks.dispatch import finished
from homing.model.people import OWNER, Caller
from homing.operations.context import Context
from homing.operations.messages import send_message
from homing.operations.shapes.session_asks import SendMessage
from homing.store import tables as t
from homing.wiring import Homing, make_engine, running

_CALLER = Caller(user_id=OWNER, role="admin", door="api")
_PEOPLE_EVERY = 0.25
_QUEUED = sa.select(sa.func.count(), sa.func.max(t.run.c.queued_at))


@dataclass(frozen=True, kw_only=True)
class Herd:
    """How far a herd came, as the rows say."""

    points: list[tuple[float, int]]
    """Seconds since the instant, runs finished."""
    queued: int
    queued_s: float
    """How many were queued, and when the last of them was."""
    people_ms: list[float]
    gaps_ms: list[float]


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks herd")
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--due", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=30.0, help="watch so long at most")
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--slots", type=int, default=512, help="scheduled turns at once")
    ask = parser.parse_args(argv)
    with database(ask.database) as url, instance(url, max_concurrent_runs=ask.slots) as homing:
        stock(homing, stored=ask.due, sessions=min(ask.sessions, ask.due))
        herd = asyncio.run(_watch(homing, ask.due, ask.seconds))
    seconds, done = herd.points[-1]
    halfway, then = herd.points[(len(herd.points) - 1) // 2]
    rate = (done - then) / (seconds - halfway)
    more = {"database": ask.database, "due": ask.due, "sessions": ask.sessions, "slots": ask.slots}
    until_last = seconds + (ask.due - done) / rate
    say("herd_until_last", until_last, "s", extrapolated=done < ask.due, finished=done, watched_s=seconds, **more)
    all_queued_s = herd.queued_s * ask.due / herd.queued
    say("herd_queued", all_queued_s, "s", extrapolated=herd.queued < ask.due, queued=herd.queued, **more)
    say("herd_rate", rate, "runs/s", **more)
    p50, p95 = (round(percentile(herd.people_ms, percent), 1) for percent in (50, 95))
    say(
        "herd_person", p50, "ms", p95_ms=p95, max_ms=round(max(herd.people_ms), 1), messages=len(herd.people_ms), **more
    )
    say("herd_loop_stall", max(herd.gaps_ms), "ms", p99_ms=round(percentile(herd.gaps_ms, 99), 1), **more)


async def _watch(homing: Homing, due: int, seconds: float) -> Herd:
    witness = Witness()
    points = [(0.0, 0)]
    async with running(homing, make_engine(homing, think=witness)):
        await _write(homing, witness, "web:warm")
        # Writing the instant into all jobs takes its time, and none may be due before.
        due_at = datetime.now(UTC) + timedelta(seconds=3 + due / 20_000)
        await homing.store.write(lambda tx: let_be_due(tx, due_at, 0, due))
        left = (due_at - datetime.now(UTC)).total_seconds()
        begun = time.perf_counter() + left
        await asyncio.sleep(max(0.0, left))
        async with watched_loop() as gaps, _person(homing, witness) as people_ms:
            while time.perf_counter() - begun < seconds and points[-1][1] < due:
                await asyncio.sleep(0.5)
                points.append((round(time.perf_counter() - begun, 2), await homing.store.read(finished)))
    queued, last_at = homing.store.write_now(lambda tx: tx.rows(_QUEUED)[0])
    await homing.store.close()
    queued_s = (last_at - due_at).total_seconds()
    return Herd(points=points, queued=queued, queued_s=queued_s, people_ms=people_ms, gaps_ms=gaps)


@asynccontextmanager
async def _person(homing: Homing, witness: Witness) -> AsyncGenerator[list[float]]:
    """Write a message now and then, each in a conversation of its own, and time it until its turn thinks."""
    took: list[float] = []

    async def write() -> None:
        while True:
            took.append(await _write(homing, witness, f"web:person-{len(took)}"))
            await asyncio.sleep(_PEOPLE_EVERY)

    task = asyncio.create_task(write())
    try:
        yield took
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _write(homing: Homing, witness: Witness, key: str) -> float:
    ask = SendMessage(session_key=key, text="hello")
    begun = time.perf_counter()
    await homing.store.write(lambda tx: send_message(Context(tx=tx, caller=_CALLER, instance=homing.instance), ask))
    return (await witness.seen(key) - begun) * 1000
