"""Killed with -9 anywhere between due and done: one run, one opening, one closing."""

from typing import Any

import pytest
import sqlalchemy as sa

from homing.model.runs import Run
from homing.store import Tx, run_lists
from homing.store import tables as t
from homing.testing import Reply, StubModelServer
from support.crews import Crew
from support.ledger import CHAT, Ledger
from support.tripwires import Trip

DAY_MS = 86_400_000
TASK = "look for fruit"
DONE = "There are apples."
# Long enough for a slow machine: here claims end because a test says so.
CLAIM_SECONDS = 60


def add_due(ledger: Ledger, **values: Any) -> str:
    """Add a daily job that is due now."""
    now = ledger.write(lambda tx: tx.now())
    daily: dict[str, Any] = {
        "schedule_kind": "every",
        "every_ms": DAY_MS,
        "anchor": now,
        "at": None,
        "next_run_at": now,
    }
    return ledger.job(TASK, **(daily | values))


def only_run(ledger: Ledger, job_id: str) -> Run | None:
    def work(tx: Tx) -> list[Run]:
        return run_lists.listed(tx, user_id=None, job_id=job_id, limit=9)

    found = ledger.write(work)
    assert len(found) <= 1
    return found[0] if found else None


def check_done_once(ledger: Ledger, job_id: str) -> None:
    """One run row, one opening, one closing, one next instant."""

    def is_over() -> bool:
        run = only_run(ledger, job_id)
        return run is not None and run.state not in ("queued", "running")

    ledger.until(is_over, "the run has ended")
    run = only_run(ledger, job_id)
    assert run is not None
    assert (run.state, run.reason, run.trigger) == ("ok", None, "timer")
    turn = ledger.turn()
    assert (turn.state, turn.outcome, turn.run_id) == ("closed", "answered", run.id)
    assert [(m.role, m.text, m.run_id) for m in ledger.messages()] == [
        ("user", f"Scheduled cron job triggered: {TASK}\n\n{TASK}", run.id),
        ("assistant", DONE, run.id),
    ]
    assert (run.opening_seq, run.closing_seq) == (1, 2)
    ledger.check_whole()
    assert ledger.count(t.inbound, t.inbound.c.run_id == run.id) == 1
    [(due,)] = ledger.write(lambda tx: tx.rows(sa.select(t.job.c.next_run_at).where(t.job.c.id == job_id)))
    assert (due - run.scheduled_for).total_seconds() == DAY_MS / 1000


def end_claims(ledger: Ledger, key: str = CHAT) -> None:
    """Let the dead worker's claim be over: how long that takes is another test's."""
    for turn in ledger.turns(key):
        if turn.state != "closed":
            ledger.change_turn(turn.id, claimed_until=turn.opened_at)


PLACES = {
    "before the tick's commit": Trip(statement="insert into inbound", place="commit"),
    "after the tick's commit": Trip(statement="insert into inbound", place="committed"),
    "after open": Trip(statement="insert into turn", place="committed"),
    "before close": Trip(statement="insert into outbound", place="commit"),
    "after close": Trip(statement="insert into outbound", place="committed"),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_worker_killed_at_a_commit_leaves_one_run_one_opening_and_one_closing(
    crew: Crew, ledger: Ledger, stub: StubModelServer, place: str
) -> None:
    stub.otherwise(DONE)
    job_id = add_due(ledger)
    crew.start(trip=PLACES[place], claim_seconds=CLAIM_SECONDS, wait=False).wait_ended()
    end_claims(ledger)
    crew.start(claim_seconds=CLAIM_SECONDS)
    check_done_once(ledger, job_id)
    assert len(stub.requests) == 1


def test_a_worker_killed_in_mid_turn_leaves_one_run_one_opening_and_one_closing(
    crew: Crew, ledger: Ledger, stub: StubModelServer
) -> None:
    stub.when(TASK, Reply(text="nobody hears this", hold=True), times=1)
    stub.otherwise(DONE)
    job_id = add_due(ledger)
    worker = crew.start(claim_seconds=CLAIM_SECONDS)
    stub.wait_for_requests(1)
    worker.kill()
    end_claims(ledger)
    crew.start(claim_seconds=CLAIM_SECONDS)
    check_done_once(ledger, job_id)
    # The prompt is part of the record: the second call saw what the first one saw.
    first, second = stub.requests
    # Not the instructions, which tell the time.
    assert first.messages[1:] == second.messages[1:]


@pytest.mark.parametrize("place", ["commit", "committed"])
def test_a_worker_killed_around_a_reminders_commit_shows_it_once(
    crew: Crew, ledger: Ledger, stub: StubModelServer, place: str
) -> None:
    job_id = add_due(ledger, payload_kind="reminder")
    trip = Trip(statement="insert into outbound", place=place)  # type: ignore[arg-type]
    crew.start(trip=trip, wait=False).wait_ended()
    crew.start()
    ledger.until(lambda: only_run(ledger, job_id), "it was reminded")
    run = only_run(ledger, job_id)
    assert run is not None
    assert (run.state, run.turn_id) == ("ok", None)
    assert [(m.kind, m.text, m.seq) for m in ledger.messages(CHAT)] == [("reminder", TASK, run.closing_seq)]
    assert len(ledger.outbounds()) == 1
    assert stub.requests == []


@pytest.mark.parametrize("place", ["commit", "committed"])
def test_a_worker_killed_around_an_isolated_runs_close_reports_once(
    crew: Crew, ledger: Ledger, stub: StubModelServer, place: str
) -> None:
    stub.when("came due", DONE)
    stub.when("worked apart and reports", "So there are apples.")
    job_id = add_due(ledger, isolated=True)
    trip = Trip(statement="insert into outbound", place=place)  # type: ignore[arg-type]
    crew.start(trip=trip, claim_seconds=CLAIM_SECONDS, wait=False).wait_ended()
    run = only_run(ledger, job_id)
    assert run is not None
    end_claims(ledger, f"cron:{run.id}")
    crew.start(claim_seconds=CLAIM_SECONDS)
    ledger.until_closed(1)
    assert [(m.role, m.kind, m.text) for m in ledger.messages()] == [
        ("user", "report", DONE),
        ("assistant", "report", "So there are apples."),
    ]
    assert [m.text for m in ledger.messages(f"cron:{run.id}")][1:] == [DONE]
    assert ledger.count(t.inbound, t.inbound.c.source == "report") == 1
    assert len(stub.requests) == 2


GATE_PLACES = {
    "before the tick's commit": Trip(statement="insert into gate", place="commit"),
    "after the tick's commit": Trip(statement="insert into gate", place="committed"),
    "before the claim's commit": Trip(statement="update gate set worker_id", place="commit"),
    "after the claim's commit": Trip(statement="update gate set worker_id", place="committed"),
    "before the end's commit": Trip(statement="insert into inbound", place="commit"),
    "after the end's commit": Trip(statement="insert into inbound", place="committed"),
}
_NEWS = """print('{"wakeAgent": true, "data": "pears", "state": 7}')"""


def end_gate_claims(ledger: Ledger) -> None:
    """Let the dead worker's claim of a gate be over."""
    ended = sa.update(t.gate).where(t.gate.c.claimed_until.is_not(None))
    ledger.write(lambda tx: tx.run(ended.values(claimed_until=tx.now())))


@pytest.mark.parametrize("place", GATE_PLACES)
def test_a_worker_killed_at_a_gate_leaves_one_run_one_opening_and_one_closing(
    crew: Crew, ledger: Ledger, stub: StubModelServer, place: str
) -> None:
    stub.otherwise(DONE)
    job_id = add_due(ledger, script=_NEWS, script_language="python")
    crew.start(trip=GATE_PLACES[place], claim_seconds=CLAIM_SECONDS, wait=False).wait_ended()
    end_gate_claims(ledger)
    crew.start(claim_seconds=CLAIM_SECONDS)
    check_done_once(ledger, job_id)
    assert len(stub.requests) == 1
    [(state,)] = ledger.write(lambda tx: tx.rows(sa.select(t.job.c.script_state).where(t.job.c.id == job_id)))
    assert state == 7


@pytest.mark.parametrize("place", ["commit", "committed"])
def test_a_worker_killed_around_a_no_leaves_one_row(
    crew: Crew, ledger: Ledger, stub: StubModelServer, place: str
) -> None:
    script = """print('{"wakeAgent": false, "state": 1}')"""
    job_id = add_due(ledger, script=script, script_language="python")
    trip = Trip(statement="update gate set .*ended", place=place)  # type: ignore[arg-type]
    crew.start(trip=trip, claim_seconds=CLAIM_SECONDS, wait=False).wait_ended()
    end_gate_claims(ledger)
    crew.start(claim_seconds=CLAIM_SECONDS)
    ledger.until(lambda: (run := only_run(ledger, job_id)) is not None and run.state == "skipped", "it was left out")
    assert ledger.count(t.gate) == 1
    assert ledger.count(t.inbound) == 0
    assert stub.requests == []
