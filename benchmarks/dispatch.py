"""F1–F4: jobs due at one instant, through the real scheduler, lanes and runner with a no-op turn, and its peers.

`homing`: from the due instant until the last run is finished on record. `raw`: the same rows written by hand in
batches. `apscheduler`: APScheduler 3.11 with its SQLAlchemy job store, which keeps no record of runs.
"""

import argparse
import asyncio
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from benchmarks import _apscheduler, _raw
from benchmarks._instance import database, instance, let_be_due, say, stock
from benchmarks._witness import Witness, percentile, watched_loop
from homing.store import Tx
from homing.store import tables as t
from homing.wiring import Homing, make_engine, running

WHO = ("homing", "raw", "apscheduler", "apscheduler-wal")
# Long enough to write the instant into ten thousand jobs before it comes.
_AHEAD = timedelta(seconds=2)


@dataclass(frozen=True, kw_only=True)
class Dispatched:
    """What a dispatch took, from the due instant on."""

    seconds: float
    first_ms: float
    gaps_ms: list[float]


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks dispatch")
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--who", choices=WHO, default="homing")
    parser.add_argument("--due", type=int, default=10_000)
    parser.add_argument("--stored", type=int, default=20_000)
    parser.add_argument("--sessions", type=int, default=0, help="how many conversations the jobs share; 0: one each")
    parser.add_argument("--slots", type=int, default=512)
    ask = parser.parse_args(argv)
    if ask.who == "apscheduler-wal" and ask.database != "sqlite":
        parser.error("apscheduler-wal is SQLite's")
    stored = max(ask.stored, ask.due + 1)
    sessions = ask.sessions or ask.due
    more = {"database": ask.database, "who": ask.who, "due": ask.due, "stored": stored, "sessions": sessions}
    with database(ask.database) as url:
        if ask.who == "homing":
            done = measure(url, ask.due, stored, sessions, ask.slots)
            say("dispatch", ask.due / done.seconds, "runs/s", **more, slots=ask.slots, seconds=round(done.seconds, 3))
            say("dispatch_first_start", done.first_ms, "ms", **more, slots=ask.slots)
            p99 = round(percentile(done.gaps_ms, 99), 1)
            say("dispatch_loop_stall", max(done.gaps_ms), "ms", p99_ms=p99, **more, slots=ask.slots)
            return
        seconds = (
            _raw.measure(url, ask.due, stored)
            if ask.who == "raw"
            else _apscheduler.measure(url, ask.due, stored, wal=ask.who == "apscheduler-wal")
        )
        say("dispatch", ask.due / seconds, "runs/s", **more, seconds=round(seconds, 3))


def measure(url: str, due: int, stored: int, sessions: int, slots: int) -> Dispatched:
    """Store jobs, let them all come due at once, and wait until every run is finished on record."""
    with instance(url, max_concurrent_runs=slots, slots=slots) as homing:
        stock(homing, stored=stored, sessions=sessions)
        return asyncio.run(_dispatch(homing, due, stored))


async def _dispatch(homing: Homing, due: int, stored: int) -> Dispatched:
    witness = Witness()
    async with running(homing, make_engine(homing, think=witness)):
        # One job goes before: until statements are compiled it is the start that is measured.
        await homing.store.write(lambda tx: let_be_due(tx, tx.now(), stored - 1, 1))
        await witness.wait_for(1, 30)
        due_at = datetime.now(UTC) + _AHEAD
        await homing.store.write(lambda tx: let_be_due(tx, due_at, 0, due))
        left = (due_at - datetime.now(UTC)).total_seconds()
        if left <= 0:
            raise RuntimeError(
                "The machine is too slow to let the jobs come due in two seconds; name fewer with --due."
            )
        begun = time.perf_counter() + left
        await asyncio.sleep(left - 0.1)
        async with watched_loop() as gaps:
            await witness.wait_for(due + 1, 600)
            # The rows are the witness: every due job has a run that ended well.
            while await homing.store.read(finished) < due + 1:  # noqa: ASYNC110 - nobody rings for the last
                await asyncio.sleep(0.01)
        seconds = time.perf_counter() - begun
    await homing.store.close()
    first = sorted(witness.began.values())[1]
    return Dispatched(seconds=seconds, first_ms=(first - begun) * 1000, gaps_ms=gaps)


def finished(tx: Tx) -> int:
    """Count runs that ended well."""
    return tx.rows(sa.select(sa.func.count()).select_from(t.run).where(t.run.c.state == "ok"))[0][0]
