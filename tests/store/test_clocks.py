"""Claims and due instants live by the store's clock: PostgreSQL's own, for SQLite the process's."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from homing.engine.lane import Lanes, work_lane
from homing.engine.opening import Opened, open_lanes
from homing.engine.scheduler import tick, wake_paused
from homing.engine.turn_result import TurnResult
from homing.model.clock import SystemClock
from homing.operations.context import Instance
from homing.store import Store, Tx, deliveries, maintenance, picking, turns
from homing.store import tables as t
from homing.testing import FakeClock
from store.scenes import add_job, add_session, claim, do, open_lane, owe, person_says, rows

OFF = timedelta(seconds=30)

on_postgresql = pytest.mark.parametrize("database", ["postgresql"], indirect=True)
on_sqlite = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


@pytest.fixture
def off(database: str) -> Iterator[dict[str, Store]]:
    """Three workers on one server; the clocks of two are half a minute off."""
    now = datetime.now(UTC)
    made = {
        name: Store(database, clock, fsync=False)
        for name, clock in {
            "right": SystemClock(),
            "ahead": FakeClock(now + OFF),
            "behind": FakeClock(now - OFF),
        }.items()
    }
    yield made
    for store in made.values():
        store.engine.dispose()


@on_postgresql
@pytest.mark.parametrize("owner", ["right", "ahead", "behind"])
def test_a_worker_with_a_wrong_clock_claims_as_long_as_any_other(
    off: dict[str, Store], instance: Instance, owner: str
) -> None:
    def begin(tx: Tx) -> tuple[Opened, datetime]:
        session = add_session(tx)
        person_says(tx, session, "hello")
        return open_lane(tx, session.id, instance, claim(owner, seconds=10)), tx.now()

    opened, now = off[owner].write_now(begin)
    assert opened.turn.claimed_until is not None
    assert abs(opened.turn.claimed_until - now - timedelta(seconds=10)) < timedelta(seconds=1)
    for name, other in off.items():
        [found] = do(other, open_lanes, [(opened.turn.lane_id, claim(f"{name} heir"))], instance)
        assert found == "held"
        assert do(other, picking.stale_lanes, 10) == []

    def renew(tx: Tx) -> timedelta:
        [turn] = turns.renew(tx, owner, [opened.turn.id], tx.now() + timedelta(seconds=10))
        assert turn.claimed_until is not None
        return turn.claimed_until - tx.now()

    assert off[owner].write_now(renew) == timedelta(seconds=10)
    assert do(off[owner], turns.hand_back, opened.turn.id, opened.turn.fence)
    for other in off.values():
        # It has run out for all of them at once.
        assert do(other, picking.stale_lanes, 10) == [(opened.turn.lane_id, "people")]


@on_postgresql
def test_nothing_fires_early_or_late_because_a_scheduler_errs(off: dict[str, Store], instance: Instance) -> None:
    def furnish(tx: Tx) -> None:
        session = add_session(tx)
        add_job(tx, session, "later", next_run_at=tx.now() + timedelta(seconds=20))
        asleep = {"enabled": False, "disabled_by": "person", "next_run_at": None}
        add_job(tx, session, "asleep", **asleep, disabled_until=tx.now() + timedelta(seconds=20))

    off["right"].write_now(furnish)
    for store in off.values():
        assert do(store, tick, instance) == 0
        assert do(store, wake_paused) == 0
    session = do(off["right"], lambda tx: add_session(tx, "web:b"))
    do(off["right"], add_job, session, "now")
    assert do(off["behind"], tick, instance) == 1
    [run] = rows(off["right"], t.run)
    assert run.lateness_ms < 10_000


@on_postgresql
def test_deliveries_and_kept_answers_go_by_the_servers_clock(off: dict[str, Store]) -> None:
    def furnish(tx: Tx) -> None:
        session = add_session(tx)
        owe(tx, session, "x", ["webhook:wh_1"])
        maintenance.beat(tx, "worker", name="w", schedules=True, next_wake_at=None)

    off["ahead"].write_now(furnish)
    [delivery] = do(off["behind"], deliveries.take_deliveries, 5)
    assert do(off["ahead"], deliveries.take_deliveries, 5) == []
    assert do(off["ahead"], deliveries.get, delivery.id) == delivery
    for store in off.values():
        assert len(do(store, maintenance.workers, timedelta(seconds=20))) == 1


@on_postgresql
async def test_workers_with_wrong_clocks_take_no_living_turn_from_each_other(
    off: dict[str, Store], instance: Instance
) -> None:
    def furnish(tx: Tx) -> list[int]:
        made = [add_session(tx, f"web:{n}") for n in range(10)]
        for n in range(4):
            for session in made:
                person_says(tx, session, str(n))
        return [session.id for session in made]

    lane_ids = off["right"].write_now(furnish)

    async def think(_: Opened, __: object) -> TurnResult:
        await asyncio.sleep(0.01)
        return TurnResult(outcome="answered", text="yes")

    async def drive(store: Store, name: str) -> None:
        room = Lanes(store=store, instance=instance, think=think)
        while (await store.read(picking.glance)).people:
            await asyncio.gather(
                *(work_lane(room, lane_id, claim(name, seconds=5, clock=store.clock)) for lane_id in lane_ids)
            )

    await asyncio.gather(*(drive(store, name) for name, store in off.items()))
    turns = rows(off["right"], t.turn)
    assert len(turns) == 40
    assert {(turn.fence, turn.attempts, turn.outcome) for turn in turns} == {(1, 1, "answered")}
    for store in off.values():
        await store.close()


@on_sqlite
def test_on_sqlite_a_claim_runs_out_by_the_clock_of_its_one_process(database: str, instance: Instance) -> None:
    clock = FakeClock(datetime(2026, 11, 16, 8, tzinfo=UTC))
    store = Store(database, clock, fsync=False)

    def begin(tx: Tx) -> int:
        session = add_session(tx)
        person_says(tx, session, "hello")
        return open_lane(tx, session.id, instance, claim("first", seconds=10, clock=clock)).turn.lane_id

    lane_id = store.write_now(begin)
    clock.advance(9.9)
    assert do(store, open_lanes, [(lane_id, claim("heir"))], instance) == ["held"]
    clock.advance(0.2)
    assert do(store, open_lane, lane_id, instance, claim("heir")).taken_up
    store.engine.dispose()


def test_a_workers_own_cutoff_ignores_a_jump_of_the_wall_clock() -> None:
    clock = FakeClock(datetime(2026, 11, 16, 8, tzinfo=UTC))
    mine = claim(seconds=10, clock=clock)
    clock.jump(timedelta(hours=1))
    assert mine.alive()
    clock.advance(9.9)
    assert mine.alive()
    clock.advance(0.2)
    assert not mine.alive()
