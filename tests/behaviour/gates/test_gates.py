"""Rule 50: a script looks before a run, and says whether the agent is needed."""

import json
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from behaviour.gates.conftest import NO, YES, GateHome, says
from homing.engine.sweeper import Sweeper
from homing.model.scripts import Script
from homing.operations.agents import PreparedAgent, update_agent
from homing.operations.job_changes import change_fields
from homing.operations.jobs import get_job
from homing.operations.runs import run_job
from homing.operations.scripts import TriedScript, script_after
from homing.operations.shapes.agent import UpdateAgent
from homing.operations.shapes.base import read
from homing.operations.shapes.job_asks import GetJob, JobRef, UpdateJob
from homing.store import maintenance
from homing.store import tables as t

COUNTER = """
import json
n = (state or {}).get("n", 0) + 1
print(json.dumps({"wakeAgent": n > 2, "data": {"n": n}, "state": {"n": n}}))
"""
BROKEN = "print(nobody)"


def change(home: GateHome, job_id: str, **given: Any) -> None:
    """Change a job as if its script had been tried."""
    ask = read(UpdateJob, {"job_id": job_id, **given})
    tried = TriedScript(script=script_after(ask, home.job(job_id)))
    home.ledger.write(lambda tx: change_fields(home.world.ctx(tx), job_id, ask, tried))


async def test_a_script_that_says_no_wakes_nobody(home: GateHome) -> None:
    job = home.add_gated(NO)
    await home.due()
    assert home.ends(job.id) == [("skipped", "gate")]
    assert home.model.seen == []
    assert home.shown() == []
    assert home.job(job.id).last_run_id is None


async def test_what_a_script_finds_is_framed_in_the_prompt(home: GateHome) -> None:
    home.model.reply("There are pears.")
    job = home.add_gated(says('{"wakeAgent": true, "data": {"fruit": ["pear"]}}'))
    await home.due()
    assert home.ends(job.id) == [("ok", None)]
    assert 'from the script of the automation "look for fruit": what it found when it looked.' in home.heard()
    assert '{"fruit": ["pear"]}' in home.heard()
    run = home.run(home.only_run(job.id).id)
    assert run.gate is not None
    assert (run.gate.ended, run.gate.code, run.gate.data) == ("exit", 0, {"fruit": ["pear"]})
    assert run.prompt_ref is not None
    assert run.prompt_ref.version == 3


async def test_the_script_of_a_heartbeat_looks_before_its_checklist(home: GateHome) -> None:
    home.ledger.session()
    counter = COUNTER.replace("n > 2", "n == 2")

    def give(script: str | None) -> None:
        ask = read(
            UpdateAgent,
            {
                "agent_id": "main",
                "hosts": ["a.example"],
                "heartbeat": {"minutes": 60, "checklist": "- Look.", "script": script, "script_language": "python"},
            },
        )
        tried = TriedScript(script=Script(text=script or "", language="python", hosts=("a.example",)))
        home.ledger.write(lambda tx: update_agent(home.world.ctx(tx), ask, PreparedAgent(tried=tried)))

    give(counter)
    await Sweeper(home.store, home.instance, home.fake, "worker_1", "here:1", home.scheduler()).plan()
    await home.due()
    assert (home.model.seen, home.shown()) == ([], [])
    await home.due()
    assert len(home.model.seen) == 1
    assert "A script looked first, and found:" in home.heard()
    assert '{"n": 2}' in home.heard()
    give("print(1)\n" + YES)
    await home.due()
    assert len(home.model.seen) == 2, "the new script is asked at the next beat"
    give(None)
    await home.due()
    assert len(home.model.seen) == 3


async def test_a_hundred_noes_are_one_row_and_every_instant_finds_it(home: GateHome) -> None:
    job = home.add_gated(COUNTER.replace("n > 2", "n > 900"))
    first = home.job(job.id).next_run_at
    assert first is not None
    ids: list[str] = []
    for _ in range(100):
        at = home.job(job.id).next_run_at
        assert at is not None
        await home.tick()
        home.pass_time(hours=1)
        await home.tick()
        ids += [run.id for run in home.runs(job.id) if run.state == "queued"]
        await home.settle()
    row = home.only_run(job.id)
    assert (row.state, row.reason, row.missed_count) == ("skipped", "gate", 100)
    assert home.model.seen == []
    assert home.job(job.id).script_state == {"n": 100}
    assert home.ledger.count(t.gate) == 1
    if not home.store.postgres:
        # On PostgreSQL time passes by moving the instants, and the ids stay.
        assert len(set(ids)) == 100
        assert {home.run(run_id).id for run_id in ids} == {row.id}
    shown = home.run(row.id)
    assert shown.gate is not None
    assert json.loads(str(shown.gate.out))["state"] == {"n": 100}


async def test_a_run_between_two_noes_keeps_them_apart(home: GateHome) -> None:
    job = home.add_gated(COUNTER.replace("n > 2", "n == 3"))
    home.model.reply("Three!")
    for _ in range(5):
        await home.due()
    assert home.ends(job.id) == [("skipped", "gate"), ("ok", None), ("skipped", "gate")]
    assert [run.missed_count for run in home.runs(job.id)] == [2, None, 2]


async def test_state_moves_to_the_job_only_when_the_turn_closed_well(home: GateHome) -> None:
    home.model.fail(401)
    job = home.add_gated(COUNTER.replace("n > 2", "True"))
    await home.due()
    assert home.ends(job.id) == [("error", "model")]
    assert home.job(job.id).script_state is None
    home.model.reply("Well.")
    await home.due()
    assert home.job(job.id).script_state == {"n": 1}
    assert [given["state"] for given in home.begun] == [None, None]
    home.model.reply("Well.")
    await home.due()
    assert home.begun[-1]["state"] == {"n": 1}


async def test_a_changed_script_forgets_what_the_old_one_remembered(home: GateHome) -> None:
    job = home.add_gated(COUNTER)
    await home.due()
    assert home.job(job.id).script_state == {"n": 1}
    change(home, job.id, name="another name")
    assert home.job(job.id).script_state == {"n": 1}
    change(home, job.id, script=COUNTER + "\n# another")
    assert home.job(job.id).script_state is None


async def test_with_a_reminder_what_was_found_is_the_message(home: GateHome) -> None:
    payload = {"kind": "reminder", "message": "The disk is full."}
    found = says('{"wakeAgent": true, "data": "Only 2 GB left", "state": 2}')
    job = home.add_gated(found, message=None, payload=payload)
    bare = home.add_gated(YES, message=None, payload=payload)
    await home.due()
    assert [home.only_run(one.id).summary for one in (job, bare)] == ["Only 2 GB left", "The disk is full."]
    # The two scripts run at the same time, and either may end first.
    assert sorted(m.text for m in home.shown()) == ["Only 2 GB left", "The disk is full."]
    assert {m.kind for m in home.shown()} == {"reminder"}
    assert home.ends(job.id) == home.ends(bare.id) == [("ok", None)]
    assert home.model.seen == []
    assert home.job(job.id).script_state == 2


async def test_an_event_brings_what_was_found(home: GateHome) -> None:
    home.model.reply("I see.")
    payload = {"kind": "system_event", "message": "The kettle boils."}
    home.add_gated(says('{"wakeAgent": true, "data": {"degrees": 100}}'), message=None, payload=payload)
    await home.due()
    assert 'The kettle boils.\n\n{"degrees": 100}' in home.heard()


async def test_an_isolated_run_gets_its_session_only_when_it_is_needed(home: GateHome) -> None:
    job = home.add_gated(COUNTER.replace("n > 2", "n == 2"), session="isolated", write_back="none")
    await home.due()
    assert home.ledger.count(t.session, t.session.c.parent_id.is_not(None)) == 0
    home.model.reply("Found.")
    await home.due()
    assert home.ends(job.id) == [("skipped", "gate"), ("ok", None)]
    assert home.ledger.count(t.session, t.session.c.parent_id.is_not(None)) == 1


async def test_a_script_that_fails_is_an_error_and_the_agent_is_not_woken(home: GateHome) -> None:
    job = home.add_gated(BROKEN)
    await home.due()
    [run] = home.runs(job.id)
    assert (run.state, run.reason) == ("error", "script")
    assert run.summary == "The script ended with exit code 1. It said: NameError: name 'nobody' is not defined"
    assert "Traceback" in str(run.error)
    assert home.model.seen == []
    assert home.job(job.id).consecutive_failures == 1
    assert home.job(job.id).status == "attention"
    change(home, job.id, script=NO)
    await home.due()
    assert home.job(job.id).consecutive_failures == 0
    assert home.job(job.id).status == "active"


async def test_ten_script_faults_in_a_row_pause_the_job_with_one_note(home: GateHome) -> None:
    job = home.add_gated(BROKEN)
    for _ in range(10):
        await home.due()
    assert home.job(job.id).disabled_by == "engine"
    assert len(home.notes()) == 1
    assert "It failed 10 times in a row" in home.notes()[0]


async def test_a_one_shot_whose_script_fails_is_tried_again_and_then_kept(home: GateHome) -> None:
    job = home.add_gated(BROKEN, when="in 10 minutes")
    for minutes in (10, 1, 5, 15):
        await home.due(minutes=minutes, seconds=2)
    assert [(run.trigger, run.reason) for run in home.runs(job.id)] == [("timer", "script")] + [("retry", "script")] * 3
    assert home.job(job.id).disabled_by == "engine"


async def test_a_one_shot_whose_script_says_no_is_done(home: GateHome) -> None:
    job = home.add_gated(NO, when="in 10 minutes")
    await home.due(minutes=10, seconds=2)
    done = home.job(job.id)
    assert (done.disabled_by, done.disabled_reason) == (
        "done", "Its script found nothing to do, and it has no further time to run.",
    )  # fmt: skip


async def test_noes_and_faults_do_not_use_up_max_runs(home: GateHome) -> None:
    job = home.add_gated(COUNTER, max_runs=1)
    await home.due()
    await home.due()
    assert home.job(job.id).enabled
    home.model.reply("Now.")
    await home.due()
    assert home.ends(job.id) == [("skipped", "gate"), ("ok", None)]
    assert home.job(job.id).disabled_by == "done"


async def test_run_now_has_the_same_gate_and_is_never_folded(home: GateHome) -> None:
    job = home.add_gated(NO)
    await home.due()
    for _ in range(2):
        home.ask(run_job, JobRef(job_id=job.id))
        await home.settle()
        home.pass_time(seconds=1)
    assert [(run.trigger, run.state, run.reason) for run in home.runs(job.id)] == [
        ("timer", "skipped", "gate"), ("manual", "skipped", "gate"), ("manual", "skipped", "gate"),
    ]  # fmt: skip


async def test_a_catch_up_has_the_same_gate(home: GateHome) -> None:
    home.model.reply("Caught up.")
    job = home.add_gated(YES)
    await home.due(hours=5, minutes=10)
    assert [(run.trigger, run.state) for run in home.runs(job.id)] == [("catch_up", "ok"), ("timer", "skipped")]
    assert home.begun[0]["missed_count"] == 4


async def test_a_script_is_given_its_job_instant_last_run_and_state(home: GateHome) -> None:
    home.model.reply("Once.")
    job = home.add_gated(YES, name="fruit watch")
    await home.due()
    await home.due()
    given = home.begun[-1]
    assert given["job"] == {
        "id": job.id, "name": "fruit watch", "message": "look for fruit", "session_key": "web:chat", "timezone": "UTC",
    }  # fmt: skip
    assert given["last_run"]["state"] == "ok"
    assert given["missed_count"] == 0
    assert given["state"] is None


async def test_a_timers_run_at_its_gate_is_on_no_stream_and_in_no_recent(home: GateHome) -> None:
    job = home.add_gated(NO)
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    [run] = home.runs(job.id)
    assert (run.state, run.rev) == ("queued", 0)
    shape = home.ask(get_job, GetJob(job_id=job.id, recent=5))
    assert (shape.recent, shape.state.active_run_id) == ([], None)
    assert home.run(run.id).waiting_for == "gate"
    await home.settle()
    shape = home.ask(get_job, GetJob(job_id=job.id, recent=5))
    assert [one.reason for one in shape.recent] == ["gate"]


@pytest.mark.parametrize(("script", "reason"), [(NO, "gate"), (YES, "overlap"), (BROKEN, "overlap")])
async def test_what_comes_due_while_a_gate_decides_is_counted(home: GateHome, script: str, reason: str) -> None:
    home.model.reply("Yes.")
    job = home.add_gated(script)
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    for _ in range(3):
        home.pass_time(hours=1)
        await home.tick()
    assert len(home.runs(job.id)) == 1
    await home.settle()
    counted = [run for run in home.runs(job.id) if run.state == "skipped"]
    assert [(run.reason, run.missed_count) for run in counted] == [(reason, 4 if reason == "gate" else 3)]


async def test_no_text_that_a_database_cannot_keep_gets_through(home: GateHome) -> None:
    home.model.reply("Odd.")
    line = json.dumps({"wakeAgent": True, "data": ["a\x00b", {"\ud800": 1}], "state": "\x00s"})
    job = home.add_gated(f"print('\\x00')\nprint({line!r})")
    await home.due()
    assert home.ends(job.id) == [("ok", None)]
    run = home.run(home.only_run(job.id).id)
    assert run.gate is not None
    assert run.gate.data == ["ab", {"": 1}]
    assert home.job(job.id).script_state == "s"


async def test_pruned_runs_take_their_gates_along(home: GateHome) -> None:
    home.add_gated(NO)
    await home.due()
    home.pass_time(days=100)
    home.ledger.write(lambda tx: maintenance.prune(tx, keep_runs=timedelta(days=90)))
    assert home.ledger.write(lambda tx: tx.rows(sa.select(t.gate))) == []
