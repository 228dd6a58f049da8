"""Rule 15: a failure is recorded on run and job and told in one short line; what then follows depends on the job."""

from datetime import timedelta
from typing import Any

import pytest

from behaviour.jobs.homes import Home
from homing.operations.job_changes import enable_job
from homing.operations.jobs import get_job
from homing.operations.runs import run_job
from homing.operations.shapes.job_asks import GetJob, JobRef, WhyJob
from homing.operations.why import why_job

PROVIDER = "Incorrect API key provided: sk-secret. See https://provider.example/keys"
WRONG_KEY = "I could not answer: the model's provider refused the key. Check it (see `homing doctor`)."
FAULTY = "I could not answer: the model's server reported an error at every attempt. Try again later."
# A transient failure is tried again three times inside its turn.
CALLS = 4


def fail_transiently(home: Home, runs: int = 1) -> None:
    home.model.fail(503, retry_after_seconds=0, times=CALLS * runs, message=PROVIDER)


async def come_due(home: Home, **length: float) -> None:
    home.pass_time(**(length or {"hours": 1, "seconds": 1}))
    await home.settle()


def state(home: Home, job_id: str) -> Any:
    return home.ask(get_job, GetJob(job_id=job_id)).state


async def test_a_model_failure_is_an_error_on_run_and_job_and_one_short_line_in_the_chat(home: Home) -> None:
    home.model.fail(401, message=PROVIDER)
    job = home.add(when="every 1h")
    await come_due(home)
    run = home.only_run(job.id)
    assert (run.state, run.reason, run.summary) == ("error", "model", WRONG_KEY)
    assert "Incorrect API key provided: sk-***" in (run.error or "")
    told = state(home, job.id)
    assert (told.last_status, told.last_error, told.consecutive_failures) == ("error", WRONG_KEY, 1)
    assert told.last_run_id == run.id
    assert home.ask(get_job, GetJob(job_id=job.id)).status == "attention"
    opening, closing = home.shown()
    assert (closing.kind, closing.text, closing.meta["outcome"], closing.meta["reason"]) == (
        "scheduled", WRONG_KEY, "failed", "model",
    )  # fmt: skip
    shown = f"{opening} {closing} {told} {home.ask(why_job, WhyJob(job_id=job.id))}"
    assert "Incorrect API key" not in shown
    assert "provider.example" not in shown
    home.ledger.check_whole()


async def test_one_success_forgives_all_failures_before_it(home: Home) -> None:
    home.model.fail(401, times=3)
    job = home.add(when="every 1h")
    for failures in (1, 2, 3, 0):
        await come_due(home)
        assert home.job(job.id).consecutive_failures == failures
    assert (state(home, job.id).last_status, state(home, job.id).last_error) == ("ok", None)


async def test_a_recurring_jobs_transient_error_is_retried_inside_its_turn_and_its_cadence_stays(home: Home) -> None:
    home.model.fail(503, retry_after_seconds=0, times=2, match="look for fruit")
    job = home.add(when="every 1h")
    due = home.job(job.id).next_run_at
    await come_due(home)
    assert home.ends(job.id) == [("ok", None)]
    assert len(home.model.seen) == 3
    run = home.only_run(job.id)
    assert home.job(job.id).next_run_at == run.scheduled_for + timedelta(hours=1)
    if not home.store.postgres:
        assert run.scheduled_for == due


async def test_a_recurring_job_that_failed_for_good_is_not_retried_and_keeps_its_cadence(home: Home) -> None:
    fail_transiently(home)
    job = home.add(when="every 1h")
    await come_due(home)
    [run] = home.runs(job.id)
    assert (run.state, run.reason, run.summary) == ("error", "model", FAULTY)
    assert len(home.model.seen) == CALLS
    await come_due(home, minutes=20)
    assert len(home.runs(job.id)) == 1
    await come_due(home, minutes=40)
    assert home.ends(job.id) == [("error", "model"), ("ok", None)]


async def test_after_ten_failures_in_a_row_a_job_is_paused_with_its_reason_and_one_note(home: Home) -> None:
    home.model.fail(401, times=20)
    job = home.add(when="every 1h", name="fruit watch")
    for _ in range(12):
        await come_due(home)
    assert home.ends(job.id) == [("error", "model")] * 10
    reason = f"It failed 10 times in a row; the last time: {WRONG_KEY}"
    assert home.notes() == [f'I paused the automation "fruit watch". {reason}']
    told = home.ask(get_job, GetJob(job_id=job.id))
    assert (told.enabled, told.status, told.state.disabled_reason, told.state.next_run_at) == (
        False, "attention", reason, None,
    )  # fmt: skip
    assert home.ask(why_job, WhyJob(job_id=job.id)).answer.startswith(f"Homing paused it. {reason}")
    # A person's "go on" forgives.
    home.ask(enable_job, JobRef(job_id=job.id))
    assert home.job(job.id).consecutive_failures == 0
    await come_due(home)
    assert (len(home.notes()), home.job(job.id).enabled) == (1, True)


async def test_ten_failures_in_a_row_pause_a_job_also_when_it_is_run_by_hand(home: Home) -> None:
    home.model.fail(401, times=20)
    job = home.add(when="every day at 9", name="fruit watch")
    for n in range(10):
        assert home.job(job.id).enabled, n
        home.ask(run_job, JobRef(job_id=job.id))
        await home.settle()
        # A run's id is its instant.
        home.pass_time(seconds=1)
    told = home.ask(get_job, GetJob(job_id=job.id))
    reason = f"It failed 10 times in a row; the last time: {WRONG_KEY}"
    assert (told.enabled, told.status, told.state.disabled_reason) == (False, "attention", reason)
    assert home.notes() == [f'I paused the automation "fruit watch". {reason}']
    # By hand it runs on, and is not announced again.
    home.ask(run_job, JobRef(job_id=job.id))
    await home.settle()
    assert len(home.notes()) == 1


async def test_a_one_shots_transient_error_is_retried_after_1_5_and_15_minutes_then_it_is_paused_and_visible(
    home: Home,
) -> None:
    fail_transiently(home, runs=4)
    job = home.add("call mum", when="in 1 hour")
    await come_due(home)
    first = home.only_run(job.id)
    for retry, minutes in enumerate((1, 5, 15), start=1):
        due = home.job(job.id).next_run_at
        assert due is not None
        assert abs((due - home.now()).total_seconds() - 60 * minutes) < 10
        # Not before its instant, whoever starts meanwhile.
        await come_due(home, seconds=60 * minutes - 15)
        assert len(home.runs(job.id)) == retry
        assert "is tried again on" in home.ask(why_job, WhyJob(job_id=job.id)).answer
        await come_due(home, seconds=30)
        assert len(home.runs(job.id)) == retry + 1
    later = home.runs(job.id)[1:]
    assert [run.trigger for run in later] == ["retry"] * 3
    assert [run.id.rpartition(":")[2] for run in later] == ["r1", "r2", "r3"]
    if not home.store.postgres:
        assert {run.scheduled_for for run in later} == {first.scheduled_for}
    assert home.ends(job.id) == [("error", "model")] * 4
    told = home.job(job.id)
    assert (told.status, told.disabled_reason) == ("attention", f"It failed after 4 tries: {FAULTY}")
    assert home.notes() == [f'I paused the automation "call mum". It failed after 4 tries: {FAULTY}']
    assert "This is another try: the last one failed." in (later[0].prompt or "")
    await come_due(home, days=1)
    assert len(home.runs(job.id)) == 4


@pytest.mark.parametrize("delete_after_run", [False, True])
async def test_a_retry_that_succeeds_ends_the_one_shot_as_asked(home: Home, *, delete_after_run: bool) -> None:
    fail_transiently(home)
    job = home.add(when="in 1 hour", delete_after_run=delete_after_run)
    await come_due(home)
    assert home.job(job.id).removed_at is None
    await come_due(home, seconds=70)
    assert home.ends(job.id) == [("error", "model"), ("ok", None)]
    told = home.job(job.id)
    assert (told.removed_at is not None) == delete_after_run
    assert (told.next_run_at, told.consecutive_failures) == (None, 0)
    assert delete_after_run or (told.status, told.timing.retry) == ("done", 0)


async def test_a_one_shots_permanent_error_pauses_it_at_once_with_the_reason(home: Home) -> None:
    home.model.fail(401)
    job = home.add("call mum", when="in 1 hour")
    await come_due(home)
    assert home.ends(job.id) == [("error", "model")]
    told = home.job(job.id)
    assert (told.status, told.disabled_reason, told.next_run_at) == ("attention", f"It failed: {WRONG_KEY}", None)
    assert len(home.model.seen) == 1
    assert len(home.notes()) == 1


async def test_a_failing_run_by_hand_counts_but_neither_retries_nor_pauses(home: Home) -> None:
    job = home.add(when="in 1 hour")
    due = home.job(job.id).next_run_at
    fail_transiently(home)
    home.ask(run_job, JobRef(job_id=job.id))
    await home.settle()
    assert home.ends(job.id) == [("error", "model")]
    told = home.job(job.id)
    assert (told.next_run_at, told.enabled, told.timing.retry, told.consecutive_failures) == (due, True, 0, 1)


async def test_deleting_after_a_run_waits_for_a_good_one(home: Home) -> None:
    home.model.fail(401)
    job = home.add(when="every 1h", delete_after_run=True)
    await come_due(home)
    assert home.job(job.id).removed_at is None
    home.ask(run_job, JobRef(job_id=job.id))
    await home.settle()
    assert home.job(job.id).removed_at is None
    await come_due(home)
    assert home.job(job.id).removed_at is not None
    assert [run.state for run in home.runs(job.id)] == ["error", "ok", "ok"]


async def test_one_jobs_failure_touches_no_other(home: Home) -> None:
    home.model.fail(401, match="look for trouble")
    bad = home.add("look for trouble", when="every 1h", session_key="web:bad")
    good = home.add("look for fruit", when="every 1h")
    await come_due(home)
    assert (home.ends(bad.id), home.ends(good.id)) == ([("error", "model")], [("ok", None)])
    assert home.job(good.id).consecutive_failures == 0


async def test_why_tells_a_retry_as_another_try_and_not_as_a_late_run(home: Home) -> None:
    fail_transiently(home)
    job = home.add("call mum", when="in 1 hour")
    await come_due(home)
    await come_due(home, minutes=1, seconds=1)
    answer = home.ask(why_job, WhyJob(job_id=job.id)).answer
    assert "A further try at the run of" in answer
    assert ("late" in answer, answer.endswith("went well.")) == (False, True)
