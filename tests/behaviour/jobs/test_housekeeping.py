"""What is done leaves the lists, and what is old leaves the database with everything that belonged to it."""

from collections.abc import Collection
from datetime import timedelta

import sqlalchemy as sa

from behaviour.jobs.homes import Home
from homing.engine.indexer import Indexer
from homing.engine.sweeper import Sweeper
from homing.model.usage import day_of
from homing.operations.job_changes import update_job
from homing.operations.jobs import get_job, list_jobs
from homing.operations.removal import remove_job
from homing.operations.runs import run_job
from homing.operations.shapes.base import Nothing
from homing.operations.shapes.job_asks import GetJob, JobRef, ListJobs, UpdateJob, WhyJob
from homing.operations.status import get_status
from homing.operations.why import why_job
from homing.store import Tx, maintenance
from homing.store import tables as t
from support.ledger import CHAT


def listed(home: Home, **query: object) -> list[str]:
    return [job.name for job in home.ask(list_jobs, ListJobs.model_validate(query)).items]


async def sweep(home: Home) -> None:
    sweeper = Sweeper(home.store, home.instance, home.fake, "worker_1", "here:1", None)
    while await sweeper.prune():
        pass


def counted(home: Home, but: Collection[sa.Table] = ()) -> dict[str, int]:
    """Count the rows of every table."""

    def work(tx: Tx) -> dict[str, int]:
        tables = [table for table in t.metadata.sorted_tables if table not in but]
        return {table.name: tx.rows(sa.select(sa.func.count()).select_from(table))[0][0] for table in tables}

    return home.ledger.write(work)


async def test_a_done_one_shot_leaves_the_list_after_7_days_and_is_still_found(home: Home) -> None:
    job = home.add("buy apples", name="apples", when="in 1 hour")
    failed = home.add("buy pears", name="pears", when="in 1 hour")
    home.model.fail(401, match="pears")
    home.add(name="daily", when="every 1d")
    home.pass_time(hours=1, seconds=1)
    await home.settle()
    home.pass_time(days=6, hours=23)
    assert sorted(listed(home)) == ["apples", "daily", "pears"]
    home.pass_time(hours=2)
    # What needs somebody stays.
    assert sorted(listed(home)) == ["daily", "pears"]
    assert listed(home, status="done") == []
    status = home.ask(get_status, Nothing()).jobs
    assert (status.done, status.attention, status.active) == (0, 1, 1)
    assert listed(home, q="appl") == ["apples"]
    assert home.ask(get_job, GetJob(job_id=job.id)).status == "done"
    assert "went well" in home.ask(why_job, WhyJob(job_id=job.id)).answer
    # Used again, it is back for another seven days.
    home.ask(run_job, JobRef(job_id=job.id))
    await home.settle()
    assert "apples" in listed(home)
    home.pass_time(days=7, hours=1)
    assert "apples" not in listed(home)
    home.ask(update_job, UpdateJob(job_id=job.id, name="more apples"))
    assert "more apples" in listed(home)
    assert failed.id


async def test_the_session_of_an_isolated_run_goes_with_its_run_and_nothing_of_it_remains(home: Home) -> None:
    await home.say("hello")
    job = home.add(name="watch", when="every 1h", session="isolated")
    # The turns of the conversation that reports opened are its own, and stay; so do the sums of what was used.
    but = (t.usage_sum, t.job)
    home.pass_time(hours=1)
    await home.settle()
    await sweep(home)
    before = counted(home, but)
    for _ in range(3):
        home.pass_time(hours=1)
        await home.settle()
    grown = counted(home, but)
    assert grown["session"] == before["session"] + 3
    used = home.ledger.write(lambda tx: tx.rows(sa.select(sa.func.sum(t.usage_sum.c.turns)))[0][0])
    home.change(job.id, enabled=False, disabled_by="person", next_run_at=None)
    home.pass_time(days=91)
    await sweep(home)
    after = counted(home, but)
    # The newest run of a living job stays, and its session with it.
    assert (after["run"], after["session"]) == (1, before["session"])
    assert len(home.runs(job.id)) == 1
    orphans = home.ledger.write(
        lambda tx: tx.rows(sa.select(t.step.c.turn_id).where(t.step.c.turn_id.not_in(sa.select(t.turn.c.id))).limit(1))
    )
    assert orphans == []
    apart = home.ledger.write(lambda tx: tx.rows(sa.select(t.session.c.key).where(t.session.c.parent_id.is_not(None))))
    assert [key for (key,) in apart] == [f"cron:{home.runs(job.id)[0].id}"]
    kept = home.ledger.write(lambda tx: tx.rows(sa.select(sa.func.sum(t.usage_sum.c.turns)))[0][0])
    assert kept == used
    # The conversation is whole.
    assert len(home.shown(CHAT)) == before["message"] - 2 + 3 * 2
    home.ledger.check_whole()


async def test_a_session_apart_stays_while_anything_in_it_is_open(home: Home) -> None:
    job = home.add(name="watch", when="every 1h", session="isolated", write_back="none")
    home.pass_time(hours=1)
    await home.settle()
    run = home.only_run(job.id)
    home.ledger.note("A kettle boils.", f"cron:{run.id}")
    home.ask(remove_job, JobRef(job_id=job.id))
    home.pass_time(days=200)
    await sweep(home)
    assert home.runs(job.id) == []
    left = sa.select(t.session.c.key).where(t.session.c.parent_id.is_not(None))
    assert [key for (key,) in home.ledger.write(lambda tx: tx.rows(left))] == [f"cron:{run.id}"]
    home.ledger.write(lambda tx: tx.run(sa.update(t.inbound).values(state="withdrawn")))
    await sweep(home)
    assert home.ledger.write(lambda tx: tx.rows(left)) == []


async def test_sums_of_usage_are_kept_for_a_year_and_a_month(home: Home) -> None:
    await home.say("hello")
    today = day_of(home.now(), "UTC")
    kept, gone = today - timedelta(days=395), today - timedelta(days=405)

    def work(tx: Tx) -> None:
        [row] = tx.rows(sa.select(t.usage_sum))
        for day in (kept, gone):
            tx.run(sa.insert(t.usage_sum).values({**dict(row._mapping), "day": day.isoformat()}))
            tx.run(
                sa.insert(t.budget_note).values(user_id="default", day=day.isoformat(), about="runs", given_at=tx.now())
            )

    home.ledger.write(work)
    await sweep(home)
    days = home.ledger.write(lambda tx: [day for (day,) in tx.rows(sa.select(t.usage_sum.c.day))])
    assert sorted(days) == [kept.isoformat(), today.isoformat()]
    assert home.ledger.write(lambda tx: tx.rows(sa.select(t.budget_note))) == []
    assert home.ledger.write(maintenance.prune_usage) == 0


async def test_search_forgets_a_job_that_went_after_its_run(home: Home) -> None:
    home.add("buy apples", name="apples", when="in 1 hour", delete_after_run=True)
    indexer = Indexer(home.store)

    async def indexed() -> int:
        while await indexer.step():
            pass
        of_jobs = sa.select(t.search_entry.c.n).where(t.search_entry.c.kind == "job")
        return len(home.ledger.write(lambda tx: tx.rows(of_jobs)))

    assert await indexed() == 1
    home.pass_time(hours=1, seconds=1)
    await home.settle()
    assert listed(home) == []
    assert await indexed() == 0
