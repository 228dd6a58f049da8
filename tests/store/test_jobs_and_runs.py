"""Jobs come due and move on; runs are one row an instant."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from homing.engine.scheduler import Scheduler, tick, wake_paused
from homing.model.clock import SystemClock
from homing.model.errors import NotReady
from homing.model.jobs import Job, Verdict, due_at
from homing.operations.context import Instance
from homing.store import Store, Tx, jobs, run_lists, runs
from homing.store import tables as t
from homing.store.runs import Finished, NewRun
from store.scenes import OWNER, add_job, add_session, count, do, rows, run_now
from support.worlds import make_instance


def read(store: Store, job_id: str) -> Job:
    job = do(store, jobs.get, job_id)
    assert job is not None
    return job


def new_run(tx: Tx, job: Job, run_id: str, **values: Any) -> NewRun:
    plain: dict[str, Any] = {
        "id": run_id, "job_id": job.id, "session_id": job.session_id, "lane_id": job.session_id, "user_id": OWNER,
        "trigger": "timer", "scheduled_for": tx.now(), "revision": job.revision, "rev": 2,
    }  # fmt: skip
    return NewRun(**plain | values)


def test_due_jobs_are_taken_longest_due_first_and_no_others(store: Store) -> None:
    def work(tx: Tx) -> None:
        session, now = add_session(tx), tx.now()
        add_job(tx, session, "later", next_run_at=now + timedelta(seconds=1))
        add_job(tx, session, "now", next_run_at=now)
        add_job(tx, session, "before", next_run_at=now - timedelta(hours=1))
        add_job(tx, session, "off", next_run_at=None, enabled=False, disabled_by="person")
        assert [job.name for job in jobs.take_due(tx, now, 5)] == ["before", "now"]
        assert [job.name for job in jobs.take_due(tx, now, 1)] == ["before"]
        assert jobs.next_wake(tx) == now - timedelta(hours=1)

    store.write_now(work)


def test_a_due_job_is_seen_with_all_that_the_tick_needs(store: Store) -> None:
    def work(tx: Tx) -> None:
        job = add_job(tx, add_session(tx), isolated=True, max_runs=5, catch_up="skip", sender_id="me")
        [due] = jobs.take_due(tx, tx.now(), 5)
        assert due == due_at(job, job.next_run_at or job.created_at)

    store.write_now(work)


def test_a_schedule_stored_under_another_name_of_utc_is_in_utc(store: Store) -> None:
    def work(tx: Tx) -> None:
        job = add_job(tx, add_session(tx))
        tx.run(sa.update(t.job).where(t.job.c.id == job.id).values(tz="Etc/UTC"))
        found = jobs.get(tx, job.id)
        assert found is not None
        assert found.timing.schedule.tz == "UTC"

    store.write_now(work)


def test_a_job_moves_on_and_counts_its_runs(store: Store) -> None:
    def work(tx: Tx) -> None:
        job = add_job(tx, add_session(tx), schedule_errors=2)
        following = tx.now() + timedelta(minutes=1)
        moved = Verdict(job=due_at(job, tx.now()), scheduled_for=None, next_run_at=following)
        jobs.advance(tx, [(moved, 1)], {job.session_id: 7})
        jobs.advance(tx, [(moved, 0)], {job.session_id: 8})

    store.write_now(work)
    job = read(store, "job_fruit")
    assert (job.timing.runs_queued, job.rev) == (1, 8)
    assert job.next_run_at is not None
    [row] = rows(store, t.job)
    assert row.schedule_errors == 0


def test_a_repeating_reminder_that_is_to_go_after_its_run_goes_and_is_never_due_again(
    store: Store, instance: Instance
) -> None:
    def work(tx: Tx) -> None:
        session = add_session(tx)
        add_job(tx, session, "once", payload_kind="reminder", delete_after_run=True)
        add_job(tx, session, "neighbour", payload_kind="reminder")
        assert tick(tx, instance) == 2

    store.write_now(work)
    once, neighbour = read(store, "job_once"), read(store, "job_neighbour")
    assert (once.removed_at is None, once.next_run_at) == (False, None)
    assert neighbour.next_run_at is not None
    assert count(store, "run where state = 'ok'") == 2


def test_a_persons_change_is_made_for_one_revision(store: Store) -> None:
    job = do(store, lambda tx: add_job(tx, add_session(tx)))
    changed = do(store, jobs.change, job, {"name": "apples"})
    assert changed is not None
    assert (changed.name, changed.revision) == ("apples", 2)
    assert do(store, jobs.change, job, {"name": "pears"}) is None


def test_a_good_end_clears_failures_only_of_the_definition_that_ran(store: Store) -> None:
    job = do(store, lambda tx: add_job(tx, add_session(tx), consecutive_failures=3, last_status="error"))
    now = do(store, lambda tx: tx.now())
    ended = jobs.GoodEnd(job_id=job.id, run_id="r1", at=now, ms=12, rev=5, revision=4)
    do(store, jobs.finish_ok, [ended], last=[], done=[], reason="")
    older = read(store, job.id)
    assert (older.consecutive_failures, older.last_status, older.last_run_id) == (3, "ok", "r1")
    do(store, jobs.finish_ok, [replace(ended, revision=1)], last=[], done=[], reason="")
    assert read(store, job.id).consecutive_failures == 0


def test_jobs_without_a_next_time_come_to_rest_or_go(store: Store) -> None:
    def work(tx: Tx) -> list[str]:
        session = add_session(tx)
        for name, values in {"a": {}, "b": {"delete_after_run": True}, "c": {"enabled": False, "disabled_by": "person",
                                                                            "next_run_at": None}}.items():  # fmt: skip
            add_job(tx, session, name, **values)
        jobs.retire(tx, ["job_a", "job_c"], reason="No time left.")
        return jobs.remove_after_run(tx, ["job_a", "job_b"])

    assert store.write_now(work) == ["job_b"]
    assert [(job.disabled_by, job.removed_at is None) for job in rows(store, t.job)] == [
        ("done", True), (None, False), ("person", True)
    ]  # fmt: skip


def test_a_pause_that_ends_by_itself_leaves_out_what_somebody_asked_to(store: Store) -> None:
    def furnish(tx: Tx) -> None:
        now = tx.now()
        asleep = {"enabled": False, "disabled_by": "person", "next_run_at": None, "disabled_until": now}
        job = add_job(tx, add_session(tx), **asleep)
        ahead = [now + timedelta(minutes=n) for n in (1, 2)]
        skip = {"state": "skipped", "reason": "asked", "missed_count": 2, "missed_until": ahead[1]}
        runs.add_runs(tx, [new_run(tx, job, "job_fruit:1", scheduled_for=ahead[0], **skip)])
        assert runs.left_out_until(tx, job.id) == ahead[1]

    store.write_now(furnish)
    assert do(store, wake_paused) == 1
    upcoming, until = read(store, "job_fruit").next_run_at, do(store, runs.left_out_until, "job_fruit")
    assert upcoming is not None
    assert until is not None
    assert upcoming - until == timedelta(minutes=1)


def test_a_pause_ends_by_itself(store: Store) -> None:
    def furnish(tx: Tx) -> None:
        session, now = add_session(tx), tx.now()
        asleep = {"enabled": False, "disabled_by": "person", "next_run_at": None, "disabled_until": now}
        add_job(tx, session, "wakes", **asleep)
        add_job(tx, session, "over", **asleep, ends_at=now - timedelta(hours=1))
        no_cron = {"schedule_kind": "cron", "every_ms": None, "anchor": None, "cron": "not cron"}
        add_job(tx, session, "bad", **asleep, **no_cron)
        add_job(tx, session, "sleeps", **asleep | {"disabled_until": now + timedelta(hours=1)})

    store.write_now(furnish)
    assert do(store, wake_paused) == 3
    assert do(store, wake_paused) == 0
    states = {job.name: (job.enabled, job.disabled_by) for job in rows(store, t.job)}
    assert states == {
        "wakes": (True, None), "over": (False, "done"), "bad": (False, "engine"), "sleeps": (False, "person")
    }  # fmt: skip
    assert "cannot be computed" in (read(store, "job_bad").disabled_reason or "")


def test_of_many_runs_only_the_new_ones_are_written(store: Store) -> None:
    def work(tx: Tx) -> None:
        session = add_session(tx)
        one, two = add_job(tx, session, "one"), add_job(tx, session, "two")
        assert runs.add_runs(tx, []) == set()
        assert runs.add_runs(tx, [new_run(tx, one, "one:1")]) == {"one:1"}
        again = [
            new_run(tx, one, "one:1"),  # the same instant
            new_run(tx, one, "one:2"),  # another, while the first is active
            new_run(tx, two, "two:1"),
            new_run(tx, one, "one:3", state="skipped", reason="overlap"),
        ]
        assert runs.add_runs(tx, again) == {"two:1", "one:3"}
        assert runs.active_jobs(tx, [one.id, two.id]) == {one.id: "one:1", two.id: "two:1"}
        skipped = runs.get(tx, "one:3")
        assert skipped is not None
        assert skipped.finished_at is not None
        assert set(runs.get_many(tx, ["one:1", "none"])) == {"one:1"}
        assert run_lists.count_active(tx, OWNER) == {"queued": 2, "running": 0}

    store.write_now(work)


def test_a_run_ends_once(store: Store) -> None:
    def work(tx: Tx) -> None:
        job = add_job(tx, add_session(tx))
        runs.add_runs(tx, [new_run(tx, job, "r")])
        runs.finish_runs(tx, [Finished(run_id="r", state="skipped", reason="disabled", rev=3)])
        runs.finish_runs(tx, [Finished(run_id="r", state="ok", reason=None, rev=4)])

    store.write_now(work)
    [run] = rows(store, t.run)
    assert (run.state, run.reason, run.rev) == ("skipped", "disabled", 3)


def test_skips_for_one_reason_are_one_row_that_grows_and_can_be_taken_back(store: Store) -> None:
    def work(tx: Tx) -> None:
        job, now = add_job(tx, add_session(tx)), tx.now()
        assert runs.last_skip(tx, job.id) is None
        runs.add_runs(tx, [new_run(tx, job, "s", state="skipped", reason="overlap")])
        last = runs.last_skip(tx, job.id)
        assert last is not None
        runs.prolong_skip(tx, last.id, until=now + timedelta(minutes=2), more=2, rev=9)
        grown = runs.get(tx, "s")
        assert grown is not None
        assert (grown.missed_count, grown.missed_until, grown.rev) == (3, now + timedelta(minutes=2), 9)
        runs.add_runs(tx, [new_run(tx, job, "q", scheduled_for=now + timedelta(minutes=3))])
        assert runs.last_skip(tx, job.id) is None
        assert not runs.delete_skip(tx, "q")
        assert runs.delete_skip(tx, "s")

    store.write_now(work)


def test_runs_are_listed_newest_first_and_by_what_they_are(store: Store) -> None:
    def work(tx: Tx) -> None:
        job, now = add_job(tx, add_session(tx)), tx.now()
        for n in range(5):
            runs.add_runs(
                tx,
                [new_run(tx, job, f"r{n}", state="ok" if n % 2 else "error", scheduled_for=now + timedelta(hours=n))],
            )

        def listed(**values: Any) -> list[str]:
            plain: dict[str, Any] = {"user_id": OWNER, "limit": 10}
            return [run.id for run in run_lists.listed(tx, **plain | values)]

        assert listed() == ["r4", "r3", "r2", "r1", "r0"]
        assert listed(state="ok") == ["r3", "r1"]
        assert listed(since=now + timedelta(hours=1), until=now + timedelta(hours=3)) == ["r3", "r2", "r1"]
        assert listed(limit=2) == ["r4", "r3"]
        assert listed(user_id="stranger") == []
        assert listed(job_id="job_none") == []
        assert [run.id for run in run_lists.recent(tx, [job.id], 2)[job.id]] == ["r3", "r4"]

    store.write_now(work)


def test_run_now_is_refused_by_the_one_that_waits(store: Store) -> None:
    job = do(store, lambda tx: add_job(tx, add_session(tx)))
    assert do(store, run_now, job.id) is not None
    assert do(store, run_now, job.id) is None
    assert count(store, "inbound") == 1


async def test_a_database_that_is_away_accuses_no_job() -> None:
    """A scheduler whose database does not answer says so; it neither halves its batch nor looks for a culprit."""
    store = Store("postgresql://nobody@127.0.0.1:1/nowhere", SystemClock())
    scheduler = Scheduler(store, make_instance(), SystemClock())
    with pytest.raises(NotReady):
        await scheduler.step()
    await store.close()


async def test_a_job_that_alone_breaks_the_tick_is_found_and_its_neighbours_fire(
    store: Store, instance: Instance
) -> None:
    def furnish(tx: Tx) -> None:
        session = add_session(tx)
        for n in range(9):
            add_job(tx, session, str(n))
        refuse_runs_of(tx, "job_4")

    store.write_now(furnish)
    scheduler = Scheduler(store, instance, SystemClock())
    while count(store, "run") < 9:
        await scheduler.step()
    queued = {run.job_id for run in rows(store, t.run) if run.state == "queued"}
    assert queued == {f"job_{n}" for n in range(9) if n != 4}
    assert "cannot be computed" in (read(store, "job_4").last_error or "")


def test_a_job_is_accused_only_when_it_fails_alone(store: Store, instance: Instance) -> None:
    """Another scheduler may hold the culprit by then: the job that is first now is tried, and it fires."""

    def furnish(tx: Tx) -> None:
        session = add_session(tx)
        for name, late in (("innocent", 9), ("culprit", 5)):
            due = tx.now() - timedelta(seconds=late)
            add_job(tx, session, name, next_run_at=due, anchor=due)
        refuse_runs_of(tx, "job_culprit")

    store.write_now(furnish)
    scheduler = Scheduler(store, instance, SystemClock())
    for _ in range(2):
        do(store, scheduler._accuse)
    states = {run.job_id: (run.state, run.reason) for run in rows(store, t.run)}
    assert states == {"job_innocent": ("queued", None), "job_culprit": ("error", "schedule")}


def refuse_runs_of(tx: Tx, job_id: str) -> None:
    """Let the database itself refuse what the tick writes for one job, as a fault of ours would make it."""
    if not tx.postgres:
        tx.run(
            sa.text(
                f"create trigger no before insert on run when new.job_id = '{job_id}' and new.state = 'queued'"
                " begin select raise(abort, 'no'); end"
            )
        )
        return
    tx.run(sa.text("create function no() returns trigger language plpgsql as $$ begin raise 'no'; end $$"))
    tx.run(
        sa.text(
            f"create trigger no before insert on run for each row"
            f" when (new.job_id = '{job_id}' and new.state = 'queued') execute function no()"
        )
    )
