"""Rule 20: one bad job never stops a batch, and is paused after three errors in a row."""

from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import event

from behaviour.jobs.homes import Home
from homing.model.errors import Invalid
from homing.operations.job_changes import update_job
from homing.operations.jobs import list_jobs
from homing.operations.runs import run_job
from homing.operations.shapes.base import read
from homing.operations.shapes.job_asks import JobRef, ListJobs, UpdateJob, WhyJob
from homing.operations.why import why_job
from homing.store import tables as t

REMINDER = {"kind": "reminder", "message": "Drink some water."}


def spoil(home: Home, job_id: str, cron: str = "not a cron") -> None:
    """Let a job's schedule be one that no door would have taken."""
    home.change(job_id, schedule_kind="cron", cron=cron, every_ms=None, anchor=None, at=None)


async def test_a_bad_expression_or_zone_hurts_its_own_job_only(home: Home) -> None:
    bad, worse, good = (home.add(f"look {n}", when="every 1h") for n in range(3))
    spoil(home, bad.id)
    home.change(worse.id, tz="Mars/Olympus")
    home.pass_time(hours=1, seconds=1)
    await home.settle()
    assert home.ends(good.id) == [("ok", None)]
    assert home.ends(bad.id) == home.ends(worse.id) == [("error", "schedule")]
    job = home.job(bad.id)
    assert (job.last_status, job.enabled, job.status) == ("error", True, "attention")
    assert (job.last_error or "").startswith("Its schedule cannot be computed: ")
    assert job.next_run_at is not None
    assert "cannot be computed" in home.ask(why_job, WhyJob(job_id=bad.id)).answer
    # A list shows them beside all others, and says what is wrong.
    words = {job.id: job.words for job in home.ask(list_jobs, ListJobs(recent=3)).items}
    assert words[bad.id].startswith("A schedule that cannot be read: ")
    assert words[good.id].startswith("Every hour")
    assert "Mars/Olympus" in (home.job(worse.id).last_error or "")
    with pytest.raises(Invalid, match="Mars/Olympus"):
        home.ask(run_job, JobRef(job_id=worse.id))


async def test_three_schedule_errors_in_a_row_pause_the_job_and_tell_its_owner_once(home: Home) -> None:
    job = home.add(when="every 1h", name="fruit watch")
    spoil(home, job.id)
    home.pass_time(hours=1, seconds=1)
    for _ in range(5):
        await home.settle()
        home.pass_time(minutes=1, seconds=1)
    assert home.ends(job.id) == [("error", "schedule")] * 3
    paused = home.job(job.id)
    assert (paused.enabled, paused.status, paused.next_run_at) == (False, "attention", None)
    [note] = home.notes()
    assert note.startswith('I paused the automation "fruit watch". Its schedule cannot be computed: ')


async def test_one_success_resets_the_count_of_schedule_errors(home: Home) -> None:
    job = home.add(when="every 1h")
    spoil(home, job.id)
    home.pass_time(hours=1, seconds=1)
    for _ in range(2):
        await home.settle()
        home.pass_time(minutes=1, seconds=1)
    home.change(job.id, cron="* * * * *")
    await home.settle()
    assert ("ok", None) in home.ends(job.id)
    spoil(home, job.id)
    for _ in range(2):
        home.pass_time(minutes=1, seconds=1)
        await home.settle()
    assert home.job(job.id).enabled
    assert home.notes() == []


async def test_a_disabled_job_with_a_bad_schedule_is_left_alone(home: Home) -> None:
    job = home.add(when="every 1h", enabled=False)
    spoil(home, job.id)
    before = home.job(job.id)
    home.pass_time(hours=5)
    after_shift = home.job(job.id)
    await home.settle()
    assert home.job(job.id) == after_shift
    assert (home.runs(job.id), before.enabled) == ([], False)
    # Mending it needs no more than another schedule.
    home.ask(update_job, read(UpdateJob, {"job_id": job.id, "when": "every 1h", "enabled": True}))
    home.pass_time(hours=1, seconds=1)
    await home.settle()
    assert home.ends(job.id) == [("ok", None)]


async def test_one_bad_job_among_500_takes_no_neighbour_along(home: Home) -> None:
    bad = home.add("look for trouble", when="every 1h")
    [row] = home.ledger.write(lambda tx: tx.rows(sa.select(t.job).where(t.job.c.id == bad.id)))
    same = {name: value for name, value in row._mapping.items() if name not in ("n", "payload_kind")}
    others = [same | {"id": f"job_{n}", "payload_kind": "reminder", "message": str(n)} for n in range(499)]
    home.ledger.write(lambda tx: tx.run(sa.insert(t.job), others))
    spoil(home, bad.id)
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    assert home.ends(bad.id) == [("error", "schedule")]
    assert home.ledger.count(t.run, t.run.c.state == "ok") == 499
    assert home.ledger.count(t.message, t.message.c.kind == "reminder") == 499


@pytest.mark.parametrize("where", ["first", "last"])
async def test_a_job_that_makes_the_tick_itself_fail_is_found_by_halving_and_the_others_go_on(
    home: Home, where: str
) -> None:
    """No door takes such a text; here the database is made to choke on it."""
    names = ["poison" if (where == "first") == (n == 0) and n in (0, 19) else f"water {n}" for n in range(20)]
    assert names.count("poison") == 1
    added = {
        name: home.add(message=None, payload=REMINDER | {"message": name}, when="every 1h", name=name).id
        for name in names
    }

    def choke(_c: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if statement.lower().startswith("insert into message") and "poison" in str(parameters):
            raise RuntimeError("cannot swallow this")

    event.listen(home.store.engine, "before_cursor_execute", choke)
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    assert home.ends(added["poison"]) == [("error", "schedule")]
    others = [home.ends(job_id) for name, job_id in added.items() if name != "poison"]
    assert others == [[("ok", None)]] * 19
