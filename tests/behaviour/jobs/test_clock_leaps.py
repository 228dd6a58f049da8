"""A clock that is wrong for a while does no lasting harm: nothing is lost, nothing fires twice."""

import shutil
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from behaviour.jobs.homes import Home
from behaviour.jobs.test_timer import PatientBell, let_run, run_with
from homing.engine.scheduler import Scheduler
from homing.engine.sweeper import Sweeper
from homing.operations.job_changes import disable_job
from homing.operations.shapes.job import JobShape
from homing.operations.shapes.job_asks import DisableJob
from homing.store import Store
from homing.testing import FakeClock

YEAR_AND_MORE = timedelta(days=400)


def remind(home: Home, when: str) -> JobShape:
    return home.add(None, when=when, payload={"kind": "reminder", "message": "stretch"})


@pytest.fixture
async def here(sqlite_template: Path, tmp_path: Path, clock: FakeClock) -> AsyncIterator[Home]:
    shutil.copy(sqlite_template, tmp_path / "homing.db")
    store = Store(f"sqlite:///{tmp_path / 'homing.db'}", clock, fsync=False)
    yield Home(store, clock)
    await store.close()


async def wrong_for(home: Home, by: timedelta, *, seconds: float, then_seconds: float) -> None:
    """Let the scheduler run for two minutes, then with a wrong clock, then with the right one again."""
    fake = home.fake
    start, began = fake.now(), fake.monotonic()
    bell = PatientBell(fake, start + 2 * YEAR_AND_MORE)
    state = {"wrong": False, "over": False}

    def meanwhile() -> None:
        passed = fake.monotonic() - began
        if passed >= 120 and not state["wrong"]:
            state["wrong"] = True
            fake.jump(by)
        if passed >= 120 + seconds and not state["over"]:
            state["over"] = True
            fake.jump(-by)
        if passed >= 120 + seconds + then_seconds:
            bell.end()

    bell.meanwhile = meanwhile
    await run_with(home, bell)


@pytest.mark.parametrize("by", [YEAR_AND_MORE, timedelta(hours=2)], ids=["400 days", "2 hours"])
async def test_a_clock_that_is_wrong_for_a_minute_moves_no_job(here: Home, by: timedelta) -> None:
    often = remind(here, "every 30 seconds")
    daily = remind(here, "every day at 9")
    soon = remind(here, "in 10 minutes")
    month = remind(here, "in 30 days")
    planned = {job.id: here.job(job.id).next_run_at for job in (daily, month)}
    await wrong_for(here, by, seconds=75, then_seconds=900)
    # Some in the first two minutes, none while nobody knew the time, and the thirty of a quarter of an hour after.
    assert 31 <= len([run for run in here.runs(often.id) if run.state == "ok"]) <= 36
    assert [run.lateness_ms is not None and run.lateness_ms < 61_000 for run in here.runs(soon.id)] == [True]
    for job in (daily, month):
        assert here.job(job.id).enabled
        assert here.job(job.id).next_run_at == planned[job.id]
        assert here.runs(job.id) == []
    assert here.notes() == []


async def test_a_clock_that_is_wrong_for_a_minute_ends_no_pause(here: Home) -> None:
    job = remind(here, "every day at 9")
    until = here.now() + timedelta(days=30)
    here.ask(disable_job, DisableJob(job_id=job.id, until=until.isoformat()))
    await wrong_for(here, YEAR_AND_MORE, seconds=75, then_seconds=600)
    assert not here.job(job.id).enabled
    assert here.job(job.id).disabled_until == until


async def test_a_clock_that_is_wrong_for_longer_is_made_good_when_it_is_set_right(here: Home) -> None:
    often = remind(here, "every 30 seconds")
    daily = remind(here, "every day at 9")
    planned = here.job(daily.id).next_run_at
    await wrong_for(here, YEAR_AND_MORE, seconds=1200, then_seconds=600)
    assert here.job(daily.id).next_run_at == planned
    instants = [run.scheduled_for for run in here.runs(often.id) if run.state == "ok"]
    assert len(instants) == len(set(instants))
    recent = [at for at in instants if here.now() - timedelta(seconds=590) <= at <= here.now()]
    assert len(recent) >= 18
    # Nothing that is still to come counts as missed.
    ahead = [run for run in here.runs(daily.id) if (run.missed_until or run.scheduled_for) > here.now()]
    assert [run.state for run in ahead] in ([], ["ok"])


async def test_a_start_with_the_right_clock_makes_good_what_a_wrong_one_planned(here: Home) -> None:
    daily = remind(here, "every day at 9")
    planned = here.job(daily.id).next_run_at
    here.fake.jump(YEAR_AND_MORE)
    await here.settle()
    assert (here.job(daily.id).next_run_at or here.now()) > here.now()
    here.fake.jump(-YEAR_AND_MORE)
    await let_run(here, minutes=2)
    assert here.job(daily.id).next_run_at == planned


async def test_after_a_long_time_off_what_was_missed_is_made_up_at_once(here: Home) -> None:
    """A machine that was off for a week is not a machine with a wrong clock."""
    daily = remind(here, "every day at 9")
    await let_run(here, minutes=2)
    here.pass_time(days=7)
    await let_run(here, minutes=1)
    [run] = [run for run in here.runs(daily.id) if run.state == "ok"]
    assert run.trigger == "catch_up"


async def test_a_machine_that_slept_makes_up_at_once(here: Home) -> None:
    """Monotonic time counts a suspended machine's sleep."""
    soon = remind(here, "in 2 hours")
    scheduler = Scheduler(here.store, here.instance, here.fake)
    await scheduler.step()
    here.fake.advance(timedelta(hours=3))
    await scheduler.step()
    assert here.only_run(soon.id).state == "ok"
    assert scheduler.note is None


async def test_a_scheduler_says_that_it_does_not_trust_the_clock(here: Home) -> None:
    scheduler = Scheduler(here.store, here.instance, here.fake)
    await scheduler.step()
    here.fake.jump(timedelta(hours=5))
    await scheduler.step()
    assert "leapt 5 h ahead" in (scheduler.note or "")
    here.fake.advance(timedelta(minutes=6))
    await scheduler.step()
    assert scheduler.note is None


def set_back(home: Home, by: timedelta) -> None:
    """Let the store's clock fall behind the seconds that pass."""
    if home.store.postgres:
        # Its time is the server's; so more seconds have passed than it knows.
        home.fake.advance(by)
    else:
        home.fake.jump(-by)


async def test_a_clock_set_back_plans_recurring_jobs_again_and_leaves_one_shots(home: Home) -> None:
    often = remind(home, "every 30 seconds")
    cron = remind(home, "0 9 * * *")
    once = remind(home, "in 30 days")
    soonest = {job.id: home.job(job.id).next_run_at for job in (often, cron)}
    scheduler = Scheduler(home.store, home.instance, home.fake)
    await scheduler.step()
    for job in (often, cron):
        home.change(job.id, next_run_at=home.now() + YEAR_AND_MORE)
    later = home.job(once.id).next_run_at
    set_back(home, timedelta(hours=2))
    while await scheduler.step():
        pass
    for job in (often, cron):
        upcoming, before = home.job(job.id).next_run_at, soonest[job.id]
        assert upcoming is not None
        assert before is not None
        assert upcoming <= before + timedelta(minutes=2)
    assert home.job(once.id).next_run_at == later


async def test_a_clock_set_back_is_made_good_also_when_planning_again_fails_at_first(here: Home) -> None:
    often = remind(here, "every 30 seconds")
    scheduler = Scheduler(here.store, here.instance, here.fake)
    await scheduler.step()
    soonest = here.job(often.id).next_run_at
    here.change(often.id, next_run_at=here.now() + YEAR_AND_MORE)
    broken = "create trigger broken before update of next_run_at on job begin select raise(abort, 'broken'); end"
    here.ledger.write(lambda tx: tx.connection.exec_driver_sql(broken))
    set_back(here, timedelta(hours=2))
    assert await scheduler.step()
    here.ledger.write(lambda tx: tx.connection.exec_driver_sql("drop trigger broken"))
    while await scheduler.step():
        pass
    upcoming = here.job(often.id).next_run_at
    assert soonest is not None
    assert upcoming is not None
    assert upcoming <= soonest


async def test_a_start_far_after_the_last_sign_of_work_prunes_nothing_for_a_while(home: Home) -> None:
    job = remind(home, "in 10 seconds")
    home.pass_time(seconds=11)
    await home.settle()
    # The newest run of a job is kept in any case; it is the others that would go.
    home.change(job.id, last_run_id=None)
    home.pass_time(days=400)
    sweeper = Sweeper(home.store, home.instance, home.fake, "worker_1", "here:1", None)
    await sweeper.beat()
    await sweeper.prune()
    assert len(home.runs(job.id)) == 1
    home.fake.advance(timedelta(minutes=16))
    await sweeper.prune()
    assert home.runs(job.id) == []
