"""No commit order hides a revision: a follower sees each message once, and the newest state of all else."""

import asyncio
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from homing.engine.opening import Opened, open_lanes
from homing.engine.scheduler import tick
from homing.model.messages import NewMessage
from homing.model.sessions import Session
from homing.operations.context import Instance
from homing.store import Store, Tx, deliveries, jobs, sessions
from store.followers import Follower, newest
from store.scenes import add_job, add_session, claim, close_turn, do, many_stores, race, run_now, say, watched


def several(tx: Tx, session: Session, number: int) -> None:
    """One revision with several messages, each owed to an address outside."""
    sessions.lock(tx, [session.id])
    told = [
        NewMessage(session_id=session.id, lane_id=session.id, role="assistant", kind="note", text=str(n))
        for n in range(number)
    ]
    deliveries.post(tx, told, only=[f"webhook:wh_{n}" for n in range(3)])


def carry(tx: Tx, session: Session, *, sent: bool) -> None:
    for delivery in deliveries.take_deliveries(tx, 3):
        sessions.lock(tx, [session.id])
        rev = sessions.touch(tx, session.id)
        if sent:
            deliveries.finish_part(tx, delivery, rev=rev)
        else:
            deliveries.fail_attempt(tx, delivery, rev=rev, error="no")


def toggle(tx: Tx, job_id: str) -> None:
    jobs.lock(tx, [job_id])
    job = jobs.get(tx, job_id)
    assert job is not None
    sessions.lock(tx, [job.session_id])
    rev = sessions.touch(tx, job.session_id)
    values = {"enabled": not job.enabled, "disabled_by": "person" if job.enabled else None, "next_run_at": None}
    jobs.change(tx, job, {**values, "rev": rev})


def test_a_reader_beside_eight_writers_misses_nothing(database: str, instance: Instance) -> None:
    with many_stores(database) as stores, watched(stores) as trouble:

        def furnish(tx: Tx) -> tuple[Session, list[str]]:
            session = add_session(tx)
            return session, [add_job(tx, session, str(n), next_run_at=None).id for n in range(4)]

        session, job_ids = stores[0].write_now(furnish)
        followers = [Follower(session.id, limit=limit) for limit in (2, 3, 100)]
        writing = threading.Event()
        writing.set()

        def write(store: Store, number: int) -> None:
            dice = random.Random(number)
            for _ in range(25):
                match dice.randrange(6):
                    case 0:
                        do(store, several, session, dice.randrange(1, 6))
                    case 1:
                        do(store, carry, session, sent=dice.random() < 0.7)
                    case 2:
                        do(store, toggle, dice.choice(job_ids))
                    case 3:
                        do(store, run_now, dice.choice(job_ids))
                    case 4:
                        [found] = do(store, open_lanes, [(session.id, claim(f"worker_{number}"))], instance)
                        if isinstance(found, Opened):
                            do(store, close_turn, found, instance)
                    case _:
                        do(store, say, session, "hello")

        def work(store: Store, number: int) -> None:
            if number > 0:
                write(store, number)
                return
            while writing.is_set():
                for follower in followers:
                    asyncio.run(follower.follow(store))

        with ThreadPoolExecutor(1) as pool:
            reader = pool.submit(work, stores[0], 0)
            try:
                race(stores[1:], lambda store, number: work(store, number + 1))
            finally:
                writing.clear()
            reader.result()
        assert trouble.deadlocks == trouble.refused == 0
        final = do(stores[0], sessions.get, session.id)
        expected = do(stores[0], newest, session.id)
        for follower in followers:
            asyncio.run(follower.follow(stores[0]))
            assert follower.seqs == list(range(1, final.seq + 1))
            assert follower.rev == final.rev
            assert follower.states == {key: state for key, state in expected.items() if key in follower.states}
            # A row that never changed under a revision (as these jobs were furnished) need not be shown.
            assert {key for key in expected if key[0] != "job"} <= set(follower.states)


def test_a_revision_is_shown_only_with_all_that_came_before_it(database: str) -> None:
    """The first writer commits last: until then nobody may see the second's revision."""
    with many_stores(database, 3) as (first, second, reader):
        session = first.write_now(add_session)
        said, may_commit = threading.Event(), threading.Event()

        def slow(tx: Tx) -> int:
            seq = say(tx, session, "first")
            said.set()
            assert may_commit.wait(30)
            return seq

        follower = Follower(session.id)
        with ThreadPoolExecutor(2) as pool:
            one = pool.submit(first.write_now, slow)
            assert said.wait(30)
            two = pool.submit(do, second, say, session, "second")
            asyncio.run(follower.follow(reader))
            assert follower.seqs == []
            may_commit.set()
            assert (one.result(), two.result()) == (1, 2)
        asyncio.run(follower.follow(reader))
        assert follower.seqs == [1, 2]


def test_a_job_that_waits_for_its_retry_is_shown_too(store: Store, instance: Instance) -> None:
    """A tick that only moves a retry on changes the job visibly, and must not take its revision away."""

    def furnish(tx: Tx) -> Session:
        session = add_session(tx)
        now = tx.now()
        job = add_job(
            tx, session, schedule_kind="at", every_ms=None, anchor=None, at=now - timedelta(minutes=2), retry=1,
            retry_of=now - timedelta(minutes=2), rev=1,
        )  # fmt: skip
        assert run_now(tx, job.id)
        return session

    session = store.write_now(furnish)
    follower = Follower(session.id)
    follower.catch_up(store)
    assert do(store, tick, instance) == 1
    follower.catch_up(store)
    assert follower.states == do(store, newest, session.id)
