"""Everything people may do to a job or its run while its script waits to run, or runs."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from behaviour.gates.conftest import NO, YES, GateHome, says
from behaviour.gates.test_gates import change
from homing.model.errors import Conflict
from homing.operations.job_changes import disable_job, update_job
from homing.operations.removal import remove_job
from homing.operations.runs import cancel_run, run_job
from homing.operations.session_deletion import delete_session
from homing.operations.shapes.job_asks import DisableJob, JobRef, UndoJob, UpdateJob
from homing.operations.shapes.run_asks import RunRef
from homing.operations.shapes.session_asks import DeleteSession
from homing.operations.undo import undo_job
from homing.store import tables as t
from support.asking import refused
from support.ledger import CHAT

WHERE = pytest.mark.parametrize("running", [False, True], ids=["waits", "runs"])


@asynccontextmanager
async def at_the_gate(home: GateHome, *, running: bool) -> AsyncIterator[None]:
    """Let the due run come to its gate, do the block while its script waits or runs, and let all of it end."""
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    if not running:
        yield
        await home.settle()
        return
    home.free.clear()
    work = asyncio.create_task(home.gates(home.run_script).step())
    await asyncio.wait_for(home.began.wait(), 30)
    yield
    home.free.set()
    await work
    await home.settle()


def _disable(home: GateHome, job_id: str) -> None:
    home.ask(disable_job, DisableJob(job_id=job_id))


def _remove(home: GateHome, job_id: str) -> None:
    home.ask(remove_job, JobRef(job_id=job_id))


def _reschedule(home: GateHome, job_id: str) -> None:
    home.ask(update_job, UpdateJob(job_id=job_id, when="every 3h"))


def _delete_session(home: GateHome, job_id: str) -> None:
    home.ask(delete_session, DeleteSession(session_key=CHAT, delete_automations=True))


def _cancel(home: GateHome, job_id: str) -> None:
    home.ask(cancel_run, RunRef(run_id=home.only_run(job_id).id))


CHANGES: dict[str, tuple[Callable[[GateHome, str], None], tuple[str, str]]] = {
    "disable": (_disable, ("skipped", "disabled")),
    "remove": (_remove, ("skipped", "removed")),
    "reschedule": (_reschedule, ("skipped", "rescheduled")),
    "delete the session": (_delete_session, ("skipped", "session_deleted")),
    "cancel": (_cancel, ("cancelled", "asked")),
}


@WHERE
@pytest.mark.parametrize("change", CHANGES)
async def test_a_run_at_its_gate_is_withdrawn_and_what_the_script_says_changes_nothing(
    home: GateHome, change: str, running: bool
) -> None:
    act, end = CHANGES[change]
    job = home.add_gated(says('{"wakeAgent": true, "data": "news", "state": 7}'))
    async with at_the_gate(home, running=running):
        act(home, job.id)
    assert home.ends(job.id) == [end]
    assert home.model.seen == []
    assert home.job(job.id).script_state is None
    assert home.ledger.count(t.gate) == 0
    assert home.ledger.count(t.inbound) == 0


@WHERE
async def test_run_now_is_refused_while_a_gate_decides(home: GateHome, running: bool) -> None:
    home.model.reply("Yes.")
    job = home.add_gated(YES)
    async with at_the_gate(home, running=running):
        run_id = home.only_run(job.id).id
        error = refused(lambda: home.ask(run_job, JobRef(job_id=job.id)), Conflict)
        assert (error.code, error.extra) == ("already_running", {"run_id": run_id})
    assert home.ends(job.id) == [("ok", None)]


@WHERE
async def test_a_manual_run_at_its_gate_outlives_another_schedule(home: GateHome, running: bool) -> None:
    home.model.reply("Yes.")
    job = home.add_gated(YES)
    home.ask(run_job, JobRef(job_id=job.id))
    home.free.clear() if running else None
    work = asyncio.create_task(home.gates(home.run_script).step()) if running else None
    if running:
        await asyncio.wait_for(home.began.wait(), 30)
    _reschedule(home, job.id)
    home.free.set()
    if work is not None:
        await work
    await home.settle()
    assert [(run.trigger, run.state) for run in home.runs(job.id)] == [("manual", "ok")]


@WHERE
async def test_times_missed_while_a_gate_decides_are_counted_in_its_row(home: GateHome, running: bool) -> None:
    """Homing slept, or was busy: what came due meanwhile is caught up by nobody else."""
    job = home.add_gated(NO)
    async with at_the_gate(home, running=running):
        home.pass_time(hours=4, minutes=10)
        await home.tick()
    row = home.only_run(job.id)
    assert (row.reason, row.missed_count) == ("gate", 5)


async def test_a_script_changed_while_it_runs_is_run_again(home: GateHome) -> None:
    job = home.add_gated(YES)
    async with at_the_gate(home, running=True):
        change(home, job.id, script=NO)
    assert len(home.begun) == 2
    assert home.ends(job.id) == [("skipped", "gate")]


@WHERE
async def test_a_job_that_loses_its_script_runs_as_any_other(home: GateHome, running: bool) -> None:
    home.model.reply("Without.")
    job = home.add_gated(NO)
    async with at_the_gate(home, running=running):
        change(home, job.id, script=None)
    assert home.ends(job.id) == [("ok", None)]
    assert home.run(home.only_run(job.id).id).gate is None


@WHERE
async def test_an_edited_job_keeps_its_run_but_not_what_the_script_remembers(home: GateHome, running: bool) -> None:
    home.model.reply("Yes.")
    job = home.add_gated(says('{"wakeAgent": true, "state": 1}'))
    async with at_the_gate(home, running=running):
        change(home, job.id, name="another name")
    assert home.ends(job.id) == [("ok", None)]
    assert home.job(job.id).script_state is None


async def test_an_undone_reschedule_brings_the_run_back_to_its_gate(home: GateHome) -> None:
    home.model.reply("Yes.")
    job = home.add_gated(YES)
    async with at_the_gate(home, running=False):
        _reschedule(home, job.id)
        undo: dict[str, Any] = {"job_id": job.id, "revision": 2}
        home.ask(undo_job, UndoJob(**undo))
    assert home.ends(job.id) == [("ok", None)]
    assert len(home.begun) == 1


async def test_an_undone_reschedule_asks_again_for_a_run_whose_gate_had_passed(home: GateHome) -> None:
    home.model.reply("Yes.")
    job = home.add_gated(YES)
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    await home.gates(home.run_script).step()
    _reschedule(home, job.id)
    assert home.ends(job.id) == [("skipped", "rescheduled")]
    home.ask(undo_job, UndoJob(job_id=job.id, revision=2))
    await home.settle()
    assert home.ends(job.id) == [("ok", None)]
    assert len(home.begun) == 2


async def test_runs_that_a_budget_stops_behind_their_gate_are_one_row(home: GateHome) -> None:
    job = home.add_gated(YES, max_cost_usd_per_day=1)
    home.instance = replace(home.instance, model="openai-chat:mine", has_price=lambda name: False)
    for _ in range(3):
        await home.due()
    row = home.only_run(job.id)
    assert (row.state, row.reason, row.missed_count) == ("skipped", "budget", 3)
    assert home.ledger.count(t.gate) == 1
    assert len(home.notes()) == 1
