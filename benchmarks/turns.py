"""F9: turns through lanes on PostgreSQL with several worker processes, and DBOS queues on the same server.

All turns wait at one instant; the time is until the last is closed on record. Ours keep the order inside each of many
conversations; DBOS's queue keeps none.
"""

import argparse
import asyncio
import time
from types import ModuleType

import sqlalchemy as sa

from benchmarks._crew import Crew, ready
from benchmarks._instance import database, instance, no_op, say, stock
from homing.model.people import OWNER
from homing.store import Tx
from homing.store import tables as t
from homing.store.inbounds import NewInbound, take_in
from homing.wiring import Homing, make_engine, running

IN_A_ROW = 4
DRIVER = "driver"


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks turns")
    parser.add_argument("--database", choices=("postgresql",), default="postgresql")
    parser.add_argument("--who", choices=("homing", "dbos"), default="homing")
    parser.add_argument("--turns", type=int, default=4000)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--slots", type=int, default=256, help="turns at once a worker of ours")
    parser.add_argument("--work", choices=("homing", "dbos"), help="be a worker (the measurement starts itself so)")
    parser.add_argument("--url", default="")
    ask = parser.parse_args(argv)
    if ask.work == "homing":
        asyncio.run(_work(ask.url, ask.slots))
        return
    if ask.work == "dbos":
        _dbos().work(ask.url)
        return
    more: dict[str, object] = {name: getattr(ask, name) for name in ("database", "who", "turns", "workers")}
    with database(ask.database) as url:
        if ask.who == "dbos":
            seconds = _dbos().measure(url, ask.turns, ask.workers)
        else:
            seconds, connections = _measure(url, ask.turns, ask.workers, ask.slots)
            more["connections"] = connections
    say("turns", ask.turns / seconds, "turns/s", seconds=round(seconds, 3), **more)


def _dbos() -> ModuleType:
    """Load the peer only where it is measured: workers of ours need not carry it."""
    from benchmarks import _dbos

    return _dbos


async def _work(url: str, slots: int) -> None:
    with instance(url, slots=slots) as homing:
        async with running(homing, make_engine(homing, think=no_op)):
            ready()
            await asyncio.Event().wait()


def _measure(url: str, turns: int, workers: int, slots: int) -> tuple[float, int]:
    with instance(f"{url}{'&' if '?' in url else '?'}application_name={DRIVER}") as homing:
        stock(homing, stored=0, sessions=-(-turns // IN_A_ROW))
        with Crew("turns", ["--work", "homing", "--url", url, "--slots", str(slots)], workers):
            return asyncio.run(_let_go(homing, turns))


async def _let_go(homing: Homing, turns: int) -> tuple[float, int]:
    """Return the seconds until all are closed, and how many connections the workers had at most."""
    await homing.store.bell.open()
    await homing.store.write(lambda tx: _fill(tx, turns))
    begun = time.perf_counter()
    most = 0
    while (seen := await homing.store.read(_look))[0] < turns:
        most = max(most, seen[1])
        await asyncio.sleep(0.02)
    seconds = time.perf_counter() - begun
    await homing.store.close()
    return seconds, most


def _fill(tx: Tx, turns: int) -> None:
    ids = [row[0] for row in tx.rows(sa.select(t.session.c.id).where(t.session.c.key.startswith("web:s")))]
    take_in(tx, [
        NewInbound(
            session_id=ids[n % len(ids)], lane_id=ids[n % len(ids)], user_id=OWNER, source="person", line="people",
            mode="queue", text=f"hello {n}",
        )
        for n in range(turns)
    ])  # fmt: skip


def _look(tx: Tx) -> tuple[int, int]:
    """Count closed turns, and connections that are not ours."""
    closed = tx.rows(sa.select(sa.func.count()).select_from(t.turn).where(t.turn.c.state == "closed"))[0][0]
    others = "select count(*) from pg_stat_activity where datname = current_database() and application_name <> :driver"
    return closed, tx.rows(sa.text(others).bindparams(driver=DRIVER))[0][0]
