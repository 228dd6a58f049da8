"""F5, F6, F8, F13: what a million stored jobs cost those who add, list, tick, start and wait; SQLite.

The same users ask in a small and in a large store; the others' jobs are only there. Values are medians of interleaved
repetitions; `ratio` sets the large store against the small one.
"""

import argparse
import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from benchmarks._filled import fill
from benchmarks._instance import instance, no_op, say
from homing.model.people import OWNER, Caller
from homing.operations.context import Context
from homing.operations.job_changes import update_job
from homing.operations.jobs import add_job, list_jobs
from homing.operations.shapes.base import Nothing, read
from homing.operations.shapes.job_asks import AddJob, ListJobs, ListUpcoming, UpdateJob
from homing.operations.status import get_status
from homing.operations.upcoming import list_upcoming
from homing.store import Tx
from homing.store import tables as t
from homing.wiring import Homing, make_engine, running, wire


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A small store and a large one."""

    small: int
    large: int
    files: Mapping[int, Path]

    @property
    def urls(self) -> tuple[str, str]:
        return f"sqlite:///{self.files[self.small]}", f"sqlite:///{self.files[self.large]}"

    @property
    def sizes(self) -> dict[str, int]:
        return {"stored": self.large, "against": self.small}

    @contextmanager
    def homes(self) -> Iterator[list[Homing]]:
        with ExitStack() as stack:
            homes = [stack.enter_context(instance(url)) for url in self.urls]
            yield homes
            for homing in homes:
                homing.store.engine.dispose()


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks stored")
    parser.add_argument("--stored", type=int, default=1_000_000)
    parser.add_argument("--few", type=int, default=1_000, help="the small store")
    parser.add_argument("--some", type=int, default=20_000, help="the store that ticking is set against")
    parser.add_argument("--due", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=5.0, help="how long to watch an idle process")
    parser.add_argument("--idle", help="watch one idle process on this file (the measurement calls itself so)")
    ask = parser.parse_args(argv)
    if ask.idle:
        print(json.dumps(_idle(ask.idle, ask.seconds)), flush=True)
        return
    with tempfile.TemporaryDirectory(prefix="homing-stored-") as folder:
        files = {size: Path(folder) / f"{size}.db" for size in (ask.few, ask.some, ask.stored)}
        for size, path in files.items():
            begun = time.perf_counter()
            fill(path, size)
            say("stored_fill", time.perf_counter() - begun, "s", stored=size)
        pair = Pair(small=ask.few, large=ask.stored, files=files)
        _measure_asking(pair, ask.repeat)
        _measure_start(pair)
        _measure_idle(pair, ask.seconds)
        _measure_ticking(Pair(small=ask.some, large=ask.stored, files=files), ask.due)


def _measure_asking(pair: Pair, repeat: int) -> None:
    """F13, and lists: asked by a user who has a thousand jobs."""
    with pair.homes() as homes:
        # The session of the first job; the same in both.
        [(key,)] = homes[0].store.write_now(
            lambda tx: tx.rows(sa.select(t.session.c.key).where(t.session.c.key.startswith("web:s")).limit(1))
        )
        asks: dict[str, Callable[[Context, int], Any]] = {
            "add": lambda ctx, n: add_job(ctx, _add(key, n)),
            "update": lambda ctx, n: update_job(
                ctx, UpdateJob(job_id=f"job_bench{n % 1000:07d}", name=f"changed {time.perf_counter_ns()}")
            ),
            "list": lambda ctx, n: list_jobs(ctx, ListJobs()),
            "list_enabled_by_name": lambda ctx, n: list_jobs(ctx, ListJobs(enabled=True, sort="name")),
            "list_of_session": lambda ctx, n: list_jobs(ctx, ListJobs(session_key=key)),
            "upcoming": lambda ctx, n: list_upcoming(ctx, ListUpcoming()),
            "status": lambda ctx, n: get_status(ctx, Nothing()),
        }
        for name, ask in asks.items():
            took: list[list[float]] = [[], []]
            for n in range(repeat):
                for which, homing in enumerate(homes):
                    took[which].append(_timed(homing, ask, n))
            _say_both(name, took, pair)


def _add(key: str, n: int) -> AddJob:
    return read(AddJob, {"session_key": key, "when": "every day at 9", "message": f"look again {n}"})


def _timed(homing: Homing, ask: Callable[[Context, int], Any], n: int) -> float:
    caller = Caller(user_id=OWNER, role="admin")
    begun = time.perf_counter()
    homing.store.write_now(lambda tx: ask(Context(tx=tx, caller=caller, instance=homing.instance), n))
    return (time.perf_counter() - begun) * 1000


def _say_both(name: str, took: list[list[float]], pair: Pair) -> None:
    first, second = (statistics.median(times) for times in took)
    say(f"stored_{name}", second, "ms", against_ms=round(first, 3), ratio=round(second / first, 3), **pair.sizes)


def _measure_start(pair: Pair) -> None:
    """F6: from nothing but the imports to an armed timer."""
    took: list[list[float]] = [[], []]
    for _ in range(5):
        for which, url in enumerate(pair.urls):
            with instance(url) as prepared:
                prepared.store.engine.dispose()
                took[which].append(asyncio.run(_arm(prepared)))
    _say_both("start", took, pair)


async def _arm(prepared: Homing) -> float:
    begun = time.perf_counter()
    homing = wire(prepared.settings)
    engine = make_engine(homing, think=no_op)
    assert engine.scheduler is not None
    await homing.store.bell.open()
    task = asyncio.create_task(engine.scheduler.run())
    # The timer is armed when it knows its instant; nobody rings for that.
    while engine.scheduler.next_wake_at is None:  # noqa: ASYNC110
        await asyncio.sleep(0)
    took = (time.perf_counter() - begun) * 1000
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await homing.store.close()
    return took


def _measure_idle(pair: Pair, seconds: float) -> None:
    """F8: processes of their own, since memory is not given back."""
    small, large = (
        json.loads(
            subprocess.run(
                [sys.executable, "-m", "benchmarks", "stored", "--idle", url, "--seconds", str(seconds)],
                check=True, capture_output=True, text=True,
            ).stdout
        )
        for url in pair.urls
    )  # fmt: skip
    say("stored_idle_cpu", large["cpu_percent"], "%", against_percent=small["cpu_percent"], **pair.sizes)
    say("stored_idle_wakeups", large["wakeups"], "1/s", against_wakeups=small["wakeups"], **pair.sizes)
    say("stored_idle_memory", large["rss_mb"] - small["rss_mb"], "MB more", rss_mb=large["rss_mb"], **pair.sizes)


def _resident_mb() -> float:
    # Not the peak of getrusage: a child's begins with that of the process it was forked from.
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return round(pages * resource.getpagesize() / 2**20, 2)


def _idle(url: str, seconds: float) -> dict[str, float]:
    async def watch(homing: Homing) -> dict[str, float]:
        async with running(homing, make_engine(homing, think=no_op)):
            # The first looks of all machines are over, and the sweeper has pruned.
            await asyncio.sleep(1)
            before = resource.getrusage(resource.RUSAGE_SELF)
            cpu = time.process_time()
            await asyncio.sleep(seconds)
            used = time.process_time() - cpu
            after = resource.getrusage(resource.RUSAGE_SELF)
        await homing.store.close()
        return {
            "cpu_percent": round(used / seconds * 100, 4),
            "wakeups": round((after.ru_nvcsw - before.ru_nvcsw) / seconds, 2),
            "rss_mb": _resident_mb(),
        }

    with instance(url) as homing:
        return asyncio.run(watch(homing))


def _measure_ticking(pair: Pair, due: int) -> None:
    """F5: the scheduler alone, for as many due jobs among few and among many others."""
    took: list[list[float]] = [[], []]
    with pair.homes() as homes:
        for homing in homes:
            homing.store.write_now(lambda tx: _let_be_due(tx, due))
        engines = [make_engine(homing, think=no_op) for homing in homes]

        async def step(which: int) -> bool:
            scheduler = engines[which].scheduler
            assert scheduler is not None
            begun = time.perf_counter()
            more = await scheduler.step()
            took[which].append(time.perf_counter() - begun)
            return more

        async def interleaved() -> None:
            left = {0, 1}
            while left:
                left -= {which for which in sorted(left) if not await step(which)}

        asyncio.run(interleaved())
    first, second = sum(took[0]), sum(took[1])
    say("stored_tick", due / second, "jobs/s", due=due, ratio=round(first / second, 3), **pair.sizes)


def _let_be_due(tx: Tx, due: int) -> None:
    chosen = sa.select(t.job.c.n).where(t.job.c.schedule_kind == "every").order_by(t.job.c.n.desc()).limit(due)
    tx.run(sa.update(t.job).where(t.job.c.n.in_(chosen)).values(next_run_at=tx.now(), anchor=tx.now()))
