"""Rule 16: a job's time counts from its opening, for every trigger alike; what comes after it is heard by nobody."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from behaviour.jobs.homes import Home
from homing.engine.lane import stop_setup
from homing.engine.turn_result import TurnResult
from homing.operations.jobs import get_job
from homing.operations.runs import run_job
from homing.operations.shapes.job_asks import GetJob, JobRef
from homing.testing import fault
from support.ledger import CHAT

LIMIT = 0.3


def add_timed(home: Home, seconds: float | None = LIMIT, **given: Any) -> str:
    payload = {"kind": "agent_turn", "message": "look for fruit"}
    if seconds is not None:
        payload |= {"timeout_seconds": seconds}  # type: ignore[dict-item]
    return home.add(message=None, payload=payload, **({"when": "every 1h"} | given)).id


async def come_due(home: Home, **length: float) -> None:
    home.pass_time(**(length or {"hours": 1, "seconds": 1}))
    await home.settle()


async def test_a_timeout_stops_the_turn_at_its_instant_records_it_and_the_next_run_is_scheduled(home: Home) -> None:
    home.model.reply(fault("hang"))
    job_id = add_timed(home)
    before = asyncio.get_running_loop().time()
    await come_due(home)
    assert asyncio.get_running_loop().time() - before >= LIMIT
    run = home.only_run(job_id)
    assert (run.state, run.reason) == ("error", "timeout")
    assert (run.error or "").startswith(f"timed out after {LIMIT:g} s")
    told = home.ask(get_job, GetJob(job_id=job_id)).state
    assert (told.running_at, told.active_run_id, told.last_status) == (None, None, "error")
    assert home.job(job_id).next_run_at == run.scheduled_for + timedelta(hours=1)
    assert home.shown()[-1].text == f"I stopped: this took longer than {LIMIT:g} seconds."
    home.ledger.check_whole()
    await come_due(home)
    assert home.ends(job_id) == [("error", "timeout"), ("ok", None)]


@pytest.mark.parametrize("trigger", ["timer", "manual", "catch_up"])
async def test_timeouts_hold_for_timer_manual_and_catch_up_runs_alike(home: Home, trigger: str) -> None:
    home.model.reply(fault("hang"))
    job_id = add_timed(home)
    if trigger == "manual":
        home.ask(run_job, JobRef(job_id=job_id))
        await home.settle()
    else:
        await come_due(home, minutes=60 if trigger == "timer" else 90, seconds=1)
    run = home.only_run(job_id)
    assert (run.trigger, run.state, run.reason) == (trigger, "error", "timeout")


@pytest.mark.parametrize("trigger", ["timer", "manual", "catch_up"])
async def test_timeout_0_is_no_ceiling_and_unset_is_the_default_for_every_trigger(home: Home, trigger: str) -> None:
    free, plain = add_timed(home, 0, session_key="web:free"), add_timed(home, None, session_key="web:plain")
    if trigger == "manual":
        home.ask(run_job, JobRef(job_id=free))
        home.ask(run_job, JobRef(job_id=plain))
        await home.settle()
    else:
        await come_due(home, minutes=60 if trigger == "timer" else 90, seconds=1)
    assert home.only_run(free).trigger == home.only_run(plain).trigger == trigger
    assert home.ledger.turn("web:free").deadline_at is None
    turn = home.ledger.turn("web:plain")
    assert turn.deadline_at == turn.opened_at + timedelta(seconds=300)


async def test_a_success_after_the_timeout_delivers_and_writes_nothing(home: Home) -> None:
    late: list[str] = []

    async def stubborn(*_: Any) -> TurnResult:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            late.append("came back")
        return TurnResult(outcome="answered", text="Here I am after all.", history="[]")

    job_id = add_timed(home)
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    await home.work(lanes=home.lanes(stubborn))
    assert late == ["came back"]
    assert home.ends(job_id) == [("error", "timeout")]
    assert "Here I am after all." not in home.ledger.texts()
    assert [row.seq for row in home.ledger.outbounds()] == [home.only_run(job_id).closing_seq]


async def test_time_spent_in_the_queue_does_not_count(home: Home) -> None:
    job_id = add_timed(home, 30)
    home.model.when("a long story", "Once upon a time.", hold=True)
    home.ledger.say("Tell me a long story")
    story = asyncio.create_task(home.work(claim=home.claim(seconds=None)))
    await home.called(1)
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    home.pass_time(minutes=5)
    home.model.release()
    await story
    await home.work()
    assert home.ends(job_id) == [("ok", None)]
    turn = home.ledger.turns(CHAT)[-1]
    assert turn.deadline_at == turn.opened_at + timedelta(seconds=30)


async def test_a_stall_before_the_model_is_called_fails_early_with_its_phase_named(home: Home) -> None:
    async def never_ready(*_: Any) -> TurnResult:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    stalled, endless = add_timed(home, 300), add_timed(home, 0, session_key="web:endless")
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    for key in (CHAT, "web:endless"):
        await home.work(key, lanes=replace(home.lanes(never_ready), setup_seconds=0.2))
    for job_id in (stalled, endless):
        run = home.only_run(job_id)
        assert (run.state, run.reason) == ("error", "timeout")
        assert run.error == "timed out after 0.2 s, before the model was called"


async def test_a_model_at_work_is_no_stall_before_it(home: Home) -> None:
    home.model.reply("Here I am.", hold=True)
    job_id = add_timed(home, 300)
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    claim = home.claim(seconds=None)
    working = asyncio.create_task(home.work(claim=claim))
    await home.called(1)
    stop_setup(claim)
    home.model.release()
    await working
    assert home.ends(job_id) == [("ok", None)]


async def test_a_timeout_says_in_the_record_what_it_was_waiting_for(home: Home) -> None:
    home.model.reply(fault("hang"))
    # Long enough that the model is called in time on any machine.
    waiting, stalled = add_timed(home, 3.0), add_timed(home, session_key="web:stalled")
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    await home.work()
    assert (home.only_run(waiting).error or "").endswith("s, waiting for the model scripted")

    async def never_ready(*_: Any) -> TurnResult:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    await home.work("web:stalled", lanes=home.lanes(never_ready))
    assert (home.only_run(stalled).error or "").endswith("s, before the model was called")
