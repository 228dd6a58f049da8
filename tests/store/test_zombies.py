"""A worker that lost its turn writes nothing; what it wrote before is found by the one who took over."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from pydantic_ai.messages import ModelResponse, TextPart

from homing.agent.journal import ToolCall
from homing.engine.claims import Claim
from homing.engine.closing import close_turns
from homing.engine.lane import Lanes, work_lane
from homing.engine.opening import Opened, open_lanes
from homing.engine.scheduler import tick
from homing.engine.step_journal import StepJournal
from homing.engine.turn_result import TurnResult
from homing.model.errors import Lost
from homing.model.sessions import Session
from homing.operations.context import Instance
from homing.operations.job_changes import update_job
from homing.operations.removal import remove_job
from homing.operations.shapes.job_asks import JobRef, UpdateJob
from homing.settings import load
from homing.store import Store, Tx, steps, turns
from homing.store import tables as t
from homing.store.steps import Done
from store.scenes import (
    add_job,
    add_session,
    claim,
    close_turn,
    count,
    ctx,
    do,
    ending,
    many_stores,
    open_lane,
    person_says,
    rows,
    watched,
)

ANSWER = ModelResponse(parts=[TextPart("hm")])
CALL = ToolCall(key="call_1", name="tool", args={})


def keeper(store: Store, opened: Opened) -> StepJournal:
    settings = load({"HOMING_TIMEZONE": "UTC"})
    return StepJournal(
        store, opened, claim(opened.turn.worker_id or "nobody"), do(store, steps.kept, opened.turn.id), settings
    )


def begin(store: Store, instance: Instance, key: str = "web:a") -> tuple[Session, Opened]:
    """A person's turn whose worker is already overdue."""

    def work(tx: Tx) -> tuple[Session, Opened]:
        session = add_session(tx, key)
        person_says(tx, session, "hello")
        return session, open_lane(tx, session.id, instance, claim("zombie", seconds=0))

    return store.write_now(work)


async def test_a_worker_that_lost_its_turn_writes_nothing(store: Store, instance: Instance) -> None:
    session, opened = begin(store, instance)
    do(store, person_says, session, "and apples", mode="inject")
    zombie = keeper(store, opened)
    do(store, open_lane, session.id, instance, claim("heir"))
    before = {table.name: rows(store, table) for table in t.metadata.sorted_tables}

    def own_tool(tx: Tx) -> Done:
        add_job(tx, session, "from the grave")
        return Done(text="added")

    writes: list[Callable[[], Awaitable[object]]] = [
        lambda: zombie.model_done(ANSWER, name="m", duration_ms=1),
        lambda: zombie.tool_begun(CALL),
        lambda: zombie.tool_done(CALL, "done", failed=False, duration_ms=1),
        lambda: zombie.commit(CALL, own_tool),
        zombie.take_injected,
    ]
    for write in writes:
        with pytest.raises(Lost):
            await write()
    assert do(store, close_turn, opened, instance) == "lost"
    assert not do(store, turns.hand_back, opened.turn.id, opened.turn.fence)
    assert not do(store, turns.renew, "zombie", [opened.turn.id], do(store, lambda tx: tx.now()))
    assert {table.name: rows(store, table) for table in t.metadata.sorted_tables} == before


async def test_the_owner_closes_although_a_zombie_of_its_own_process_asks_beside_it(
    store: Store, instance: Instance
) -> None:
    session, opened = begin(store, instance)
    heir = do(store, open_lane, session.id, instance, claim("heir"))
    asked = [ending(heir, "mine"), ending(opened, "the zombie's")]
    assert do(store, close_turns, asked, instance) == ["closed", "lost"]
    assert [m.text for m in rows(store, t.message) if m.role == "assistant"] == ["mine"]


async def test_an_injected_message_is_the_heirs_or_still_waits(database: str, instance: Instance) -> None:
    with many_stores(database, 2) as (zombies, heirs), watched([zombies, heirs]) as trouble:
        lost = 0
        for n in range(25):
            session, opened = begin(zombies, instance, f"web:{n}")
            do(zombies, person_says, session, "and apples", mode="inject")
            zombie = keeper(zombies, opened)

            async def inject(zombie: StepJournal = zombie) -> bool:
                try:
                    return list(await zombie.take_injected()) == ["and apples"]
                except Lost:
                    return False

            wanted = [(session.id, claim("heir"))]
            injected, [found] = await asyncio.gather(
                inject(), heirs.write(lambda tx, wanted=wanted: open_lanes(tx, wanted, instance))
            )
            assert isinstance(found, Opened)
            kept = do(heirs, steps.kept, opened.turn.id)
            [inbound] = rows(heirs, t.inbound, t.inbound.c.session_id == session.id, t.inbound.c.text == "and apples")
            if injected:
                assert [(step.kind, step.key) for step in kept] == [("inject", inbound.id)]
                assert (inbound.state, inbound.injected, inbound.turn_id) == ("taken", True, opened.turn.id)
            else:
                lost += 1
                assert kept == []
                assert inbound.state == "waiting"
                # Then it is the heir's to take.
                assert list(await keeper(heirs, found).take_injected()) == ["and apples"]
        assert trouble.deadlocks == trouble.refused == 0
        await zombies.close()
        await heirs.close()


async def test_whoever_takes_over_sees_every_step_that_was_written(database: str, instance: Instance) -> None:
    """A zombie that writes as fast as it can; its last good step must be among those the heir starts from."""
    with many_stores(database, 2) as (zombies, heirs), watched([zombies, heirs]) as trouble:
        for n in range(12):
            session, opened = begin(zombies, instance, f"web:{n}")
            zombie = keeper(zombies, opened)
            written = 0

            async def scribble(zombie: StepJournal = zombie) -> int:
                done = 0
                try:
                    for _ in range(200):
                        await zombie.model_done(ANSWER, name="m", duration_ms=1)
                        done += 1
                except Lost:
                    pass
                return done

            seen: list[int] = []

            async def think(_: Opened, by: StepJournal, seen: list[int] = seen) -> TurnResult:
                seen.append(len(by.kept))
                return TurnResult(outcome="answered", text="yes")

            room = Lanes(store=heirs, instance=instance, think=think)
            written, worked = await asyncio.gather(scribble(), work_lane(room, session.id, claim("heir")))
            assert worked == "more"
            assert seen == [written]
            assert count(heirs, f"step where turn_id = '{opened.turn.id}'") == written
        assert trouble.deadlocks == trouble.refused == 0
        await zombies.close()
        await heirs.close()


async def test_tools_of_a_turn_that_was_taken_up_may_finish_at_once(store: Store, instance: Instance) -> None:
    """Each new step counts the attempts anew: eight of them at once must not wait for each other in a ring."""
    for n in range(4):
        session, _ = begin(store, instance, f"web:{n}")
        heir = keeper(store, do(store, open_lane, session.id, instance, claim("heir")))
        with watched([store]) as trouble:
            calls = [ToolCall(key=f"call_{i}", name="tool", args={}) for i in range(8)]
            await asyncio.gather(*(heir.tool_begun(call) for call in calls))
            await asyncio.gather(*(heir.tool_done(call, "ok", failed=False, duration_ms=1) for call in calls))
        assert trouble.deadlocks == 0
    assert {(turn.attempts, turn.fence) for turn in rows(store, t.turn)} == {(1, 2)}
    assert count(store, "step where state = 'done'") == 32


async def test_an_agents_own_tool_keeps_the_order_of_locks(database: str, instance: Instance) -> None:
    """The agent changes its job, a person removes it, another worker takes the turn up: all at once, and again."""
    with many_stores(database, 3) as stores, watched(stores) as trouble:
        agent, person, heirs = stores
        for n in range(12):

            def furnish(tx: Tx, n: int = n) -> tuple[Session, str, Opened]:
                session = add_session(tx, f"web:{n}")
                job = add_job(tx, session, str(n))
                tick(tx, instance)
                return session, job.id, open_lane(tx, session.id, instance, claim("zombie", seconds=0))

            session, job_id, opened = agent.write_now(furnish)

            async def change(session: Session = session, job_id: str = job_id, opened: Opened = opened) -> None:
                def work(tx: Tx) -> Done:
                    update_job(ctx(tx, instance), UpdateJob(job_id=job_id, name="renamed"))
                    return Done(text="done")

                own = keeper(agent, opened)
                for i in range(4):
                    try:
                        await own.commit(ToolCall(key=f"call_{i}", name="schedule_task", args={}), work)
                    except Exception:  # noqa: BLE001 - lost, or removed meanwhile: both are right here
                        return

            def remove(tx: Tx, job_id: str = job_id) -> None:
                remove_job(ctx(tx, instance), JobRef(job_id=job_id))

            wanted = [(session.id, claim("heir"))]
            await asyncio.gather(
                change(),
                person.write(remove),
                heirs.write(lambda tx, wanted=wanted: open_lanes(tx, wanted, instance)),
            )
        assert trouble.deadlocks == trouble.refused == 0
        for store in stores:
            await store.close()


async def test_renewing_closing_and_taking_over_many_turns_at_once_meet_in_one_order(
    database: str, instance: Instance
) -> None:
    with many_stores(database, 3) as stores, watched(stores) as trouble:
        for n in range(6):

            def furnish(tx: Tx, n: int = n) -> list[Opened]:
                opened: list[Opened] = []
                for s in range(16):
                    session = add_session(tx, f"web:{n}_{s}")
                    person_says(tx, session, "hello")
                    opened.append(open_lane(tx, session.id, instance, claim("worker", seconds=0)))
                return opened

            opened = stores[0].write_now(furnish)
            turn_ids = [one.turn.id for one in opened]
            endings = [ending(one) for one in opened[::2]]
            wanted = [(one.turn.lane_id, claim("heir")) for one in opened[::-1]]
            await asyncio.gather(
                *(
                    stores[0].write(
                        lambda tx, ids=turn_ids[::way]: turns.renew(tx, "worker", ids, tx.now() - timedelta(seconds=1))
                    )
                    for way in (1, -1, 1)
                ),
                stores[1].write(lambda tx, endings=endings: close_turns(tx, endings, instance)),
                stores[2].write(lambda tx, wanted=wanted: open_lanes(tx, wanted, instance)),
            )
        assert trouble.deadlocks == trouble.refused == 0
        for store in stores:
            await store.close()


def test_a_claim_knows_its_turn_only_once_the_opening_is_committed(store: Store, instance: Instance) -> None:
    """Else a renewal that looks too early would not find the turn, and its own worker would give it up."""

    def work(tx: Tx) -> Claim:
        session = add_session(tx)
        person_says(tx, session, "hello")
        mine = claim()
        open_lane(tx, session.id, instance, mine)
        return mine

    assert store.write_now(work).turn_id is None


def test_a_turn_that_was_handed_back_is_not_bound_again_by_a_late_renewal(store: Store, instance: Instance) -> None:
    def work(tx: Tx) -> Opened:
        session = add_session(tx)
        person_says(tx, session, "hello")
        return open_lane(tx, session.id, instance, claim("leaver", seconds=30))

    opened = store.write_now(work)
    assert do(store, turns.hand_back, opened.turn.id, opened.turn.fence)
    late = do(store, lambda tx: tx.now() + timedelta(seconds=30))
    assert do(store, turns.renew, "leaver", [opened.turn.id], late) == []
    heir = do(store, open_lane, opened.turn.lane_id, instance, claim("heir"))
    assert heir.taken_up
    assert (heir.turn.attempts, heir.turn.fence) == (1, 2)


async def test_a_turn_with_a_cancel_requested_is_closed_by_whoever_takes_it_up(
    store: Store, instance: Instance
) -> None:
    session, opened = begin(store, instance)
    do(store, turns.request_cancel, opened.turn.id, "asked")

    async def think(_: Opened, __: StepJournal) -> TurnResult:
        raise AssertionError("a cancelled turn is not run")

    room = Lanes(store=store, instance=instance, think=think)
    assert await work_lane(room, session.id, claim("heir")) == "more"
    [turn] = rows(store, t.turn)
    assert (turn.state, turn.outcome, turn.reason) == ("closed", "cancelled", "asked")
