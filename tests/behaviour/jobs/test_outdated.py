"""Rule 62: a process that is older than its database takes no new work, finishes its turns, and says so."""

from datetime import timedelta

import sqlalchemy as sa

from behaviour.jobs.homes import Home
from homing.engine.scheduler import Scheduler
from homing.engine.sweeper import Sweeper
from homing.store import maintenance, schema
from support.site import open_site
from support.worlds import stays_idle


def upgrade(home: Home, version: str) -> None:
    home.ledger.write(lambda tx: tx.run(sa.text(f"update alembic_version set version_num = '{version}'")))


def sweeper(home: Home, scheduler: Scheduler) -> Sweeper:
    return Sweeper(home.store, home.instance, home.fake, "worker_1", "here:1", scheduler)


async def test_an_old_process_beside_an_upgraded_database_finishes_its_turns_and_takes_no_more(home: Home) -> None:
    known = schema.current(home.store)[1]
    job = home.add(None, when="in 10 seconds", payload={"kind": "reminder", "message": "stretch"})
    scheduler = home.scheduler()
    beats = sweeper(home, scheduler)
    await beats.beat()
    home.model.otherwise("Fine.", hold=True)
    async with home.running():
        home.ledger.say("hello", "web:first")
        home.ring()
        await home.called(1)
        upgrade(home, "9999")
        await beats.beat()
        home.ledger.say("hello", "web:second")
        home.pass_time(seconds=11)
        home.ring()
        home.model.release()
        await home.until_closed(1, "web:first")
    assert home.ledger.turns("web:second") == []
    assert await home.runner().step() is False
    [worker] = home.ledger.write(lambda tx: maintenance.workers(tx, timedelta(minutes=1)))
    assert not worker.schedules
    assert "schema 9999" in (worker.note or "")
    # A newer door that comes back to the version this one knows lets it go on.
    upgrade(home, known)
    await beats.beat()
    home.model.otherwise("Fine.")
    await home.settle()
    assert [turn.outcome for turn in home.ledger.turns("web:second")] == ["answered"]
    assert home.only_run(job.id).state == "ok"


async def test_its_scheduler_fires_nothing(home: Home) -> None:
    job = home.add(None, when="in 10 seconds", payload={"kind": "reminder", "message": "stretch"})
    home.pass_time(seconds=11)
    await stays_idle(home.store, home.scheduler().run(), lambda: home.runs(job.id))


async def test_it_prunes_nothing(home: Home) -> None:
    known = schema.current(home.store)[1]
    job = home.add(None, when="every 1h", payload={"kind": "reminder", "message": "stretch"})
    for _ in range(2):
        home.pass_time(hours=1, seconds=1)
        await home.settle()
    beats = sweeper(home, home.scheduler())
    await beats.beat()
    home.pass_time(days=400)
    upgrade(home, "9999")
    await beats.beat()
    assert await beats.prune()
    assert len(home.runs(job.id)) == 2
    upgrade(home, known)
    await beats.beat()
    assert await beats.prune()
    # The newest one of a living job stays.
    assert len(home.runs(job.id)) == 1


async def test_its_doors_take_nothing_and_say_why(home: Home) -> None:
    site = open_site(home.world)
    beats = sweeper(home, home.scheduler())
    await beats.beat()
    assert (await site.owner.post("/api/memories", json={"text": "x"})).status_code == 201
    upgrade(home, "9999")
    await beats.beat()
    refused = await site.owner.post("/api/memories", json={"text": "y"})
    assert (refused.status_code, refused.json()["code"]) == (503, "not_ready")
    assert "newest Homing" in refused.json()["detail"]
    ready = await site.nobody.get("/readyz")
    assert ready.status_code == 503
    assert "newest Homing" in ready.json()["detail"]


async def test_readyz_tells_that_the_clock_is_not_trusted(home: Home) -> None:
    site = open_site(home.world)
    home.ledger.write(
        lambda tx: maintenance.beat(
            tx, "worker_1", name="here:1", schedules=True, next_wake_at=None, note="the clock leapt 5 h ahead"
        )
    )
    ready = await site.nobody.get("/readyz")
    assert (ready.status_code, ready.json()) == (200, {"status": "ready", "notes": ["the clock leapt 5 h ahead"]})
