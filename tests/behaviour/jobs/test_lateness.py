"""Rules 12–14: every due instant is on record, once; late ones run once or are missed, and the prompt says so."""

from datetime import timedelta

import pytest

from behaviour.jobs.conftest import MakeHome
from behaviour.jobs.homes import Home
from homing.operations.job_changes import enable_job, update_job
from homing.operations.jobs import list_jobs
from homing.operations.runs import run_job
from homing.operations.shapes.base import Nothing, read
from homing.operations.shapes.job_asks import JobRef, ListJobs, UpdateJob, WhyJob
from homing.operations.status import get_status
from homing.operations.why import why_job
from homing.store import maintenance

DAY = timedelta(days=1)
WEEK = 7 * 86400


async def test_a_slot_missed_while_down_runs_once_however_many_were_missed(home: Home) -> None:
    job = home.add(when="every 1 minute")
    home.pass_time(hours=3, seconds=30)
    await home.settle()
    missed, caught = home.runs(job.id)
    if missed.state == "ok":
        missed, caught = caught, missed
    assert (missed.state, missed.reason, missed.missed_count) == ("skipped", "missed", 179)
    assert missed.missed_until is not None
    # The newest of all is only half a minute old: that is on time.
    assert (caught.state, caught.trigger, caught.missed_count) == ("ok", "timer", 179)
    assert caught.scheduled_for - missed.missed_until == timedelta(minutes=1)
    assert missed.missed_until - missed.scheduled_for == timedelta(minutes=178)
    assert home.job(job.id).next_run_at == caught.scheduled_for + timedelta(minutes=1)
    assert "179 earlier times were missed." in home.heard()


async def test_up_to_a_minute_late_is_on_time_and_later_is_caught_up_and_told(home: Home) -> None:
    punctual, late = home.add(when="every 2h"), home.add("look late", when="in 1 hour", delete_after_run=False)
    home.pass_time(hours=2, seconds=50)
    await home.settle()
    assert home.only_run(punctual.id).trigger == "timer"
    caught = home.only_run(late.id)
    assert (caught.trigger, caught.state) == ("catch_up", "ok")
    assert (caught.lateness_ms or 0) // 60_000 == 60
    assert (caught.variables or {})["late_words"] == "1 hour"
    assert "It runs late, by 1 hour." in (caught.prompt or "")


async def test_a_job_that_skips_what_it_missed_records_it_and_waits_for_its_next_time(home: Home) -> None:
    job = home.add(when="every 2h", catch_up="skip")
    home.pass_time(hours=5)
    await home.settle()
    [run] = home.runs(job.id)
    assert (run.state, run.reason, run.missed_count, run.started_at) == ("skipped", "missed", 2, None)
    assert home.job(job.id).next_run_at == run.scheduled_for + timedelta(hours=4)
    home.pass_time(hours=1, seconds=10)
    await home.settle()
    assert home.ends(job.id) == [("skipped", "missed"), ("ok", None)]


async def test_outside_its_window_a_missed_instant_does_not_run(home: Home) -> None:
    inside = home.add(when="every 1 day", catch_up_window_seconds=3 * 3600)
    outside = home.add(when="every 1 day", catch_up_window_seconds=3600)
    home.pass_time(days=1, hours=2)
    await home.settle()
    assert home.ends(inside.id) == [("ok", None)]
    assert home.ends(outside.id) == [("skipped", "missed")]


async def test_consecutive_misses_are_one_row_across_several_downtimes(home: Home) -> None:
    job = home.add(when="every 1h", catch_up="skip")
    for _ in range(3):
        home.pass_time(hours=2, minutes=10)
        await home.settle()
    [run] = home.runs(job.id)
    assert (run.missed_count, run.missed_until) == (6, run.scheduled_for + timedelta(hours=5))


async def test_down_for_three_days_each_missed_stretch_is_one_row_and_nothing_fires_twice(home: Home) -> None:
    minutely = home.add("look often", when="every 1 minute")
    daily = home.add("look daily", when="every 1 day")
    early = home.add("look once, long ago", when="in 10 hours")
    late = home.add("look once, lately", when="in 60 hours")
    home.pass_time(days=3, seconds=-20)
    with home.statements() as long_down:
        await home.tick()
    await home.settle()

    def rows(job_id: str) -> list[tuple[str, str, str | None, int | None]]:
        return sorted((run.state, run.trigger, run.reason, run.missed_count) for run in home.runs(job_id))

    # 4319 minutes came due in three days less twenty seconds: the newest runs, the others are one row.
    assert rows(minutely.id) == [("ok", "timer", None, 4318), ("skipped", "timer", "missed", 4318)]
    assert rows(daily.id) == [("ok", "catch_up", None, 1), ("skipped", "timer", "missed", 1)]
    assert rows(late.id) == [("ok", "catch_up", None, None)]
    assert rows(early.id) == [("skipped", "timer", "missed", 1)]
    assert home.notes() == ['The automation "look once, long ago" was missed: it was due while Homing was not running.']
    assert (home.job(early.id).status, home.job(late.id).status) == ("attention", "done")
    assert len(home.model.seen) == 3

    await home.settle()
    assert len(home.model.seen) == 3
    home.add("look often, too", when="every 1 minute", dedupe_key="b")
    home.pass_time(seconds=100)
    with home.statements() as short_down:
        await home.tick()
    # What was missed is counted, not walked: days cost no more than a minute and a half.
    assert len(long_down) <= len(short_down) + 25


async def test_a_one_shot_missed_outside_its_window_leaves_a_visible_note_and_wants_attention(home: Home) -> None:
    job = home.add("call mum", when="in 1 hour", catch_up_window_seconds=600)
    home.pass_time(hours=2)
    await home.settle()
    assert home.ends(job.id) == [("skipped", "missed")]
    assert home.notes() == ['The automation "call mum" was missed: it was due while Homing was not running.']
    assert home.job(job.id).disabled_reason == "It was missed."
    # Said once, whatever follows.
    home.pass_time(days=2)
    await home.settle()
    assert len(home.notes()) == 1
    assert "was missed: Homing was not running" in home.ask(why_job, WhyJob(job_id=job.id)).answer


async def test_a_slot_that_already_ran_is_not_replayed_even_if_the_row_still_shows_it(home: Home) -> None:
    job = home.add(when="every 1h")
    home.pass_time(hours=1, seconds=5)
    await home.settle()
    ran = home.only_run(job.id)
    home.change(job.id, next_run_at=ran.scheduled_for)
    await home.settle()
    assert home.only_run(job.id) == ran
    assert len(home.model.seen) == 1
    assert home.job(job.id).next_run_at == ran.scheduled_for + timedelta(hours=1)


async def test_a_one_shot_that_already_ran_is_done_even_if_its_row_still_shows_it(home: Home) -> None:
    job = home.add(when="in 1 hour")
    home.pass_time(hours=1, seconds=1)
    await home.settle()
    ran = home.only_run(job.id)
    home.change(job.id, enabled=True, disabled_by=None, disabled_reason=None, next_run_at=ran.scheduled_for)
    await home.settle()
    assert home.ends(job.id) == [("ok", None)]
    assert (home.job(job.id).status, home.job(job.id).next_run_at) == ("done", None)


async def test_only_the_next_instant_says_what_is_due(home: Home) -> None:
    job = home.add(when="every 1h")
    home.pass_time(hours=1, seconds=5)
    await home.settle()
    home.ask(update_job, read(UpdateJob, {"job_id": job.id, "when": "every 30 minutes"}))
    # An edit counts from now: nothing is inferred from what ran before.
    await home.settle()
    assert len(home.runs(job.id)) == 1
    keep = timedelta(days=-1)
    home.ledger.write(lambda tx: maintenance.prune(tx, keep_runs=keep))
    await home.settle()
    assert len(home.model.seen) == 1
    home.pass_time(minutes=30, seconds=5)
    await home.settle()
    assert len(home.model.seen) == 2


async def test_a_slot_due_exactly_at_the_restart_instant_is_not_lost(home: Home) -> None:
    job = home.add(when="every 1h")
    home.change(job.id, next_run_at=home.now())
    await home.settle()
    assert home.ends(job.id) == [("ok", None)]


async def test_a_job_that_is_enabled_again_goes_on_at_its_next_time_and_not_at_those_it_slept_through(
    home: Home,
) -> None:
    job = home.add(when="every 1h", enabled=False)
    home.pass_time(hours=5, minutes=10)
    await home.settle()
    home.ask(enable_job, JobRef(job_id=job.id))
    await home.settle()
    assert home.runs(job.id) == []
    home.pass_time(minutes=51)
    await home.settle()
    assert home.ends(job.id) == [("ok", None)]


async def test_while_a_run_is_queued_its_next_instants_are_one_skipped_row_for_overlap(home: Home) -> None:
    job = home.add(when="every 1 minute")
    for _ in range(3):
        home.pass_time(minutes=1)
        await home.tick()
    queued, skipped = home.runs(job.id)
    assert (queued.state, queued.scheduled_for) == ("queued", skipped.scheduled_for - timedelta(minutes=1))
    assert (skipped.state, skipped.reason, skipped.missed_count) == ("skipped", "overlap", 2)
    await home.settle()
    assert home.ends(job.id) == [("ok", None), ("skipped", "overlap")]


async def test_a_start_is_the_first_run_the_end_may_be_the_last_and_then_the_job_is_done(home: Home) -> None:
    starts, ends = home.now() + timedelta(minutes=90), home.now() + timedelta(minutes=150)
    job = home.add(when="every 1h", starts_at=starts.isoformat(), ends_at=ends.isoformat())
    for _ in range(5):
        home.pass_time(minutes=30, seconds=1)
        await home.settle()
    instants = [run.scheduled_for for run in home.runs(job.id)]
    # From the start it goes on in its own rhythm: at 90 minutes, and at two hours.
    assert len(instants) == 2
    assert instants[1] - instants[0] < timedelta(minutes=31)
    assert (home.job(job.id).status, home.job(job.id).next_run_at) == ("done", None)
    home.pass_time(days=1)
    await home.settle()
    assert len(home.runs(job.id)) == 2


async def test_a_job_runs_as_often_as_it_may_and_is_done_and_missed_instants_do_not_count(home: Home) -> None:
    job = home.add(when="every 1h", max_runs=2)
    home.pass_time(hours=3, seconds=5)
    await home.settle()
    assert home.job(job.id).next_run_at is not None
    home.ask(run_job, JobRef(job_id=job.id))
    await home.settle()
    home.pass_time(hours=1)
    await home.settle()
    ends = [(run.trigger, run.state) for run in home.runs(job.id) if run.state == "ok"]
    assert ends == [("timer", "ok"), ("manual", "ok"), ("timer", "ok")]
    assert (home.job(job.id).status, home.job(job.id).disabled_reason) == (
        "done",
        "It ran, and has no further time to run.",
    )


async def test_reading_never_advances_or_consumes_an_overdue_slot(home: Home) -> None:
    job = home.add(when="every 1h")
    home.pass_time(hours=1, seconds=5)
    before = home.job(job.id)
    home.ask(list_jobs, ListJobs(recent=5))
    home.ask(get_status, Nothing())
    assert "no scheduler is at work" in home.ask(why_job, WhyJob(job_id=job.id)).answer
    assert home.job(job.id) == before
    assert home.runs(job.id) == []
    await home.settle()
    assert home.ends(job.id) == [("ok", None)]


async def test_an_update_of_one_job_leaves_another_ones_due_slot(home: Home) -> None:
    first, second = home.add(when="every 1h"), home.add("look again", when="every 1h")
    home.pass_time(hours=1, seconds=5)
    due = home.job(second.id).next_run_at
    home.ask(update_job, read(UpdateJob, {"job_id": first.id, "when": "every 3h"}))
    assert home.job(second.id).next_run_at == due
    await home.settle()
    assert (home.ends(first.id), home.ends(second.id)) == ([], [("ok", None)])


async def test_many_missed_jobs_start_in_bounded_numbers_and_in_their_order(make_home: MakeHome) -> None:
    home = make_home(max_concurrent_runs=2)
    home.model.otherwise("Fine.", hold=True)
    added = [home.add(f"look {n}", when="in 1 hour", session_key=f"web:s{n}").id for n in range(6)]
    home.pass_time(hours=2)
    await home.tick()
    async with home.running():
        home.ring()
        await home.called(2)
        states = [home.only_run(job_id).state for job_id in added]
        assert sorted(states) == ["queued"] * 4 + ["running"] * 2
        home.model.otherwise("Fine.")
        home.model.release()
        await home.until_closed(6, None)
    assert {home.only_run(job_id).trigger for job_id in added} == {"catch_up"}


async def test_a_job_deleted_by_its_own_catch_up_run_stays_deleted(home: Home) -> None:
    job = home.add(when="every 1h", delete_after_run=True)
    home.pass_time(hours=2, minutes=10)
    await home.settle()
    assert [(run.trigger, run.state) for run in home.runs(job.id) if run.state != "skipped"] == [("catch_up", "ok")]
    assert home.job(job.id).removed_at is not None
    home.pass_time(days=2)
    await home.settle()
    assert home.ask(list_jobs, ListJobs()).items == []
    assert len(home.model.seen) == 1
    assert home.shown()[-1].kind == "scheduled"


async def test_a_one_shot_that_finished_is_not_fired_again(home: Home) -> None:
    job = home.add(when="in 1 hour")
    home.pass_time(hours=1, seconds=5)
    await home.settle()
    assert (home.job(job.id).status, home.job(job.id).next_run_at) == ("done", None)
    home.pass_time(days=1)
    await home.settle()
    assert len(home.runs(job.id)) == 1


@pytest.mark.parametrize("seconds", [60, 61])
async def test_the_border_of_being_on_time_is_sixty_seconds(home: Home, seconds: int) -> None:
    if home.store.postgres:
        # The server's clock goes on while the test writes: the border itself is SQLite's to prove.
        seconds += -5 if seconds == 60 else 5
    job = home.add(when="in 1 hour")
    home.pass_time(hours=1, seconds=seconds)
    await home.settle()
    assert home.only_run(job.id).trigger == ("timer" if seconds <= 60 else "catch_up")


async def test_each_of_two_jobs_in_one_batch_records_its_own_start_and_duration(make_home: MakeHome) -> None:
    home = make_home()
    home.model.when("look slowly", "Slow.", first_byte_seconds=0.25)
    slow = home.add("look slowly", when="in 1 hour", session_key="web:slow")
    quick = home.add("look quickly", when="in 1 hour", session_key="web:quick")
    home.pass_time(hours=1, seconds=1)
    await home.settle()
    if not home.store.postgres:
        # The fake clock stands: the rows still are each their own.
        assert home.only_run(slow.id).turn_id != home.only_run(quick.id).turn_id
        return
    first, second = home.only_run(slow.id), home.only_run(quick.id)
    assert first.started_at is not None
    assert first.finished_at is not None
    assert second.finished_at is not None
    assert first.finished_at - first.started_at >= timedelta(seconds=0.25)
    assert second.finished_at < first.finished_at


async def test_why_counts_a_single_minute_of_lateness(home: Home) -> None:
    job = home.add(when="in 1 hour")
    home.pass_time(hours=1, seconds=90)
    await home.settle()
    assert "came 1 minute late, and went well." in home.ask(why_job, WhyJob(job_id=job.id)).answer


async def test_why_says_that_a_job_had_all_of_its_runs(home: Home) -> None:
    once, twice = home.add(when="every 1 hour", max_runs=1), home.add("look again", when="every 1 hour", max_runs=2)
    for _ in range(2):
        home.pass_time(hours=1, seconds=1)
        await home.settle()
    assert home.ask(why_job, WhyJob(job_id=once.id)).answer.startswith("It is done. It has had its one run (max_runs).")
    assert "It has had all of its 2 runs (max_runs)." in home.ask(why_job, WhyJob(job_id=twice.id)).answer
