"""Rule 39: a changed schedule leaves its waiting run behind, and a run that never opened counts for nothing."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from behaviour.jobs.homes import Home
from homing.model.errors import ModelFailed
from homing.model.jobs import Job
from homing.operations.job_changes import disable_job, enable_job, update_job
from homing.operations.runs import cancel_run, run_job
from homing.operations.session_deletion import delete_session
from homing.operations.shapes.base import read
from homing.operations.shapes.job_asks import DisableJob, JobRef, UndoJob, UpdateJob, WhyJob
from homing.operations.shapes.run_asks import RunRef
from homing.operations.shapes.session_asks import DeleteSession
from homing.operations.undo import undo_job
from homing.operations.why import why_job


def change(home: Home, job_id: str, **given: Any) -> None:
    home.ask(update_job, read(UpdateJob, {"job_id": job_id, **given}))


async def waiting(home: Home, **given: Any) -> Job:
    """Add a job and let its first run wait in the lane."""
    job = home.add(**({"when": "every 1h"} | given))
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    assert home.ends(job.id) == [("queued", None)]
    return home.job(job.id)


@pytest.mark.parametrize("when", ["in 1 hour", "every 1h"])
async def test_another_time_withdraws_the_waiting_run_of_the_old_one(home: Home, when: str) -> None:
    job = await waiting(home, when=when)
    change(home, job.id, when="in 5 hours")
    await home.settle()
    assert (home.ends(job.id), home.model.seen) == ([("skipped", "rescheduled")], [])
    told = home.ask(why_job, WhyJob(job_id=job.id))
    assert "was withdrawn, because the automation was given another time before it could start." in told.answer
    assert told.runs[0].reason == "rescheduled"
    home.pass_time(hours=5, seconds=1)
    await home.settle()
    assert home.ends(job.id) == [("skipped", "rescheduled"), ("ok", None)]


async def test_another_start_withdraws_it_as_well(home: Home) -> None:
    job = await waiting(home)
    change(home, job.id, starts_at=home.world.ahead(hours=3))
    assert home.ends(job.id) == [("skipped", "rescheduled")]


@pytest.mark.parametrize(
    "edit",
    [{"name": "other"}, {"message": "look for pears"}, {"max_runs": 5}, {"quiet": True}, {"when": "every 1h"}],
)
async def test_any_other_edit_keeps_the_waiting_run(home: Home, edit: dict[str, Any]) -> None:
    job = await waiting(home)
    change(home, job.id, **edit)
    await home.settle()
    assert home.ends(job.id) == [("ok", None)]


async def test_a_run_asked_for_by_hand_waits_on_when_the_schedule_changes(home: Home) -> None:
    job = home.add(when="every 1h")
    home.ask(run_job, JobRef(job_id=job.id))
    change(home, job.id, when="every day at 9")
    await home.settle()
    assert [(run.trigger, run.state) for run in home.runs(job.id)] == [("manual", "ok")]


async def test_another_time_withdraws_a_waiting_retry(home: Home) -> None:
    job = await waiting(home, when="in 1 hour")

    async def fail(*_: Any) -> Any:
        raise ModelFailed("The model did not answer.")

    await home.work(lanes=home.lanes(fail))
    home.pass_time(minutes=1, seconds=1)
    await home.tick()
    change(home, job.id, when="in 5 hours")
    await home.settle()
    assert home.ends(job.id) == [("error", "model"), ("skipped", "rescheduled")]
    home.ask(undo_job, UndoJob(job_id=job.id, revision=2))
    await home.settle()
    assert [(run.trigger, run.state) for run in home.runs(job.id)] == [("timer", "error"), ("retry", "ok")]


@pytest.mark.parametrize("when", ["in 1 hour", "every 1h"])
async def test_taking_back_another_time_lets_the_withdrawn_run_fire_after_all(home: Home, when: str) -> None:
    job = await waiting(home, when=when, max_runs=1)
    change(home, job.id, when="in 2 hours")
    home.ask(undo_job, UndoJob(job_id=job.id, revision=2))
    await home.settle()
    assert home.ends(job.id) == [("ok", None)]
    assert (home.job(job.id).next_run_at, home.job(job.id).status) == (None, "done")


async def test_taking_back_another_time_withdraws_the_waiting_run_of_that_one(home: Home) -> None:
    job = home.add(when="every day at 9")
    change(home, job.id, when="in 1 hour")
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    home.ask(undo_job, UndoJob(job_id=job.id, revision=2))
    await home.settle()
    assert (home.ends(job.id), home.model.seen) == ([("skipped", "rescheduled")], [])
    assert home.job(job.id).next_run_at is not None


async def test_of_an_edit_and_an_opening_at_once_either_the_run_opens_or_it_is_withdrawn(home: Home) -> None:
    # Each in a lane of its own, so that workers open them while their schedules change.
    jobs = [home.add(when="every 1h", session="isolated", write_back="none") for _ in range(12)]
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    runner = home.runner()
    with ThreadPoolExecutor(4) as pool:
        edits = [pool.submit(change, home, job.id, when="in 5 hours") for job in jobs]
        while await runner.step():
            pass
        for edit in edits:
            edit.result()
    await home.settle()
    for job in jobs:
        assert home.ends(job.id) in ([("ok", None)], [("skipped", "rescheduled")])
        assert (home.job(job.id).enabled, home.job(job.id).next_run_at is not None) == (True, True)
    home.ledger.check_whole()


# max_runs


async def test_a_withdrawn_run_uses_up_nothing_of_max_runs_so_the_job_can_be_rescheduled(home: Home) -> None:
    job = await waiting(home, max_runs=1)
    change(home, job.id, when="every 2h")
    assert home.job(job.id).next_run_at is not None
    home.pass_time(hours=2, seconds=1)
    await home.settle()
    assert home.ends(job.id) == [("skipped", "rescheduled"), ("ok", None)]
    assert (home.job(job.id).status, home.job(job.id).next_run_at) == ("done", None)


async def test_a_withdrawn_run_uses_up_nothing_of_max_runs_so_the_job_can_be_enabled(home: Home) -> None:
    job = await waiting(home, max_runs=1)
    home.ask(disable_job, DisableJob(job_id=job.id))
    home.ask(enable_job, JobRef(job_id=job.id))
    home.pass_time(hours=1, seconds=1)
    await home.settle()
    assert home.ends(job.id) == [("skipped", "disabled"), ("ok", None)]
    assert home.job(job.id).status == "done"


async def test_a_pause_by_edit_gives_the_run_back_too_and_a_count_is_given_back_once(home: Home) -> None:
    job = await waiting(home, max_runs=2)
    change(home, job.id, enabled=False)
    change(home, job.id, enabled=True)
    home.ask(disable_job, DisableJob(job_id=job.id))
    home.ask(enable_job, JobRef(job_id=job.id))
    for _ in range(3):
        home.pass_time(hours=1, seconds=1)
        await home.settle()
    assert home.ends(job.id) == [("skipped", "disabled"), ("ok", None), ("ok", None)]
    assert home.job(job.id).status == "done"


async def test_a_run_cancelled_before_it_opened_does_not_count_and_the_job_goes_on(home: Home) -> None:
    job = await waiting(home, max_runs=1)
    assert job.next_run_at is None
    home.ask(cancel_run, RunRef(run_id=home.only_run(job.id).id))
    assert home.job(job.id).next_run_at is not None
    home.pass_time(hours=1, seconds=1)
    await home.settle()
    assert home.ends(job.id) == [("cancelled", "asked"), ("ok", None)]
    assert home.job(job.id).status == "done"


async def test_a_one_shot_cancelled_before_it_opened_is_done(home: Home) -> None:
    job = await waiting(home, when="in 1 hour")
    home.ask(cancel_run, RunRef(run_id=home.only_run(job.id).id))
    assert (home.job(job.id).status, home.job(job.id).next_run_at) == ("done", None)


async def test_an_isolated_run_withdrawn_with_its_own_session_does_not_count(home: Home) -> None:
    job = await waiting(home, max_runs=1, session="isolated")
    home.ask(delete_session, DeleteSession(session_key=f"cron:{home.only_run(job.id).id}"))
    after = home.job(job.id)
    assert (home.ends(job.id), after.enabled) == ([("skipped", "session_deleted")], True)
    assert after.next_run_at is not None


async def test_an_opened_run_counts_however_it_ends(home: Home) -> None:
    home.model.fail(401)
    job = await waiting(home, max_runs=1)
    await home.settle()
    assert home.ends(job.id) == [("error", "model")]
    assert (home.job(job.id).enabled, home.job(job.id).next_run_at) == (False, None)
