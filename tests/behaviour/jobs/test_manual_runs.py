"""Rule 17: "run now" is an ordinary run. It moves nothing, and never stands beside another of its job."""

import asyncio
from typing import Any

import pytest
from sqlalchemy import event
from structlog.testing import capture_logs

from behaviour.jobs.homes import Home
from homing.model.errors import Conflict
from homing.operations.runs import list_runs, run_job
from homing.operations.shapes.job_asks import JobRef
from homing.operations.shapes.run_asks import ListRuns


def run_now(home: Home, job_id: str) -> Any:
    return home.ask(run_job, JobRef(job_id=job_id))


async def test_run_now_while_a_timer_run_is_active_is_refused_and_names_it(home: Home) -> None:
    home.model.otherwise("Fine.", hold=True)
    job = home.add(when="every 1h")
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    run = home.only_run(job.id)
    with pytest.raises(Conflict) as queued:
        run_now(home, job.id)
    assert (queued.value.code, queued.value.extra["run_id"]) == ("already_running", run.id)
    working = asyncio.create_task(home.work())
    await home.called(1)
    with pytest.raises(Conflict) as running:
        run_now(home, job.id)
    assert running.value.extra["run_id"] == run.id
    home.model.release()
    await working
    assert home.ends(job.id) == [("ok", None)]


async def test_a_slot_that_comes_due_during_a_manual_run_starts_no_second(home: Home) -> None:
    home.model.otherwise("Fine.", hold=True)
    job = home.add(when="every 1h")
    run_now(home, job.id)
    working = asyncio.create_task(home.work(claim=home.claim(seconds=None)))
    await home.called(1)
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    home.model.release()
    await working
    await home.settle()
    assert home.ends(job.id) == [("ok", None), ("skipped", "overlap")]
    assert len(home.model.seen) == 1


async def test_a_manual_run_of_a_recurring_job_moves_neither_slot_nor_anchor_and_is_recorded(home: Home) -> None:
    job = home.add(when="every 1h")
    home.pass_time(minutes=25)
    before = home.job(job.id)
    run = run_now(home, job.id)
    await home.settle()
    after = home.job(job.id)
    assert (after.next_run_at, after.timing, after.enabled) == (before.next_run_at, before.timing, True)
    assert (after.last_run_id, after.last_status) == (run.id, "ok")
    assert (home.only_run(job.id).trigger, home.only_run(job.id).id[-2:]) == ("manual", ":m")


@pytest.mark.parametrize("delete_after_run", [False, True])
async def test_a_manual_run_leaves_a_disabled_one_shot_disabled_with_its_instant(
    home: Home, *, delete_after_run: bool
) -> None:
    job = home.add(when="in 5 hours", enabled=False, delete_after_run=delete_after_run)
    before = home.job(job.id)
    run_now(home, job.id)
    await home.settle()
    after = home.job(job.id)
    assert home.ends(job.id) == [("ok", None)]
    assert (after.enabled, after.timing, after.next_run_at, after.removed_at, after.status) == (
        False, before.timing, None, None, "paused",
    )  # fmt: skip


async def test_a_second_manual_run_is_refused_with_the_id_of_the_waiting_one_and_other_jobs_go_on(home: Home) -> None:
    first, second = home.add(), home.add("look elsewhere", session_key="web:other")
    waiting = run_now(home, first.id)
    with pytest.raises(Conflict) as refused:
        run_now(home, first.id)
    assert refused.value.extra["run_id"] == waiting.id
    run_now(home, second.id)
    await home.settle()
    assert (home.ends(first.id), home.ends(second.id)) == ([("ok", None)], [("ok", None)])


async def test_a_manual_run_whose_write_fails_is_logged_once_and_the_lane_is_free(home: Home) -> None:
    job = home.add()
    broken: list[str] = []

    def fail_once(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if not broken and statement.lower().startswith("insert into turn"):
            broken.append(statement)
            raise RuntimeError("the disk said no")

    event.listen(home.store.engine, "before_cursor_execute", fail_once)
    run_now(home, job.id)
    with capture_logs() as logs:
        async with home.running():
            home.ring()
            await home.until_closed(1)
    assert len([line for line in logs if line["event"] == "lane_failed"]) == 1
    assert home.ends(job.id) == [("ok", None)]
    home.ledger.check_whole()


async def test_a_manual_run_whose_asking_fails_leaves_nothing_behind(home: Home) -> None:
    job = home.add()
    broken: list[str] = []

    def fail_once(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if not broken and statement.lower().startswith("insert into inbound"):
            broken.append(statement)
            raise RuntimeError("the disk said no")

    event.listen(home.store.engine, "before_cursor_execute", fail_once)
    with pytest.raises(RuntimeError):
        run_now(home, job.id)
    assert home.ask(list_runs, ListRuns()).items == []
    run_now(home, job.id)
    await home.settle()
    assert home.ends(job.id) == [("ok", None)]
