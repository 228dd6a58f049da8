"""One transaction, one plain function: whole or not at all, with its bells after the commit."""

import asyncio
import contextlib
import sqlite3
import threading
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa
from sqlalchemy import event, exc
from sqlalchemy.dialects import postgresql

from homing.model.clock import SystemClock
from homing.model.errors import Invalid, NotReady
from homing.operations.context import Instance
from homing.store import LookAgain, Store, Tx, jobs, sessions, turns
from homing.store import tables as t
from homing.store.base import read_url
from homing.testing import FakeClock
from store.scenes import add_job, add_session, claim, count, do, many_stores, open_lane, person_says, say, watched

on_postgresql = pytest.mark.parametrize("database", ["postgresql"], indirect=True)
on_sqlite = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


async def test_a_transaction_that_fails_leaves_nothing_and_rings_nothing(store: Store) -> None:
    ear = store.bell.listen("jobs")

    def work(tx: Tx) -> None:
        add_job(tx, add_session(tx))
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await store.write(work)
    assert count(store, "session") == count(store, "job") == 0
    assert await ear.wait(0) == set()


async def test_bells_ring_after_the_commit(store: Store) -> None:
    ear = store.bell.listen("jobs", "lanes")
    seen: list[int] = []

    def work(tx: Tx) -> None:
        session = add_session(tx)
        add_job(tx, session)
        person_says(tx, session, "hello")

    await store.write(work)
    rung = await ear.wait(5)
    seen.append(count(store, "job"))
    assert rung == {"jobs", "lanes"}
    assert seen == [1]


async def test_a_cancelled_task_does_not_tear_its_transaction(store: Store) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def work(tx: Tx) -> None:
        session = add_session(tx)
        begun.set()
        assert go_on.wait(30)
        say(tx, session, "hello")

    ear = store.bell.listen("session:")
    task = asyncio.create_task(store.write(work))
    await asyncio.to_thread(begun.wait, 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go_on.set()
    # Its bell rings all the same, once it is written.
    assert await ear.wait(30)
    assert count(store, "message") == 1


async def test_a_look_sees_one_state_however_long_it_takes(store: Store) -> None:
    session = store.write_now(add_session)
    looked, written = threading.Event(), threading.Event()

    def look(tx: Tx) -> tuple[int, int]:
        first = sessions.get(tx, session.id).seq
        looked.set()
        assert written.wait(30)
        return first, sessions.get(tx, session.id).seq

    reading = asyncio.create_task(store.read(look))
    await asyncio.to_thread(looked.wait, 30)
    await store.write(lambda tx: say(tx, session, "hello"))
    written.set()
    assert await reading == (0, 0)


async def test_a_look_cannot_write_for_good(store: Store) -> None:
    with contextlib.suppress(exc.DBAPIError, NotReady):  # PostgreSQL says so at once
        await store.read(add_session)
    assert count(store, "session") == 0


@on_postgresql
async def test_a_deadlock_means_look_again(database: str) -> None:
    """Two who lock two sessions in opposite orders on purpose: one is refused, and then both have written."""
    with many_stores(database, 2) as stores, watched(stores) as trouble:
        ids = do(stores[0], lambda tx: [add_session(tx, f"web:{n}").id for n in range(2)])
        met = threading.Barrier(2)
        tries: list[int] = []

        def work(tx: Tx, order: list[int]) -> None:
            tries.append(1)
            sessions.lock(tx, order[:1])
            if len(tries) <= 2:
                met.wait(30)
            sessions.lock(tx, order[1:])
            sessions.bump_rev(tx, dict.fromkeys(order, 0))

        await asyncio.gather(stores[0].write(lambda tx: work(tx, ids)), stores[1].write(lambda tx: work(tx, ids[::-1])))
        assert trouble.deadlocks == 1
        assert len(tries) == 3
        assert [do(stores[0], sessions.get, i).rev for i in ids] == [3, 3]
        for store in stores:
            await store.close()


@on_postgresql
def test_locks_leave_references_alone_and_are_taken_in_order(store: Store, instance: Instance) -> None:
    """`for no key update`: whoever adds a row that refers to a session or job need not wait for who works on it."""
    said: list[str] = []

    def note(_c: object, _cur: object, statement: str, *_: object) -> None:
        said.append(" ".join(statement.split()))

    def work(tx: Tx) -> None:
        session = add_session(tx)
        add_job(tx, session)
        person_says(tx, session, "hello")
        opened = open_lane(tx, session.id, instance, claim(seconds=0))
        event.listen(store.engine, "before_cursor_execute", note)
        sessions.lock(tx, [session.id])
        jobs.lock(tx, ["job_fruit"])
        jobs.take_due(tx, tx.now(), 5)
        jobs.take_waking(tx, tx.now(), 5)
        turns.hold(tx, opened.turn.id, 1)
        turns.renew(tx, "worker_a", [opened.turn.id], tx.now())
        turns.hold_many(tx, {opened.turn.id: 1})
        turns.take_over(tx, session.id, "worker_b", tx.now())
        event.remove(store.engine, "before_cursor_execute", note)

    store.write_now(work)
    locks = [statement for statement in said if " FOR " in statement]
    endings = [statement[statement.index(" FOR ") + 1 :] for statement in locks]
    assert endings == [
        "FOR NO KEY UPDATE",
        "FOR NO KEY UPDATE",
        "FOR NO KEY UPDATE SKIP LOCKED",
        "FOR NO KEY UPDATE OF job SKIP LOCKED",
        "FOR NO KEY UPDATE",
        "FOR NO KEY UPDATE",
        "FOR UPDATE",
        "FOR UPDATE",
    ]
    assert "ORDER BY session.id" in locks[0]
    assert "ORDER BY job.n" in locks[1]
    assert "ORDER BY turn.id" in locks[5]
    assert "ORDER BY turn.id" in locks[6]


def test_one_text_serves_both_databases() -> None:
    """What compiles away on SQLite must not change what is asked."""
    statement = sa.select(t.session.c.id).with_for_update(key_share=True)
    assert str(statement.compile(dialect=postgresql.dialect())).endswith("FOR NO KEY UPDATE")


@on_sqlite
def test_another_process_may_write_beside_the_one_writer(database: str) -> None:
    """A command at the shell holds the file for a moment: the writer waits for it and is not refused."""
    store = Store(database, SystemClock(), fsync=False)
    session = store.write_now(add_session)
    other = sqlite3.connect(database.removeprefix("sqlite:///"), isolation_level=None, check_same_thread=False)
    other.execute("begin immediate")
    other.execute("update session set title = 'renamed'")
    writer = threading.Thread(target=lambda: do(store, say, session, "hello"))
    writer.start()
    # Readers see what was before, and wait for nobody.
    assert asyncio.run(store.read(lambda tx: sessions.get(tx, session.id).title)) is None
    assert writer.is_alive()
    other.execute("commit")
    writer.join(30)
    assert (do(store, sessions.get, session.id).title, count(store, "message")) == ("renamed", 1)
    other.close()
    store.engine.dispose()


@on_sqlite
def test_sqlite_is_kept_safe_and_fast(store: Store) -> None:
    def pragmas(tx: Tx) -> list[object]:
        names = ("journal_mode", "synchronous", "foreign_keys")
        return [tx.rows(sa.text(f"pragma {name}"))[0][0] for name in names]

    assert store.write_now(pragmas) == ["wal", 0, 1]
    durable = Store(store.url.render_as_string(), SystemClock())
    assert durable.write_now(pragmas) == ["wal", 2, 1]
    durable.engine.dispose()


async def test_a_database_that_is_away_is_not_ready_for_reading_and_writing() -> None:
    store = Store("postgresql://nobody@127.0.0.1:1/nowhere", SystemClock())
    with pytest.raises(NotReady):
        await store.read(lambda tx: tx.now())
    with pytest.raises(NotReady):
        await store.write(lambda tx: tx.now())
    await store.close()


def test_a_database_of_another_kind_is_refused_with_the_two_that_are_known() -> None:
    with pytest.raises(Invalid, match=r"sqlite:///.*postgresql://"):
        read_url("mysql://localhost/homing")


def test_instants_are_exact_to_the_microsecond_and_one_a_transaction(store: Store) -> None:
    exact = datetime(2026, 11, 16, 8, 0, 0, 123457, tzinfo=UTC)

    def work(tx: Tx) -> tuple[datetime | None, bool]:
        job = add_job(tx, add_session(tx), next_run_at=exact)
        first = tx.now()
        if isinstance(store.clock, FakeClock):
            store.clock.advance(5)
        return job.next_run_at, tx.now() is first

    assert store.write_now(work) == (exact, True)


def test_who_finds_another_world_under_its_locks_looks_again_but_not_for_ever(store: Store) -> None:
    tries: list[int] = []

    def work(tx: Tx) -> int:
        add_session(tx, f"web:{len(tries)}")
        tries.append(1)
        if len(tries) < 3:
            raise LookAgain
        return len(tries)

    assert store.write_now(work) == 3
    # What was written in vain is gone.
    assert count(store, "session") == 1

    def never(_: Tx) -> None:
        raise LookAgain

    with pytest.raises(NotReady):
        store.write_now(never)
