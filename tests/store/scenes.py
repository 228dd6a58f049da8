"""Rows to begin from, and ways to let several takers loose on them at once."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Concatenate, ParamSpec, TypeVar

import sqlalchemy as sa
from sqlalchemy import event

from homing.engine.claims import Claim
from homing.engine.closing import Ended, close_turns
from homing.engine.closing_turn import ClosingRequest
from homing.engine.opening import Opened, open_lanes
from homing.engine.turn_result import TurnResult
from homing.model.clock import Clock, SystemClock
from homing.model.job_fields import DEFAULTS
from homing.model.jobs import Job, due_at
from homing.model.messages import NewMessage
from homing.model.people import Caller
from homing.model.sessions import Session
from homing.operations.context import Context, Instance
from homing.operations.firing import Firing, fire
from homing.store import Store, Tx, deliveries, inbounds, jobs, sessions
from homing.store.deliveries import Cause
from homing.store.inbounds import NewInbound

T = TypeVar("T")
P = ParamSpec("P")

TAKERS = 8
OWNER = "default"


def do(store: Store, verb: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run one verb in a transaction of its own, in this thread."""
    return store.write_now(lambda tx: verb(tx, *args, **kwargs))


def add_session(tx: Tx, key: str = "web:a", **values: Any) -> Session:
    plain: dict[str, Any] = {"key": key, "user_id": OWNER, "agent_id": "main"}
    session = sessions.add(tx, **plain | values)
    assert session is not None
    return session


def add_job(tx: Tx, session: Session, name: str = "fruit", **values: Any) -> Job:
    """Add a job that is due now and every minute, unless told otherwise."""
    now = tx.now()
    plain = DEFAULTS | {
        "id": f"job_{name}", "session_id": session.id, "user_id": session.user_id, "agent_id": session.agent_id,
        "kind": "user", "name": name, "schedule_kind": "every", "every_ms": 60_000, "anchor": now, "tz": "UTC",
        "message": f"do {name}", "origin_door": "api", "next_run_at": now,
    }  # fmt: skip
    return jobs.insert(tx, plain | values)


def run_now(tx: Tx, job_id: str, *, unified: bool = False, shift: timedelta = timedelta()) -> str | None:
    """Ask for a run by hand; None while one of that job is queued or running."""
    jobs.lock(tx, [job_id])
    job = jobs.get(tx, job_id)
    assert job is not None
    due = due_at(job, job.next_run_at or job.created_at)
    firing = Firing(job=due, trigger="manual", scheduled_for=tx.now() + shift, next_run_at=job.next_run_at)
    return next(iter(fire(tx, [firing], unified=unified).run_ids), None)


def ctx(tx: Tx, instance: Instance, user_id: str = OWNER) -> Context:
    return Context(tx=tx, caller=Caller(user_id=user_id, role="admin", door="api"), instance=instance)


def person_says(tx: Tx, session: Session, text: str, *, lane_id: int | None = None, mode: str = "queue") -> str:
    """Put a person's message into the lane, as the desk does."""
    lane_id = lane_id or session.id
    sessions.lock(tx, {session.id, lane_id})
    [inbound_id] = inbounds.take_in(
        tx,
        [
            NewInbound(
                session_id=session.id, lane_id=lane_id, user_id=session.user_id, source="person", text=text,
                line="people", mode=mode, address=session.key,
            )
        ],
    )  # fmt: skip
    return inbound_id


def say(tx: Tx, session: Session, text: str, **values: Any) -> int:
    """Write one message into a session; return its seq."""
    sessions.lock(tx, [session.id])
    return sessions.append_messages(tx, [_message(session, text, values)])[0][0]


def owe(tx: Tx, session: Session, text: str, addresses: Sequence[str], *, cause: Cause = "note", **values: Any) -> int:
    """Write one message that is owed to these addresses; return its seq."""
    sessions.lock(tx, [session.id])
    return deliveries.post(tx, [_message(session, text, values)], cause=cause, only=addresses)[0][0]


def _message(session: Session, text: str, values: dict[str, Any]) -> NewMessage:
    plain = {"session_id": session.id, "lane_id": session.id, "role": "assistant", "kind": "note", "text": text}
    return NewMessage(**plain | values)


def claim(worker_id: str = "worker_a", seconds: float | None = 30.0, clock: Clock | None = None) -> Claim:
    """A worker's claim; with 0 seconds it has run out as soon as it is written."""
    return Claim(worker_id=worker_id, clock=clock or SystemClock(), seconds=seconds)


def open_lane(tx: Tx, lane_id: int, instance: Instance, by: Claim | None = None) -> Opened:
    [found] = open_lanes(tx, [(lane_id, by or claim())], instance)
    assert isinstance(found, Opened), found
    return found


def ending(opened: Opened, text: str = "done", **values: Any) -> ClosingRequest:
    plain: dict[str, Any] = {"outcome": "answered", "text": text, "history": "[]"}
    thought = TurnResult(**plain | values)
    return ClosingRequest(opened=opened, fence=opened.turn.fence, result=thought)


def close_turn(tx: Tx, opened: Opened, instance: Instance, text: str = "done", **values: Any) -> Ended:
    [ended] = close_turns(tx, [ending(opened, text, **values)], instance)
    return ended


def rows(store: Store, table: sa.Table, *where: sa.ColumnElement[bool]) -> list[Any]:
    order = table.c.n if "n" in table.c else table.primary_key.columns.values()[0]
    return store.write_now(lambda tx: tx.rows(sa.select(table).where(*where).order_by(order)))


def count(store: Store, text: str) -> int:
    """Count by SQL of the test's own, so that an invariant is not checked with the verb it is about."""
    return store.write_now(lambda tx: int(tx.rows(sa.text(f"select count(*) from {text}"))[0][0]))


@contextmanager
def many_stores(url: str, number: int = TAKERS, clock: Clock | None = None) -> Iterator[list[Store]]:
    """Stores as so many processes would have them: each with connections of its own."""
    made = [Store(url, clock or SystemClock(), fsync=False) for _ in range(number)]
    try:
        yield made
    finally:
        for store in made:
            store.engine.dispose()


def race(stores: list[Store], work: Callable[[Store, int], T]) -> list[T]:
    """Let every store's taker start at the same moment; give what each brought home."""
    gate = threading.Barrier(len(stores))

    def run(number: int) -> T:
        gate.wait(60)
        return work(stores[number], number)

    with ThreadPoolExecutor(len(stores)) as pool:
        return [future.result() for future in [pool.submit(run, number) for number in range(len(stores))]]


@dataclass
class Trouble:
    """What the databases refused while somebody watched."""

    deadlocks: int = 0
    refused: int = 0


@contextmanager
def watched(stores: list[Store]) -> Iterator[Trouble]:
    """Count refusals of the lock manager and of indexes, also those that the store hides by trying again."""
    trouble = Trouble()

    def note(context: Any) -> None:
        if getattr(context.original_exception, "sqlstate", None) == "40P01":
            trouble.deadlocks += 1
        elif "IntegrityError" in type(context.sqlalchemy_exception).__name__:
            trouble.refused += 1

    for store in stores:
        event.listen(store.engine, "handle_error", note)
    yield trouble
    for store in stores:
        event.remove(store.engine, "handle_error", note)
