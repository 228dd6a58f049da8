"""Killed with -9 while nobody looks: an alert is given once, a heartbeat beats once, memories are changed once."""

from typing import Any

import pytest
import sqlalchemy as sa

from faults.test_job_kills import CLAIM_SECONDS, end_claims
from homing.model.dreams import TOOL
from homing.model.heartbeats import CHECKLIST
from homing.model.messages import NewMessage
from homing.model.people import OWNER
from homing.operations.dreams import give_dream
from homing.settings import load
from homing.store import Tx, alerts, sessions
from homing.store import tables as t
from homing.testing import StubModelServer, tool_call
from support.crews import Crew
from support.ledger import CHAT, Ledger
from support.tripwires import Trip

AROUND = ["commit", "committed"]


def trip(statement: str, place: str) -> Trip:
    return Trip(statement=statement, place=place)  # type: ignore[arg-type]


@pytest.mark.parametrize("place", AROUND)
def test_a_worker_killed_around_an_alert_gives_it_once(crew: Crew, ledger: Ledger, place: str) -> None:
    job_id = ledger.job("watch", consecutive_failures=3, last_status="error")
    trouble = alerts.Trouble(job_id=job_id, user_id=OWNER, kind="failing", count=3, run_id=None)
    ledger.write(lambda tx: alerts.note_trouble(tx, trouble))
    crew.start(trip=trip("update alert set", place), wait=False).wait_ended()
    assert len(ledger.messages()) == (place == "committed")
    crew.start()
    ledger.until(lambda: ledger.count(t.alert, t.alert.c.state == "given") == 1, "the alert was given")
    assert [(m.kind, m.text[:23]) for m in ledger.messages()] == [("note", 'The automation "watch" ')]
    assert ledger.count(t.alert) == len(ledger.outbounds()) == 1


def beating(ledger: Ledger) -> None:
    """Give the agent a checklist, and its user a conversation."""
    ledger.session()
    heartbeat = {"minutes": 30, "checklist": "- Is the greenhouse warm?"}
    ledger.write(lambda tx: tx.run(sa.update(t.agent).values(heartbeat=heartbeat)))


def own_jobs(ledger: Ledger) -> list[Any]:
    found = sa.select(t.job.c.id, t.job.c.next_run_at).where(t.job.c.kind == "system")
    return list(ledger.write(lambda tx: tx.rows(found)))


@pytest.mark.parametrize("place", AROUND)
def test_a_worker_killed_while_it_plans_a_heartbeat_leaves_one(crew: Crew, ledger: Ledger, place: str) -> None:
    beating(ledger)
    crew.start(trip=trip("insert into job", place), wait=False).wait_ended()
    assert len(own_jobs(ledger)) == (place == "committed")
    crew.start()
    ledger.until(lambda: own_jobs(ledger), "the heartbeat is planned")
    assert ledger.count(t.job, t.job.c.dedupe_key == f"{CHECKLIST}main") == 1


BEATS = {
    "before the tick's commit": ("insert into inbound", "commit"),
    "after the tick's commit": ("insert into inbound", "committed"),
    "after open": ("insert into turn", "committed"),
    "before close": ("update turn set .*closed_at", "commit"),
    "after close": ("update turn set .*closed_at", "committed"),
}


@pytest.mark.parametrize("place", BEATS)
def test_a_worker_killed_at_a_beat_leaves_one_run_and_asks_the_model_once(
    crew: Crew, ledger: Ledger, stub: StubModelServer, place: str
) -> None:
    stub.otherwise("HEARTBEAT_OK")
    beating(ledger)
    planner = crew.start()
    ledger.until(lambda: own_jobs(ledger), "the heartbeat is planned")
    planner.kill()
    ledger.write(lambda tx: tx.run(sa.update(t.job).values(next_run_at=tx.now())))
    crew.start(trip=trip(*BEATS[place]), claim_seconds=CLAIM_SECONDS, wait=False).wait_ended()
    end_claims(ledger)
    crew.start(claim_seconds=CLAIM_SECONDS)
    ledger.until(lambda: ledger.count(t.run, t.run.c.finished_at.is_not(None)) == 1, "it beat")
    assert ledger.write(lambda tx: tx.rows(sa.select(t.run.c.state, t.run.c.trigger))) == [("ok", "timer")]
    assert ledger.count(t.turn) == len(stub.requests) == 1
    assert not [m for m in ledger.messages() if "greenhouse" in m.text]


def write(ledger: Ledger, text: str) -> int:
    """Let the user have written something; give its number."""
    session = ledger.session()

    def work(tx: Tx) -> int:
        sessions.lock(tx, [session.id])
        said = NewMessage(session_id=session.id, lane_id=session.id, role="user", kind="chat", text=text)
        sessions.append_messages(tx, [said])
        return tx.rows(sa.select(sa.func.max(t.message.c.n)))[0][0]

    return ledger.write(work)


NIGHTS = {
    "before the tick's commit": ("insert into inbound", "commit"),
    "after the tick's commit": ("insert into inbound", "committed"),
    "before the change's commit": ("insert into dream", "commit"),
    "after the change's commit": ("insert into dream", "committed"),
    "before close": ("update turn set .*closed_at", "commit"),
    "after close": ("update turn set .*closed_at", "committed"),
}


@pytest.mark.parametrize("place", NIGHTS)
def test_a_worker_killed_at_night_changes_the_memories_once(
    crew: Crew, ledger: Ledger, stub: StubModelServer, place: str
) -> None:
    n = write(ledger, "I keep bees.")
    change = {"add": [{"text": "The user keeps bees.", "from": [n]}]}
    stub.when("Call update_memories once", tool_call(TOOL, change), "Done.")
    settings = load({"HOMING_HOME": str(crew.folder), "HOMING_DREAM": "on"})
    assert ledger.write(lambda tx: give_dream(tx, OWNER, settings))
    ledger.write(lambda tx: tx.run(sa.update(t.job).values(next_run_at=tx.now())))
    crew.start(trip=trip(*NIGHTS[place]), claim_seconds=CLAIM_SECONDS, dream="on", wait=False).wait_ended()
    for (run_id,) in ledger.write(lambda tx: tx.rows(sa.select(t.run.c.id))):
        end_claims(ledger, f"cron:{run_id}")
    crew.start(claim_seconds=CLAIM_SECONDS, dream="on")
    ledger.until(lambda: ledger.count(t.run, t.run.c.finished_at.is_not(None)) == 1, "the night is over")
    assert ledger.write(lambda tx: tx.rows(sa.select(t.run.c.state))) == [("ok",)]
    facts = ledger.write(lambda tx: tx.rows(sa.select(t.memory.c.text)))
    assert facts == [("The user keeps bees.",)]
    assert ledger.count(t.dream) == 1
    assert [m.text for m in ledger.messages(CHAT)] == ["I keep bees.", "1 noted."]
