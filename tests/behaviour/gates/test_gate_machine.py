"""Who runs scripts, how many at once, and what happens when a worker stops in the middle."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
import sqlalchemy as sa

from behaviour.gates.conftest import NO, YES, GateHome
from homing.model.scripts import Script, ScriptEnd
from homing.operations.shapes.job_asks import WhyJob
from homing.operations.why import why_job
from homing.store import maintenance
from homing.store import tables as t
from support.worlds import stays_idle

ECHO = "echo '{\"wakeAgent\": true}'"


def expire(home: GateHome) -> None:
    """Let the claims of all gates be over."""
    home.ledger.write(
        lambda tx: tx.run(sa.update(t.gate).where(t.gate.c.claimed_until.is_not(None)).values(claimed_until=tx.now()))
    )
    home.pass_time(milliseconds=1)


async def died(_: Script, __: Mapping[str, Any]) -> ScriptEnd:
    """A worker that dies in the middle of a script."""
    raise RuntimeError("killed")


async def cut_off(home: GateHome) -> None:
    with pytest.raises(RuntimeError, match="killed"):
        await home.gates(died).step()
    expire(home)


async def test_a_worker_that_dies_lets_another_run_the_script_again(home: GateHome) -> None:
    job = home.add_gated(NO)
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    await cut_off(home)
    await cut_off(home)
    await home.settle()
    assert home.ends(job.id) == [("skipped", "gate")]


async def test_an_outdated_process_runs_no_script(home: GateHome) -> None:
    home.add_gated(NO)
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    await stays_idle(home.store, home.gates(home.run_script).run(), home.began.is_set)


async def test_a_script_is_run_three_times_in_all(home: GateHome) -> None:
    job = home.add_gated(NO)
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    for _ in range(3):
        await cut_off(home)
    await home.settle()
    [run] = home.runs(job.id)
    assert (run.state, run.reason) == ("error", "script")
    assert run.summary == "The script was interrupted 3 times because its worker stopped."
    shown = home.run(run.id)
    assert shown.gate is not None
    assert shown.gate.ended == "lost"
    assert home.begun == []


async def test_whoever_comes_too_late_changes_nothing(home: GateHome) -> None:
    job = home.add_gated(YES)
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    home.free.clear()
    slow = asyncio.create_task(home.gates(home.run_script).step())
    await asyncio.wait_for(home.began.wait(), 30)
    expire(home)
    await home.gates(home.scripts.run).step()
    home.free.set()
    await slow
    assert home.ledger.count(t.inbound) == 1
    home.model.reply("Once.")
    await home.settle()
    assert home.ends(job.id) == [("ok", None)]


async def test_a_worker_that_stops_hands_its_gate_back_uncounted(home: GateHome) -> None:
    home.add_gated(NO)
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    await home.store.bell.open()
    home.free.clear()
    work = asyncio.create_task(home.gates(home.run_script).run())
    await asyncio.wait_for(home.began.wait(), 30)
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    [(attempts, worker)] = home.ledger.write(lambda tx: tx.rows(sa.select(t.gate.c.attempts, t.gate.c.worker_id)))
    assert (attempts, worker) == (0, None)


async def test_a_worker_without_a_sandbox_leaves_bash_to_one_that_has_it(home: GateHome) -> None:
    bash, python = home.add_gated(ECHO, language="bash"), home.add_gated(NO)
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    await home.gates(home.run_script, bash=False).step()
    assert home.ends(python.id) == [("skipped", "gate")]
    waiting = home.run(home.only_run(bash.id).id)
    assert (waiting.state, waiting.waiting_for) == ("queued", "worker")
    why = home.ask(why_job, WhyJob(job_id=bash.id)).answer
    assert "waits for a worker that can run its bash script: that needs the sandbox" in why
    home.ledger.write(
        lambda tx: maintenance.beat(tx, "able", name="able", schedules=True, next_wake_at=None, can={"sandbox"})
    )
    assert home.run(waiting.id).waiting_for == "gate"
    home.model.reply("Yes.")
    await home.settle()
    assert home.ends(bash.id) == [("ok", None)]


async def test_a_slow_script_delays_no_other_job_and_no_chat(home: GateHome) -> None:
    home.model.otherwise("Here.")
    slow = home.add_gated(YES)
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    await home.store.bell.open()
    home.free.clear()
    work = asyncio.create_task(home.gates(home.run_script).run())
    await asyncio.wait_for(home.began.wait(), 30)
    assert await chat(home, "hello") == "Here."
    other = home.add(when="every 1h")
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    await home.runner().step()
    assert home.ends(other.id) == [("ok", None)]
    assert [state for state, _ in home.ends(slow.id)] == ["queued"]
    home.free.set()
    await home.until(lambda: home.ledger.count(t.gate, t.gate.c.ended.is_not(None)) == 1, "the gate has ended")
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)


async def chat(home: GateHome, text: str) -> str:
    """Say something, and let only the lanes work."""
    home.ledger.say(text)
    await home.runner().step()
    return home.shown()[-1].text


async def test_one_users_scripts_leave_slots_to_others(home: GateHome) -> None:
    for n in range(10):
        home.add_gated(YES, name=f"slow {n}")
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    await home.store.bell.open()
    home.free.clear()
    work = asyncio.create_task(home.gates(home.run_script).run())
    await home.until(lambda: len(home.begun) == 6, "one user's share began")
    await asyncio.sleep(0)
    assert home.ledger.count(t.gate, t.gate.c.worker_id.is_not(None)) == 6
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
