"""The scheduler's one timer: never asleep for longer than a minute, never in a spin, unmoved by clocks that jump."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from behaviour.jobs.homes import Home
from homing.engine.courier import Courier
from homing.engine.scheduler import SHORTEST_SLEEP, Scheduler
from homing.operations.job_changes import disable_job
from homing.operations.shapes.job_asks import DisableJob, WhyJob
from homing.operations.why import why_job
from homing.store import Store, Tx
from homing.store import tables as t
from homing.store.bell import Ear, LocalBell
from homing.testing import FakeClock


class Waiting(Ear):
    """Lets the time pass that somebody wants to wait, at once."""

    def __init__(self, bell: "PatientBell", topics: frozenset[str]) -> None:
        super().__init__(bell, topics)
        self._patient = bell

    async def wait(self, seconds: float | None) -> set[str]:
        assert seconds is not None
        self._patient.waits.append(seconds)
        await self._patient.on_wait(seconds)
        return set()


class PatientBell(LocalBell):
    """A bell whose listeners' waiting moves the clock, until it is told to end."""

    def __init__(self, clock: FakeClock, until: datetime) -> None:
        super().__init__()
        self.waits: list[float] = []
        self.meanwhile: Callable[[], None] | None = None
        self._clock = clock
        self._until = until
        self._ended = False

    def end(self) -> None:
        self._ended = True

    def listen(self, *topics: str) -> Ear:
        return Waiting(self, frozenset(topics))

    async def on_wait(self, seconds: float) -> None:
        self._clock.advance(seconds)
        if self.meanwhile is not None:
            self.meanwhile()
        if self._ended or self._clock.now() >= self._until:
            raise asyncio.CancelledError
        await asyncio.sleep(0)


class EarlyBell(PatientBell):
    """Wakes its listeners two milliseconds before they asked to be woken, as a coarse timer may."""

    async def on_wait(self, seconds: float) -> None:
        await super().on_wait(max(0.0, seconds - 0.002))


async def let_run(home: Home, **length: float) -> PatientBell:
    """Let the scheduler run for a length of time, which passes in no time."""
    bell = PatientBell(home.fake, home.now() + timedelta(**length))
    await run_with(home, bell)
    return bell


async def run_with(home: Home, bell: PatientBell) -> None:
    home.store.bell = bell
    with pytest.raises(asyncio.CancelledError):
        await Scheduler(home.store, home.instance, home.fake).run()


@pytest.fixture
async def here(sqlite_template: Path, tmp_path: Path, clock: FakeClock) -> AsyncIterator[Home]:
    """A home whose clock is ours; the time of a server passes by itself."""
    shutil.copy(sqlite_template, tmp_path / "homing.db")
    store = Store(f"sqlite:///{tmp_path / 'homing.db'}", clock, fsync=False)
    yield Home(store, clock)
    await store.close()


async def test_with_only_far_jobs_the_loop_still_wakes_at_least_every_60_s(here: Home) -> None:
    here.add(when="in 30 days")
    bell = await let_run(here, hours=1)
    assert set(bell.waits) == {60.0}
    assert len(bell.waits) == 60


async def test_where_a_ring_can_be_lost_every_machine_looks_by_itself_within_seconds(home: Home) -> None:
    """Behind a pooler PostgreSQL's notices do not arrive; on SQLite nobody else can ring."""
    for machine in (home.scheduler(), home.runner(), Courier(home.store, home.instance, {})):
        bell = PatientBell(home.fake, home.fake.now())
        home.store.bell = bell
        with pytest.raises(asyncio.CancelledError):
            await machine.run()
        assert bell.waits == [5.0 if home.store.postgres else 60.0]


async def test_a_due_job_is_taken_at_its_instant_and_the_timer_is_armed_for_the_next(here: Home) -> None:
    job = here.add(when="every 25 minutes")
    await let_run(here, hours=1, minutes=1)
    first, skipped = here.runs(job.id)
    assert (first.lateness_ms, first.queued_at) == (0, first.scheduled_for)
    # Nobody worked it off, so the second instant overlaps it.
    assert (skipped.reason, skipped.scheduled_for) == ("overlap", first.scheduled_for + timedelta(minutes=25))


async def test_a_job_that_comes_due_between_two_looks_is_not_left_to_another_scheduler(
    here: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = here.add(when="in 1 hour")
    bell = EarlyBell(here.fake, here.now() + timedelta(hours=1, milliseconds=1))
    read = here.store.read

    async def read_slowly(work: Callable[[Tx], Any]) -> Any:
        here.fake.advance(0.005)
        return await read(work)

    monkeypatch.setattr(here.store, "read", read_slowly)
    await run_with(here, bell)
    assert bell.waits[-1] == SHORTEST_SLEEP
    await here.tick()
    assert (here.only_run(job.id).lateness_ms or 0) < 10


async def test_a_tick_during_a_long_run_stays_armed_and_does_not_spin(here: Home) -> None:
    job = here.add(when="every 1 minute")
    bell = await let_run(here, hours=1, seconds=30)
    assert len(bell.waits) <= 62
    assert min(bell.waits) > 1
    running, skipped = here.runs(job.id)
    assert (running.state, skipped.reason, skipped.missed_count) == ("queued", "overlap", 59)


async def test_a_clock_that_jumps_forward_is_noticed_within_a_minute_and_believed_after_five(here: Home) -> None:
    job = here.add(when="in 5 hours")
    bell = PatientBell(here.fake, here.now() + timedelta(hours=6, minutes=8))
    jumps = [timedelta(hours=6)]

    def jump() -> None:
        if jumps:
            here.fake.jump(jumps.pop())

    bell.meanwhile = jump
    await run_with(here, bell)
    run = here.only_run(job.id)
    assert run.trigger == "catch_up"
    assert 3900_000 <= (run.lateness_ms or 0) <= 3960_000 + 60_000


async def test_a_clock_that_jumps_back_fires_nothing_twice(here: Home) -> None:
    job = here.add(when="every 1h")
    here.pass_time(hours=1, seconds=1)
    await here.settle()
    here.fake.jump(timedelta(hours=-1))
    await let_run(here, minutes=59)
    assert len(here.runs(job.id)) == 1
    await let_run(here, hours=1, minutes=2)
    await here.settle()
    assert [run.state for run in here.runs(job.id)] == ["ok", "ok"]


async def test_a_pause_with_an_end_wakes_by_itself_and_goes_on_at_the_next_instant(here: Home) -> None:
    job = here.add(when="every 1h")
    until = here.now() + timedelta(hours=3, minutes=30)
    here.ask(disable_job, DisableJob(job_id=job.id, reason="holidays", until=until.isoformat()))
    assert "It is paused: holidays. It goes on again from" in here.ask(why_job, WhyJob(job_id=job.id)).answer
    bell = await let_run(here, hours=3, minutes=29)
    assert (here.job(job.id).enabled, bell.waits[-1] <= 60) == (False, True)
    await let_run(here, minutes=5)
    woken = here.job(job.id)
    assert (woken.enabled, woken.disabled_until, woken.disabled_reason) == (True, None, None)
    assert here.runs(job.id) == []
    await let_run(here, minutes=31)
    assert [run.scheduled_for for run in here.runs(job.id)] == [woken.next_run_at]


async def test_a_one_shot_whose_time_passed_in_its_pause_is_done_and_says_so(here: Home) -> None:
    job = here.add(when="in 1 hour")
    here.ask(disable_job, DisableJob(job_id=job.id, until=(here.now() + timedelta(hours=2)).isoformat()))
    await let_run(here, hours=3)
    assert (here.job(job.id).status, here.job(job.id).disabled_reason) == (
        "done", "Its time passed while it was paused.",
    )  # fmt: skip
    assert here.runs(job.id) == []


async def test_starting_on_an_unchanged_store_rewrites_nothing(home: Home) -> None:
    home.add(when="every 1h")
    home.add("look once", when="in 1 day")
    home.add("look never", when="in 1 day", enabled=False)

    def rows() -> list[object]:
        return [home.ledger.write(lambda tx, table=table: tx.rows(sa.select(table))) for table in (t.job, t.run)]

    before = rows()
    with home.statements() as made:
        await home.settle()
    assert [s for s in made if s.lower().startswith(("insert", "update", "delete"))] == []
    assert rows() == before


async def test_another_job_that_comes_due_during_a_long_run_starts_on_time(home: Home) -> None:
    home.model.when("work long", "Done at last.", hold="long")
    long = home.add("work long", when="in 1 hour", session_key="web:long")
    short = home.add("look quickly", when="in 2 hours", session_key="web:short")
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    async with home.running():
        home.ring()
        await home.called(1)
        home.pass_time(hours=1)
        # On PostgreSQL the claim's rows were moved as well: only time passed, nobody died.
        await home.tick()
        home.ring()
        await home.until(lambda: home.runs(short.id)[-1].state == "ok", "the short one has run")
        assert home.only_run(short.id).trigger == "timer"
        home.model.release("long")
        await home.until(lambda: home.runs(long.id)[-1].state == "ok", "the long one has run")


async def test_a_job_that_fires_and_finishes_within_one_second_runs_once(here: Home) -> None:
    job = here.add(when="0 9 * * *", timezone="UTC")
    here.fake.set(datetime(2026, 11, 16, 9, 0, 0, 200_000, tzinfo=UTC))
    await here.settle()
    await here.settle()
    assert here.ends(job.id) == [("ok", None)]
    assert here.job(job.id).next_run_at == datetime(2026, 11, 17, 9, tzinfo=UTC)


async def test_a_per_second_job_keeps_the_least_interval(here: Home) -> None:
    job = here.add("tick", when="* * * * * *", timezone="UTC")
    for _ in range(12):
        here.fake.advance(0.5)
        await here.settle()
    instants = [run.scheduled_for for run in here.runs(job.id) if run.state == "ok"]
    gaps = [later - earlier for earlier, later in pairwise(instants)]
    assert len(instants) >= 5
    assert min(gaps) >= timedelta(seconds=1)


async def test_jobs_at_the_top_of_the_hour_all_fire_there_and_nothing_is_spread(here: Home) -> None:
    jobs = [here.add(f"look {n}", when="0 * * * *", session_key=f"web:{n}") for n in range(12)]
    [instant] = {here.job(job.id).next_run_at for job in jobs}
    assert instant is not None
    assert (instant.minute, instant.second, instant.microsecond) == (0, 0, 0)
    here.pass_time(hours=1)
    await here.tick()
    fired = [here.only_run(job.id) for job in jobs]
    assert len({run.scheduled_for for run in fired}) == 1
    assert {here.job(job.id).next_run_at for job in jobs} == {fired[0].scheduled_for + timedelta(hours=1)}
