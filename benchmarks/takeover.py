"""F11: kill -9 of the worker in mid-turn until another works on that turn.

Two real processes on PostgreSQL, with a short claim; "works on it" is where the model would be called. The clock is the
monotonic one, which the processes of a machine share. `after_claim_s` counts from the end of the claim as its row had
it when the worker died; how much of the claim was left then is chance, so the floor is set against the whole claim.
"""

import argparse
import asyncio
import select
import statistics
import time
from datetime import UTC, datetime

import sqlalchemy as sa

from benchmarks._crew import Crew, Worker, ready, tell
from benchmarks._instance import database, instance, say
from homing.engine.opening import Opened
from homing.engine.step_journal import StepJournal
from homing.engine.turn_result import TurnResult
from homing.model.people import OWNER, Caller
from homing.operations.context import Context
from homing.operations.messages import send_message
from homing.operations.shapes.session_asks import SendMessage
from homing.store import Tx
from homing.store import tables as t
from homing.wiring import Homing, make_engine, running


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks takeover")
    parser.add_argument("--database", choices=("postgresql",), default="postgresql")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--claim", type=float, default=2.0, help="seconds")
    parser.add_argument("--work", action="store_true", help="be a worker (the measurement starts itself so)")
    parser.add_argument("--url", default="")
    ask = parser.parse_args(argv)
    if ask.work:
        asyncio.run(_work(ask.url, ask.claim))
        return
    with database(ask.database) as url, instance(url) as homing:
        command = ["--work", "--url", url, "--claim", str(ask.claim)]
        with Crew("takeover", command, 2) as crew:
            taken = asyncio.run(_kill(homing, crew, ask.repeat))
    after_kill, after_claim = [one for one, _ in taken], [one for _, one in taken]
    say(
        "takeover", max(after_kill) - ask.claim, "s beyond the claim",
        median_after_kill_s=statistics.median(after_kill), after_kill_s=after_kill, after_claim_s=after_claim,
        max_after_claim_s=max(after_claim), claim_s=ask.claim, repeat=ask.repeat,
        database=ask.database,
    )  # fmt: skip


async def _work(url: str, claim: float) -> None:
    async def think(opened: Opened, keeper: StepJournal) -> TurnResult:
        tell(session=opened.session_key, at=time.monotonic(), taken_up=opened.taken_up)
        if not opened.taken_up:
            await asyncio.Event().wait()
        return TurnResult(outcome="answered", text="done", history="[]", model="none")

    with instance(url, claim_seconds=claim) as homing:
        async with running(homing, make_engine(homing, think=think)):
            ready()
            await asyncio.Event().wait()


async def _kill(homing: Homing, crew: Crew, repeat: int) -> list[tuple[float, float]]:
    # As a door has it: without the bell, workers would find the message only when they look by themselves.
    await homing.store.bell.open()
    taken = [await _kill_one(homing, crew, f"web:takeover-{n}") for n in range(repeat)]
    await homing.store.close()
    return taken


async def _kill_one(homing: Homing, crew: Crew, key: str) -> tuple[float, float]:
    """Return the seconds from the kill, and from the claim's end, until the other worked on the turn."""
    caller = Caller(user_id=OWNER, role="admin", door="api")
    ask = SendMessage(session_key=key, text="hello")
    await homing.store.write(lambda tx: send_message(Context(tx=tx, caller=caller, instance=homing.instance), ask))
    victim = await asyncio.to_thread(_at_work, crew)
    # Into the claim, as far as a renewal or two.
    await asyncio.sleep(1)
    killed_at = time.monotonic()
    victim.kill()
    left = (await homing.store.read(_claim_end) - datetime.now(UTC)).total_seconds() + (time.monotonic() - killed_at)
    [survivor] = [worker for worker in crew.workers if worker is not victim]
    news = await asyncio.to_thread(survivor.hear)
    if not news["taken_up"] or news["session"] != key:
        raise RuntimeError(f"Another turn than the killed one was begun: {news}")
    await asyncio.to_thread(crew.replace, victim)
    after = news["at"] - killed_at
    return round(after, 3), round(after - left, 3)


def _at_work(crew: Crew) -> Worker:
    """Find who began the turn: the one that has something to tell."""
    outs = {worker.told.fileno(): worker for worker in crew.workers}
    readable, _, _ = select.select(list(outs), [], [], 60)
    if not readable:
        raise RuntimeError("No worker began the turn within a minute.")
    worker = outs[readable[0]]
    worker.hear()
    return worker


def _claim_end(tx: Tx) -> datetime:
    return tx.rows(sa.select(t.turn.c.claimed_until).where(t.turn.c.state == "running"))[0][0]
