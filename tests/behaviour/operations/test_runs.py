"""Run now, read what became of it, cancel it, and hear why."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from homing.model.errors import Conflict, Forbidden, NotFound
from homing.model.runs import run_id
from homing.model.schedules.describe import moment
from homing.operations.job_changes import disable_job, enable_job, skip_job, update_job
from homing.operations.jobs import get_job
from homing.operations.messages import list_messages
from homing.operations.removal import remove_job
from homing.operations.runs import cancel_run, get_run, list_runs, run_job
from homing.operations.shapes.base import read
from homing.operations.shapes.job_asks import DisableJob, GetJob, JobRef, SkipJob, UpdateJob, WhyJob
from homing.operations.shapes.run_asks import ListRuns, RunRef
from homing.operations.shapes.session_asks import ListMessages
from homing.operations.why import why_job
from homing.store import Tx, agents, jobs, maintenance, runs
from homing.store import tables as t
from homing.store.runs import NewRun
from support.asking import RUN_TURN, add, agent, refused
from support.worlds import STRANGER, World, stop_scheduler, write_job


def run_now(world: World, job_id: str, **given: Any):
    return world.ask(run_job, JobRef(job_id=job_id), **given)


def test_run_now_is_an_ordinary_run_that_leaves_the_schedule_as_it_is(world: World) -> None:
    job = add(world)
    run = run_now(world, job.id)
    assert (run.trigger, run.state, run.waiting_for, run.session_key) == ("manual", "queued", "slot", "web:abc")
    assert run.id.startswith(f"{job.id}:")
    assert run.id.endswith(":m")
    shown = world.ask(get_job, GetJob(job_id=job.id))
    assert (shown.next, shown.state.active_run_id, shown.revision) == (job.next, run.id, 1)


def test_run_now_works_for_a_disabled_job_and_it_stays_disabled(world: World) -> None:
    job = add(world, when="in 3 hours", enabled=False, delete_after_run=True, payload={"kind": "reminder"})
    assert run_now(world, job.id).state == "ok"
    shown = world.ask(get_job, GetJob(job_id=job.id))
    assert (shown.enabled, shown.schedule, shown.state.last_status) == (False, job.schedule, "ok")


def test_a_second_run_now_is_refused_with_the_id_of_the_first(world: World) -> None:
    job, other = add(world), add(world)
    run = run_now(world, job.id)
    error = refused(lambda: run_now(world, job.id), Conflict)
    assert (error.code, error.extra) == ("already_running", {"run_id": run.id})
    assert run_now(world, other.id).waiting_for == "session"


def test_a_reminder_run_now_is_on_the_screen_at_once(world: World) -> None:
    job = add(world, payload={"kind": "reminder", "message": "Stretch!"}, message=None)
    run = run_now(world, job.id)
    assert (run.state, run.summary) == ("ok", "Stretch!")
    told = {"id": "", "address": "web:abc", "state": "sent", "attempts": 1, "error": None}
    # The screen reads the message itself: nothing is cut into parts.
    uncut = {"parts": 0, "parts_sent": 0, "unsure": False}
    assert [d.plain() | {"id": ""} for d in run.deliveries] == [told | uncut]
    [message] = world.ask(list_messages, ListMessages(session_key="web:abc")).items
    assert (message.kind, message.text, message.seq) == ("reminder", "Stretch!", run.closing_seq)
    assert [d.state for d in message.deliveries] == ["sent"]


def test_a_run_shown_alone_is_whole_and_in_lists_it_is_lean(world: World) -> None:
    run = run_now(world, add(world).id)
    whole = world.ask(get_run, RunRef(run_id=run.id)).plain()
    assert (
        list(whole)
        == (
            "id job_id job_name trigger trigger_words scheduled_for state state_words waiting_for reason"
            " reason_words queued_at started_at finished_at duration_ms lateness_ms attempt missed_count"
            " missed_until summary error error_summary prompt_ref prompt variables session_key turn_id opening_seq"
            " closing_seq next_run_at usage gate steps retries deliveries"
        ).split()
    )
    [row] = world.ask(list_runs, ListRuns()).items
    assert set(whole) - set(row.plain()) == {"prompt", "variables", "error", "gate", "steps", "retries"}


def test_runs_are_listed_newest_first_by_page_job_session_state_and_time(world: World) -> None:
    job, other = add(world, payload={"kind": "reminder"}), add(world, session_key="web:other")
    first = run_now(world, job.id)
    second = run_now(world, other.id)

    def ids(**given: Any) -> list[str]:
        return [run.id for run in world.ask(list_runs, read(ListRuns, given)).items]

    assert ids() == [second.id, first.id]
    assert ids(job_id=job.id) == [first.id]
    assert ids(session_key="web:other") == [second.id]
    assert ids(state="ok") == [first.id]
    assert ids(**{"from": "in 1 hour"}) == []
    assert ids(to="2001-01-01") == []
    page = world.ask(list_runs, ListRuns(limit=1))
    assert ids(limit=1, cursor=page.next_cursor) == [first.id]
    assert world.ask(list_runs, ListRuns(), caller=STRANGER).items == []


def test_runs_of_a_removed_job_stay_readable(world: World) -> None:
    job = add(world)
    run = run_now(world, job.id)
    world.ask(remove_job, JobRef(job_id=job.id))
    assert [r.id for r in world.ask(list_runs, ListRuns(job_id=job.id)).items] == [run.id]
    assert world.ask(get_run, RunRef(run_id=run.id)).state == "skipped"


def test_a_queued_run_is_cancelled_at_once_and_a_finished_one_is_over(world: World) -> None:
    run = run_now(world, add(world).id)
    cancelled = world.ask(cancel_run, RunRef(run_id=run.id))
    assert (cancelled.state, cancelled.reason) == ("cancelled", "asked")
    assert refused(lambda: world.ask(cancel_run, RunRef(run_id=run.id)), Conflict).code == "wrong_state"


def test_a_running_run_is_asked_to_stop(world: World) -> None:
    job = add(world)
    turn_id = world.open_turn("web:abc", job_id=job.id)
    [run] = world.ask(list_runs, ListRuns()).items
    assert (run.state, run.turn_id) == ("running", turn_id)
    assert world.ask(cancel_run, RunRef(run_id=run.id)).state == "running"
    [turn] = world.write(lambda tx: tx.rows(sa.select(t.turn)))
    assert turn.cancel_reason == "asked"


def test_removing_a_running_job_asks_its_turn_to_stop_unless_that_turn_asks(world: World) -> None:
    own, other = add(world), add(world, session_key="web:other")
    turn_id = world.open_turn("web:abc", job_id=own.id)
    other_turn = world.open_turn("web:other", job_id=other.id)
    caller = agent(world, RUN_TURN, job_id=own.id, turn_id=turn_id)
    world.ask(remove_job, JobRef(job_id=own.id), caller=caller)
    world.ask(remove_job, JobRef(job_id=other.id))
    reasons = {row.id: row.cancel_reason for row in world.write(lambda tx: tx.rows(sa.select(t.turn)))}
    assert reasons == {turn_id: None, other_turn: "removed"}


def test_disabling_lets_a_running_run_finish(world: World) -> None:
    job = add(world)
    world.open_turn("web:abc", job_id=job.id)
    world.ask(disable_job, DisableJob(job_id=job.id))
    [turn] = world.write(lambda tx: tx.rows(sa.select(t.turn)))
    assert (turn.cancel_requested_at, turn.state) == (None, "running")


def test_a_turn_that_no_person_opened_cancels_no_other_jobs_run(world: World) -> None:
    run = run_now(world, add(world).id)
    with pytest.raises(Forbidden):
        world.ask(cancel_run, RunRef(run_id=run.id), caller=agent(world, RUN_TURN, job_id="job_own"))
    with pytest.raises(NotFound):
        world.ask(get_run, RunRef(run_id=run.id), caller=STRANGER)


# why


def why(world: World, job_id: str, at: str | None = None):
    return world.ask(why_job, WhyJob(job_id=job_id, at=at))


def skipped_run(world: World, job_id: str, reason: str, *, hours_ago: int, count: int = 1) -> str:
    def work(tx: Tx) -> str:
        job = jobs.get(tx, job_id)
        assert job is not None
        at = tx.now() - timedelta(hours=hours_ago)
        run = NewRun(
            id=run_id(job_id, at, "timer"), job_id=job_id, session_id=job.session_id, lane_id=job.session_id,
            user_id=job.user_id, trigger="timer", scheduled_for=at, state="skipped", reason=reason, revision=1, rev=1,
            missed_count=count, missed_until=at + timedelta(minutes=30) if count > 1 else None,
        )  # fmt: skip
        runs.add_runs(tx, [run])
        return at.isoformat()

    return world.write(work)


def test_why_tells_when_it_runs_next_and_what_the_last_run_became(world: World) -> None:
    job = add(world, when="every day at 9", name="daily")
    told = why(world, job.id)
    assert told.answer.startswith("It is enabled (Every day at 09:00 Europe/Berlin) and runs next on ")
    assert told.answer.endswith("at 09:00 Europe/Berlin. It has not run yet.")
    assert (told.next_run_at, told.timezone, told.runs) == (job.next[0], "Europe/Berlin", [])
    skipped_run(world, job.id, "overlap", hours_ago=2)
    assert "was left out, because the run before it had not ended." in why(world, job.id).answer


def test_why_tells_what_a_queued_run_waits_for(world: World) -> None:
    job, other = add(world), add(world)
    run_now(world, other.id)
    run_now(world, job.id)
    assert "waits for its session, which is busy." in why(world, job.id).answer
    assert "waits for a free slot." in why(world, other.id).answer


def test_a_run_that_only_some_workers_can_take_waits_for_a_worker(world: World) -> None:
    def arm(tx: Tx) -> None:
        main = agents.lock(tx, "main")
        assert main is not None
        agents.change(tx, replace(main, tools=None))
        stop_scheduler(tx)
        maintenance.beat(tx, "worker_a", name="a", schedules=True, next_wake_at=None, can=["workspace"])

    world.write(arm)
    job = add(world)
    assert run_now(world, job.id).waiting_for == "slot"
    world.write(lambda tx: maintenance.beat(tx, "worker_b", name="b", schedules=True, next_wake_at=None))
    [run] = world.ask(list_runs, ListRuns(job_id=job.id)).items
    assert run.waiting_for == "worker"
    assert "waits for a worker that has the sandbox and the shared folder (HOMING_SHARE)" in why(world, job.id).answer


def test_why_at_an_instant_finds_the_row_that_covers_it(world: World) -> None:
    job = add(world, when="every 10 minutes")
    first = skipped_run(world, job.id, "missed", hours_ago=3, count=4)
    told = why(world, job.id, first)
    assert told.answer.startswith("Each of the 4 runs from ")
    assert "was missed: Homing was not running, or came too late for it." in told.answer
    assert [run.state for run in told.runs] == ["skipped"]


def test_why_at_an_instant_without_a_run_says_why_there_is_none(world: World) -> None:
    job = add(world, when="every day at 9")
    assert "It did not exist then: it was added on" in why(world, job.id, "2001-01-01T09:00").answer
    assert "That time is still to come." in why(world, job.id, job.next[2]).answer
    world.write(lambda tx: write_job(tx, job.id, {"created_at": tx.now() - timedelta(days=9)}))
    odd = (world.now() - timedelta(days=1)).replace(hour=13, minute=17)
    assert "It was not due then" in why(world, job.id, odd.isoformat()).answer


def test_why_of_a_paused_and_of_a_skipped_job(world: World) -> None:
    job = add(world)
    world.ask(skip_job, SkipJob(job_id=job.id))
    assert "because somebody asked for that." in why(world, job.id, job.next[0]).answer
    world.ask(disable_job, DisableJob(job_id=job.id, reason="holidays"))
    assert why(world, job.id).answer.startswith("It is paused: holidays.")
    world.ask(update_job, UpdateJob(job_id=job.id, enabled=True))
    world.write(lambda tx: write_job(tx, job.id, {"next_run_at": tx.now() - timedelta(minutes=5)}))
    assert "That time has just come." in why(world, job.id).answer
    world.write(stop_scheduler)
    assert "no scheduler is at work: start one with `homing up`." in why(world, job.id).answer


def test_why_at_an_instant_to_come_says_whether_something_is_planned_then(world: World) -> None:
    job = add(world, when="every day at 9")
    first = datetime.fromisoformat(job.next[0])
    assert why(world, job.id, job.next[1]).answer.startswith("That time is still to come. It is enabled")
    off = why(world, job.id, (first + timedelta(hours=4)).isoformat()).answer
    assert off.startswith("Nothing is planned then (Every day at 09:00 Europe/Berlin).")
    assert off.endswith(f"The first time after that is {moment(datetime.fromisoformat(job.next[1]), 'Europe/Berlin')}.")
    world.ask(update_job, UpdateJob(job_id=job.id, max_runs=2))
    assert why(world, job.id, job.next[1]).answer.startswith("That time is still to come.")
    assert why(world, job.id, job.next[2]).answer.startswith("Nothing is planned then")
    ended = world.ask(update_job, UpdateJob(job_id=job.id, max_runs=None, ends_at=job.next[1])).ends_at
    after = why(world, job.id, job.next[2]).answer
    assert ended is not None
    assert after.startswith(f"Nothing runs then: it ends on {moment(datetime.fromisoformat(ended), 'Europe/Berlin')}.")
    once = add(world, when="in 2 hours")
    assert why(world, once.id, world.ahead(hours=2)).answer.startswith("That time is still to come.")
    assert why(world, once.id, world.ahead(hours=3)).answer.startswith("Nothing is planned then")
    world.ask(disable_job, DisableJob(job_id=once.id))
    assert why(world, once.id, world.ahead(hours=3)).answer.endswith("It is paused.")


def test_a_turn_that_pauses_its_own_job_leaves_a_reason_and_a_person_need_not(world: World) -> None:
    job, other = add(world), add(world)
    world.ask(disable_job, DisableJob(job_id=job.id), caller=agent(world, RUN_TURN, job_id=job.id))
    assert "It is paused: It paused itself in a turn of its own." in why(world, job.id).answer
    world.ask(enable_job, JobRef(job_id=job.id))
    patch = UpdateJob(job_id=job.id, enabled=False)
    world.ask(update_job, patch, caller=agent(world, RUN_TURN, job_id=job.id))
    assert "It paused itself in a turn of its own." in why(world, job.id).answer
    world.ask(disable_job, DisableJob(job_id=other.id))
    assert why(world, other.id).answer.startswith("It is paused. ")
