"""Rule 6, and whose word counts: people's changes win over a run that is about to end."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from behaviour.jobs.conftest import MakeHome
from behaviour.jobs.homes import Home
from homing.engine.opening import Opened
from homing.engine.step_journal import StepJournal
from homing.engine.turn_result import TurnResult
from homing.model.errors import Conflict, ModelFailed
from homing.operations.job_changes import disable_job, update_job
from homing.operations.jobs import list_jobs
from homing.operations.removal import remove_job
from homing.operations.runs import cancel_run, list_runs
from homing.operations.session_deletion import delete_session
from homing.operations.shapes.base import read
from homing.operations.shapes.job_asks import DisableJob, JobRef, ListJobs, UndoJob, UpdateJob
from homing.operations.shapes.run_asks import ListRuns, RunRef
from homing.operations.shapes.session_asks import DeleteSession
from homing.operations.undo import undo_job
from homing.store import sessions
from support.ledger import CHAT


def change(home: Home, job_id: str, **given: Any) -> None:
    home.ask(update_job, read(UpdateJob, {"job_id": job_id, **given}))


@asynccontextmanager
async def in_the_middle(home: Home) -> AsyncIterator[None]:
    """Let the due run get as far as its model call, do the block, and let it end."""
    home.model.reply("Fine.", hold="middle")
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    async with home.running():
        home.ring()
        await home.called(1)
        yield
        home.ring()
        home.model.release("middle")
        await home.until_closed(1, None)


async def test_a_job_removed_during_its_run_is_cancelled_keeps_its_history_and_is_not_resurrected(home: Home) -> None:
    job = home.add(when="every 1h")
    home.model.reply("Too late.", hold=True)
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    async with home.running():
        home.ring()
        await home.called(1)
        home.ask(remove_job, JobRef(job_id=job.id))
        home.ring()
        await home.until_closed(1)
    assert home.ends(job.id) == [("cancelled", "removed")]
    assert home.shown()[-1].text == "Stopped: the automation was removed."
    assert home.ask(list_jobs, ListJobs()).items == []
    assert [run.id for run in home.ask(list_runs, ListRuns(job_id=job.id)).items] == [home.only_run(job.id).id]
    home.pass_time(days=1)
    await home.settle()
    assert (len(home.runs(job.id)), home.job(job.id).removed_at is not None) == (1, True)


async def test_a_job_disabled_during_its_run_lets_it_finish(home: Home) -> None:
    job = home.add(when="every 1h")
    async with in_the_middle(home):
        home.ask(disable_job, DisableJob(job_id=job.id))
    assert home.ends(job.id) == [("ok", None)]
    assert (home.job(job.id).enabled, home.job(job.id).next_run_at, home.job(job.id).status) == (False, None, "paused")


async def test_a_queued_run_is_withdrawn_when_its_job_is_disabled_or_removed_and_says_which(home: Home) -> None:
    paused, gone = home.add(when="every 1h"), home.add("look again", when="every 1h")
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    home.ask(disable_job, DisableJob(job_id=paused.id))
    home.ask(remove_job, JobRef(job_id=gone.id))
    await home.settle()
    assert (home.ends(paused.id), home.ends(gone.id)) == ([("skipped", "disabled")], [("skipped", "removed")])
    assert (home.shown(), home.model.seen) == ([], [])


async def test_a_schedule_edited_during_a_run_wins_over_the_finishing_run(home: Home) -> None:
    job = home.add(when="every 1h")
    async with in_the_middle(home):
        change(home, job.id, when="in 5 hours")
        due = home.job(job.id).next_run_at
    assert home.ends(job.id) == [("ok", None)]
    assert (home.job(job.id).next_run_at, home.job(job.id).enabled) == (due, True)


async def test_a_one_shot_given_a_new_time_during_its_run_keeps_that_time(home: Home) -> None:
    job = home.add(when="in 1 hour", delete_after_run=True)
    async with in_the_middle(home):
        change(home, job.id, when="in 5 hours")
        due = home.job(job.id).next_run_at
    after = home.job(job.id)
    assert (after.next_run_at, after.enabled, after.removed_at) == (due, True, None)


async def test_a_failing_run_of_an_older_definition_counts_nothing_against_the_newer(home: Home) -> None:
    home.model.fail(401)
    job = home.add(when="every 1h")
    home.change(job.id, consecutive_failures=9)
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    opened = asyncio.Event()
    go = asyncio.Event()
    thinker = home.thinker()

    async def slow(*given: Any) -> Any:
        opened.set()
        await go.wait()
        return await thinker(*given)

    working = asyncio.create_task(home.work(lanes=home.lanes(slow)))
    await opened.wait()
    change(home, job.id, message="look for pears")
    go.set()
    await working
    after = home.job(job.id)
    assert (after.consecutive_failures, after.enabled, after.last_status) == (9, True, "error")
    assert home.notes() == []


async def one_shot_renamed_during_its_run(home: Home, fail: Callable[[], None]) -> str:
    fail()
    job = home.add(when="in 1 hour")
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    opened, go = asyncio.Event(), asyncio.Event()
    thinker = home.thinker()

    async def slow(*given: Any) -> Any:
        opened.set()
        await go.wait()
        return await thinker(*given)

    working = asyncio.create_task(home.work(lanes=home.lanes(slow)))
    await opened.wait()
    change(home, job.id, name="another name")
    go.set()
    await working
    return job.id


async def test_a_one_shot_renamed_during_its_run_is_done_all_the_same(home: Home) -> None:
    job_id = await one_shot_renamed_during_its_run(home, lambda: None)
    after = home.job(job_id)
    # Enabled without a time to run would be a promise that nobody keeps.
    assert (after.name, after.status, after.next_run_at) == ("another name", "done", None)


async def test_a_one_shot_renamed_during_a_run_that_fails_says_so_and_is_not_left_waiting(home: Home) -> None:
    job_id = await one_shot_renamed_during_its_run(home, lambda: home.model.fail(401))
    after = home.job(job_id)
    assert (after.enabled, after.next_run_at, after.last_status) == (False, None, "error")
    assert "failed" in (after.disabled_reason or "")


@pytest.mark.parametrize("once", [{"when": "in 1 hour"}, {"when": "every 1h", "max_runs": 1}])
@pytest.mark.parametrize("early", [True, False])
async def test_taking_back_a_new_name_leaves_the_last_run_in_its_lane(
    home: Home, once: dict[str, Any], early: bool
) -> None:
    # On PostgreSQL time passes in rows, and not in what an undo keeps of them.
    early = early and not home.store.postgres
    job = home.add(**once)
    if early:
        change(home, job.id, name="other")
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    if not early:
        change(home, job.id, name="other")
    home.ask(undo_job, UndoJob(job_id=job.id, revision=2))
    await home.settle()
    assert home.ends(job.id) == [("ok", None)]
    assert (home.job(job.id).name, home.job(job.id).status) == (job.name, "done")


async def test_taking_back_a_new_name_does_not_wake_a_job_that_was_paused_meanwhile(home: Home) -> None:
    job = home.add(when="0 * * * *")
    change(home, job.id, name="other")
    home.change(job.id, consecutive_failures=9)
    home.model.fail(401)
    home.pass_time(hours=1, seconds=1)
    await home.settle()
    paused = home.job(job.id)
    assert (paused.enabled, paused.disabled_by) == (False, "engine")
    home.ask(undo_job, UndoJob(job_id=job.id, revision=2))
    undone = home.job(job.id)
    assert (undone.name, undone.disabled_by, undone.disabled_reason) == (job.name, "engine", paused.disabled_reason)


async def test_taking_back_a_new_name_leaves_a_one_shot_its_next_try(home: Home) -> None:
    job = home.add(when="in 1 hour")
    home.pass_time(hours=1, seconds=1)
    await home.tick()

    async def fail(_opened: Opened, _keeper: StepJournal) -> TurnResult:
        raise ModelFailed("The model did not answer.")

    await home.work(lanes=home.lanes(fail))
    again = home.job(job.id).next_run_at
    change(home, job.id, name="other")
    home.ask(undo_job, UndoJob(job_id=job.id, revision=2))
    assert (home.job(job.id).enabled, home.job(job.id).next_run_at) == (True, again)
    home.pass_time(minutes=1, seconds=1)
    await home.settle()
    assert [(run.trigger, run.state) for run in home.runs(job.id)] == [("timer", "error"), ("retry", "ok")]


async def test_a_session_deleted_during_the_run_gets_nothing_and_the_run_says_so(home: Home) -> None:
    job = home.add(when="every 1h")
    home.model.reply("Too late.", hold=True)
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    before = home.ledger.session()
    async with home.running():
        home.ring()
        await home.called(1)
        home.ask(delete_session, DeleteSession(session_key=CHAT, delete_automations=True))
        home.ring()
        await home.until(lambda: home.only_run(job.id).state != "running", "the run has ended")
    assert home.ends(job.id) == [("cancelled", "session_deleted")]
    deleted = home.ledger.write(lambda tx: sessions.get(tx, before.id))
    assert deleted.deleted_at is not None
    # The key begins anew, as another session, and knows nothing of it.
    assert home.ledger.session().id != before.id
    assert home.shown() == []
    home.pass_time(days=2)
    await home.settle()
    assert len(home.runs(job.id)) == 1


async def test_a_run_cancelled_while_it_waits_for_a_persons_turn_writes_nothing(home: Home) -> None:
    home.model.when("a long story", "Once upon a time.", hold=True)
    job = home.add(when="every 1h")
    home.ledger.say("Tell me a long story")
    story = asyncio.create_task(home.work(claim=home.claim(seconds=None)))
    await home.called(1)
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    [waiting] = home.ask(list_runs, ListRuns(job_id=job.id)).items
    assert (waiting.state, waiting.waiting_for) == ("queued", "session")
    home.ask(cancel_run, RunRef(run_id=waiting.id))
    home.model.release()
    await story
    await home.settle()
    assert home.ends(job.id) == [("cancelled", "asked")]
    assert [message.text for message in home.shown()] == ["Tell me a long story", "Once upon a time."]
    assert len(home.model.seen) == 1


async def test_removing_a_one_shot_never_removes_its_session(home: Home) -> None:
    job = home.add(when="in 1 hour", delete_after_run=True)
    home.pass_time(hours=1, seconds=1)
    await home.settle()
    assert home.job(job.id).removed_at is not None
    assert home.ledger.session().deleted_at is None
    assert await home.say("hello") == "You said: hello"


async def test_a_one_shot_whose_worker_died_is_taken_up_once_and_a_new_time_is_kept(home: Home) -> None:
    home.model.reply("nobody hears this", hold=True)
    job = home.add(when="in 1 hour")
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    claim = home.claim()
    dying = asyncio.create_task(home.work(claim=claim))
    await home.called(1)
    claim.stop("lost")
    await dying
    change(home, job.id, when="in 5 hours")
    due = home.job(job.id).next_run_at
    home.expire()
    await home.settle()
    assert home.ends(job.id) == [("ok", None)]
    assert (home.job(job.id).next_run_at, home.job(job.id).enabled) == (due, True)
    home.ledger.check_whole()


async def test_with_a_unified_session_a_chat_is_blocked_by_its_own_jobs_and_another_is_not(make_home: MakeHome) -> None:
    home = make_home(unified_session="true")
    job = home.add(when="every 1h")
    await home.say("hello", "web:other")
    with pytest.raises(Conflict) as blocked:
        home.ask(delete_session, DeleteSession(session_key=CHAT))
    assert blocked.value.extra["automations"] == [{"id": job.id, "name": job.name, "enabled": True}]
    assert home.ask(delete_session, DeleteSession(session_key="web:other")).deleted
    assert home.job(job.id).enabled


async def test_each_change_by_a_person_moves_the_stamp_and_a_run_does_not(home: Home) -> None:
    job = home.add(when="every 1h")
    assert home.job(job.id).updated_at == home.job(job.id).created_at
    home.pass_time(hours=1, seconds=1)
    await home.settle()
    assert home.job(job.id).updated_at == home.job(job.id).created_at
    change(home, job.id, name="another name")
    changed = home.job(job.id)
    assert changed.updated_at - changed.created_at >= timedelta(hours=1)
