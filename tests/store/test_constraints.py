"""Impossible states are refused by the database itself, whoever asks and however."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc

from homing.engine.scheduler import tick
from homing.operations.context import Instance
from homing.store import Store, Tx, steps
from homing.store import tables as t
from store.scenes import OWNER, add_job, add_session, claim, count, open_lane, owe, person_says, say

Attempt = Callable[[Tx, Instance], Any]


def _a_second_open_turn_in_a_lane(tx: Tx, instance: Instance) -> Any:
    session = add_session(tx)
    person_says(tx, session, "hello")
    turn = open_lane(tx, session.id, instance).turn
    return sa.insert(t.turn).values(
        id="turn_two", lane_id=session.id, session_id=session.id, user_id=OWNER, agent_id="main", source="person",
        state="running", model="m", prompt="p", opened_at=turn.opened_at,
    )  # fmt: skip


def _run(tx: Tx, run_id: str, **values: Any) -> Any:
    job = add_job(tx, add_session(tx))
    plain = {
        "id": run_id, "job_id": job.id, "session_id": job.session_id, "lane_id": job.session_id, "user_id": OWNER,
        "trigger": "timer", "scheduled_for": tx.now(), "state": "queued", "queued_at": tx.now(),
    }  # fmt: skip
    return sa.insert(t.run).values(plain | values)


def _two_active_runs_of_a_job(tx: Tx, instance: Instance) -> Any:
    job = add_job(tx, add_session(tx))
    tick(tx, instance)
    return sa.insert(t.run).values(
        id="another", job_id=job.id, session_id=job.session_id, lane_id=job.session_id, user_id=OWNER,
        trigger="manual", scheduled_for=tx.now(), state="queued", queued_at=tx.now(),
    )  # fmt: skip


def _the_same_instant_twice(tx: Tx, instance: Instance) -> Any:
    add_job(tx, add_session(tx))
    tick(tx, instance)
    [(run_id, job_id)] = tx.rows(sa.select(t.run.c.id, t.run.c.job_id))
    tx.run(sa.update(t.run).values(state="ok", finished_at=tx.now()))
    return sa.insert(t.run).values(
        id=run_id, job_id=job_id, session_id=1, lane_id=1, user_id=OWNER, trigger="timer", scheduled_for=tx.now(),
        state="queued", queued_at=tx.now(),
    )  # fmt: skip


def _inbound(tx: Tx, **values: Any) -> Any:
    session = add_session(tx)
    plain = {
        "id": "in_x", "session_id": session.id, "lane_id": session.id, "user_id": OWNER, "source": "person",
        "text": "hello", "line": "people", "mode": "queue", "state": "waiting", "queued_at": tx.now(),
    }  # fmt: skip
    return sa.insert(t.inbound).values(plain | values)


def _job(tx: Tx, **values: Any) -> Any:
    add_job(tx, add_session(tx))
    return sa.update(t.job).values(values)


def _turn(tx: Tx, instance: Instance, **values: Any) -> Any:
    session = add_session(tx)
    person_says(tx, session, "hello")
    open_lane(tx, session.id, instance)
    return sa.update(t.turn).values(values)


def _delivery(tx: Tx, **values: Any) -> Any:
    session = add_session(tx)
    owe(tx, session, "hello", ["webhook:wh_1"])
    return sa.update(t.delivery).values(values)


def _a_second_session_of_a_key(tx: Tx, _: Instance) -> Any:
    session = add_session(tx)
    return sa.insert(t.session).values(
        key=session.key, user_id=OWNER, agent_id="main", created_at=tx.now(), updated_at=tx.now()
    )


def _a_second_closing_of_a_turn(tx: Tx, instance: Instance) -> Any:
    session = add_session(tx)
    person_says(tx, session, "hello")
    turn = open_lane(tx, session.id, instance).turn
    owe(tx, session, "hello", [], cause="closing", turn_id=turn.id)
    return sa.insert(t.outbound).values(
        session_id=session.id, seq=1, cause="closing", turn_id=turn.id, created_at=tx.now()
    )


def _a_second_step_of_a_call(tx: Tx, instance: Instance) -> Any:
    session = add_session(tx)
    person_says(tx, session, "hello")
    turn = open_lane(tx, session.id, instance).turn
    steps.begin_step(tx, turn.id, 1, kind="tool", name="a", key="call", args=None)
    return sa.insert(t.step).values(
        turn_id=turn.id, n=2, kind="tool", name="a", key="call", state="begun", begun_at=tx.now()
    )


def _message(tx: Tx, **values: Any) -> Any:
    session = add_session(tx)
    say(tx, session, "hello")
    plain = {
        "session_id": session.id, "lane_id": session.id, "seq": 2, "rev": 2, "role": "user", "kind": "chat",
        "text": "x", "created_at": tx.now(),
    }  # fmt: skip
    return sa.insert(t.message).values(plain | values)


IMPOSSIBLE: dict[str, Attempt] = {
    "a second open turn in a lane": _a_second_open_turn_in_a_lane,
    "two active runs of a job": _two_active_runs_of_a_job,
    "one instant of a job as two runs": _the_same_instant_twice,
    "a run that runs without a turn": lambda tx, _: _run(tx, "r", state="running", started_at=tx.now()),
    "a run that is over without an end": lambda tx, _: _run(tx, "r", state="ok"),
    "a queued run that has ended": lambda tx, _: _run(tx, "r", finished_at=tx.now()),
    "a run in a state nobody knows": lambda tx, _: _run(tx, "r", state="asleep"),
    "a run with a trigger nobody knows": lambda tx, _: _run(tx, "r", trigger="whim"),
    "a run of no job": lambda tx, _: _run(tx, "r", job_id="job_none"),
    "a job that is due while disabled": lambda tx, _: _job(
        tx, enabled=False, disabled_by="person", next_run_at=tx.now()
    ),
    "a job that is due while removed": lambda tx, _: _job(tx, removed_at=tx.now()),
    "a job disabled by nobody": lambda tx, _: _job(tx, enabled=False, next_run_at=None),
    "an enabled job that somebody disabled": lambda tx, _: _job(tx, disabled_by="person"),
    "a job with two schedules": lambda tx, _: _job(tx, cron="0 9 * * *"),
    "a job without its schedule": lambda tx, _: _job(tx, every_ms=None),
    "an interval without an anchor": lambda tx, _: _job(tx, anchor=None),
    "an isolated reminder": lambda tx, _: _job(tx, isolated=True, payload_kind="reminder"),
    "a job in no session": lambda tx, _: _job(tx, session_id=4711),
    "a machine in the people's line": lambda tx, _: _inbound(tx, source="hook"),
    "an injected message of no person": lambda tx, _: _inbound(tx, source="hook", line="machines", injected=True),
    "something taken by no turn": lambda tx, _: _inbound(tx, state="taken"),
    "something waiting that a turn has": lambda tx, _: _inbound(tx, turn_id="turn_x"),
    "a run's inbound without its run": lambda tx, _: _inbound(tx, source="run", line="machines"),
    "a person's inbound with a run": lambda tx, _: _inbound(tx, run_id="r"),
    "a line nobody knows": lambda tx, _: _inbound(tx, line="front"),
    "a closed turn without an outcome": lambda tx, instance: _turn(tx, instance, state="closed", closed_at=tx.now()),
    "an open turn with an outcome": lambda tx, instance: _turn(tx, instance, outcome="answered"),
    "a closed turn without its instant": lambda tx, instance: _turn(tx, instance, state="closed", outcome="answered"),
    "a run's turn without its run": lambda tx, instance: _turn(tx, instance, source="run"),
    "a second closing of a turn": _a_second_closing_of_a_turn,
    "a second step of one call": _a_second_step_of_a_call,
    "a pending delivery that is never tried": lambda tx, _: _delivery(tx, next_attempt_at=None),
    "a dead delivery that is still tried": lambda tx, _: _delivery(tx, state="dead"),
    "a sent delivery without its instant": lambda tx, _: _delivery(tx, state="sent", next_attempt_at=None),
    "a second session of a living key": _a_second_session_of_a_key,
    "a second message of a number": lambda tx, _: _message(tx, seq=1),
    "a message of a third role": lambda tx, _: _message(tx, role="system"),
}


def test_impossible_states_are_refused_by_the_database_itself(store: Store, instance: Instance) -> None:
    possible: list[str] = []

    def attempt(tx: Tx) -> None:
        for what, prepare in IMPOSSIBLE.items():
            around = tx.connection.begin_nested()
            # All that comes before is possible: only the last statement may be what is refused.
            statement = prepare(tx, instance)
            try:
                with tx.connection.begin_nested():
                    tx.connection.execute(statement)
                possible.append(what)
            except exc.IntegrityError:
                pass
            around.rollback()

    store.write_now(attempt)
    assert possible == []


def test_what_is_over_may_be_there_twice(store: Store, instance: Instance) -> None:
    """The promises are about what is open: finished runs, closed turns and deleted sessions stand in nobody's way."""

    def work(tx: Tx) -> None:
        for _ in range(2):
            session = add_session(tx)
            add_job(tx, session, f"job_{session.id}", dedupe_key="same")
            tick(tx, instance)
            open_lane(tx, session.id, instance, claim())
            tx.run(sa.update(t.turn).values(state="closed", outcome="answered", closed_at=tx.now()))
            tx.run(sa.update(t.run).values(state="ok", finished_at=tx.now()))
            tx.run(sa.update(t.job).values(removed_at=tx.now(), next_run_at=None))
            tx.run(sa.update(t.session).values(deleted_at=tx.now() + timedelta(seconds=1)))

    store.write_now(work)
    assert count(store, "session") == count(store, "turn") == count(store, "run") == 2
