"""Whatever write was the last one of a worker that asks, or answers: the message is sent once, and answered once."""

import asyncio
from typing import Any, Literal

import pytest
import sqlalchemy as sa

from behaviour.agents.company import Company, sends
from homing.engine.lane import work_lane
from homing.store import Store, Tx
from homing.store import tables as t
from support.mortal import MortalStore

Place = Literal["before", "after"]


async def live_and_die(company: Company, store: MortalStore, key: str) -> bool:
    """Work a turn with a store that may die; say whether it did."""
    task = asyncio.create_task(work_lane(company.lanes(store=store), company.lane_id(key), company.claim()))
    death = asyncio.create_task(store.died.wait())
    async with asyncio.timeout(60):
        await asyncio.wait({task, death}, return_when=asyncio.FIRST_COMPLETED)
    died = store.died.is_set()
    for one in (task, death):
        one.cancel()
    await asyncio.gather(task, death, return_exceptions=True)
    await store.close()
    return died


async def work_through(company: Company, key: str, store: MortalStore) -> bool:
    """Work a lane with a worker that dies, and then with one that takes over."""
    died = await live_and_die(company, store, key)
    if died and company.ledger.turns(key) and company.ledger.turns(key)[-1].state != "closed":
        company.expire(key)
    if died:
        await company.work(key)
    return died


def clear(tx: Tx) -> None:
    """Let nothing that was sent before count for the minute."""
    hour = 3_600_000_000
    tx.run(sa.update(t.inbound).values(queued_at=sa.type_coerce(t.inbound.c.queued_at, sa.BigInteger) - hour))
    tx.run(sa.update(t.turn).values(opened_at=sa.type_coerce(t.turn.c.opened_at, sa.BigInteger) - hour))


@pytest.mark.parametrize("place", ["before", "after"])
@pytest.mark.parametrize("dies", ["asking", "answering"])
async def test_the_question_and_its_answer_are_sent_once_through_the_death_of_a_worker_at_any_write(
    database: str, company: Company, dies: str, place: Place
) -> None:
    company.grant()
    company.model.when("Ask", sends("research", "How red are apples?"), "I asked.")
    company.model.when("Your answer goes back", "Very red.")
    company.model.otherwise("Good.")
    nth, died = 0, True
    while died:
        nth += 1
        company.ledger.write(clear)
        key = f"web:death-{nth}"
        company.ledger.say("Ask", key)
        mortal = MortalStore(database, nth=nth, place=place)
        if dies == "asking":
            died = await work_through(company, key, mortal)
        else:
            await company.work(key)
            died = await work_through(company, "agent:research", mortal)
        await company.work_all()
        assert company.ledger.texts(key) == ["Ask", "I asked.", "Very red.", "Good."], nth
        assert len(company.asked()) == 2 * nth
        assert len(company.ledger.turns("agent:research")) == nth
    assert nth > 2


async def test_a_worker_that_lost_its_turn_sends_nothing(company: Company, room_store: Store) -> None:
    """Two workers on one call: the one whose claim ran out while the model spoke writes neither message nor step."""
    company.grant()
    company.model.when("Ask", sends("research", "How red are apples?"), "I asked.", hold="gate")
    company.model.otherwise("Good.")
    company.ledger.say("Ask")
    first = asyncio.create_task(company.work())
    async with asyncio.timeout(60):
        await company.model.wait_for_calls(1)
    company.expire()
    second = asyncio.create_task(company.work())
    async with asyncio.timeout(60):
        await company.model.wait_for_calls(2)
    company.model.release("gate")
    await asyncio.gather(first, second, return_exceptions=True)
    asked: list[Any] = company.asked()
    assert len(asked) == 1
    assert company.ledger.texts() == ["Ask", "I asked."]
