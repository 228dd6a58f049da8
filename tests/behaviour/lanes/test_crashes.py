"""Whatever write was the last one, before it or after it: the turn goes on, and nobody can tell from its rows."""

import asyncio
from typing import Literal

import pytest

from homing.agent.frames import frame
from homing.agent.journal import Tool, ToolCall
from homing.engine.lane import work_lane
from homing.engine.opening import Opened
from homing.engine.step_journal import StepJournal
from homing.engine.turn_result import TurnResult
from homing.store import Store
from homing.testing import tool_call
from homing.testing.scripted import wire_messages
from support.mortal import MortalStore
from support.rooms import Room

DONE = "All done."
CALLS = [tool_call("deed", {"what": "it"}, call_id="call_1"), tool_call("look", {"what": "that"}, call_id="call_2")]


class Deeds:
    """Two tools that count; the one that may be repeated lets a person say something meanwhile, once."""

    def __init__(self, room: Room, key: str) -> None:
        self.begun: list[str] = []
        self._room = room
        self._key = key

    def tools(self) -> list[Tool]:
        plain = {"description": "", "parameters": {"type": "object"}, "run": self._run}
        return [Tool(name="deed", **plain), Tool(name="look", repeatable=True, **plain)]

    async def _run(self, call: ToolCall) -> str:
        if call.name == "look" and "look" not in self.begun:
            self._room.ledger.say("and hurry", self._key)
        self.begun.append(call.name)
        return f"{call.name} done"


async def live_and_die(room: Room, store: MortalStore, key: str) -> bool:
    """Work a turn with a store that may die; say whether it did."""
    task = asyncio.create_task(work_lane(room.lanes(store=store), room.lane_id(key), room.claim()))
    death = asyncio.create_task(store.died.wait())
    async with asyncio.timeout(20):
        await asyncio.wait({task, death}, return_when=asyncio.FIRST_COMPLETED)
    died = store.died.is_set()
    for one in (task, death):
        one.cancel()
    await asyncio.gather(task, death, return_exceptions=True)
    await store.close()
    return died


@pytest.mark.parametrize("place", ["before", "after"])
async def test_a_turn_survives_the_death_of_its_worker_at_any_write(
    database: str, room: Room, place: Literal["before", "after"]
) -> None:
    nth, died = 0, True
    while died:
        nth += 1
        key = f"web:death-{nth}"
        deeds = Deeds(room, key)
        room.tools = deeds.tools()
        room.model.seen.clear()
        room.model.when(f"do it {nth}", CALLS, times=2)
        room.model.when("and hurry", DONE)
        room.ledger.say(f"do it {nth}", key)
        died = await live_and_die(room, MortalStore(database, nth=nth, place=place), key)
        if died and room.ledger.turns(key):
            room.expire(key)
        if died:
            await room.work(key)
        check(room, deeds, key, nth)
    assert nth > 7, "a turn of so many steps has more writes than that"


def check(room: Room, deeds: Deeds, key: str, nth: int) -> None:
    turn = room.ledger.turn(key)
    assert (turn.state, turn.outcome) == ("closed", "answered")
    assert room.ledger.texts(key) == [f"do it {nth}", "and hurry", DONE]
    room.ledger.check_whole(key)
    assert deeds.begun.count("deed") <= 1
    assert deeds.begun.count("look") <= 2
    # A death costs one call at most, and the last call saw each thing once.
    assert len(room.model.seen) <= 3
    last = wire_messages(room.model.seen[-1])
    assert [message.text for message in last if message.role == "user"] == [f"do it {nth}", "and hurry"]
    assert [message.tool_call_id for message in last if message.role == "tool"] == ["call_1", "call_2"]
    told = {message.tool_call_id: message.text for message in last if message.role == "tool"}
    assert "look done" in told["call_2"]
    assert ("deed done" in told["call_1"]) != ("Outcome unknown" in told["call_1"])
    keys = [(step.kind, step.key) for step in room.ledger.steps(turn.id)]
    assert len(keys) == len(set(keys))
    assert all(step.state == "done" for step in room.ledger.steps(turn.id))


async def test_two_workers_at_one_stale_turn_one_goes_on_and_the_other_leaves_it(room: Room, database: str) -> None:
    room.ledger.say("hello")
    room.model.reply("Hello.", hold="first")
    old = room.claim()
    task = asyncio.create_task(room.work(claim=old))
    await room.called(1)
    room.expire()
    # The old one still thinks; its answer comes when another has taken the turn up.
    room.model.reply("Hello again.", hold="second")
    new = asyncio.create_task(room.work())
    await room.called(2)
    room.model.release("first")
    assert await task == "held"
    assert room.ledger.turn().state == "running"
    room.model.release("second")
    assert await new == "more"
    assert room.ledger.texts() == ["hello", "Hello again."]
    room.ledger.check_whole()


async def test_a_turn_that_is_anothers_when_it_shall_close_is_left_to_the_other(room: Room) -> None:
    room.ledger.say("hello")
    gate = asyncio.Event()

    async def think(opened: Opened, keeper: StepJournal) -> TurnResult:
        await gate.wait()
        return TurnResult(outcome="answered", text="The old answer.", history="[]")

    task = asyncio.create_task(room.work(lanes=room.lanes(think)))
    await room.until(room.ledger.turns, "the turn is open")
    room.expire()
    assert await room.work() == "more"
    gate.set()
    assert await task == "held"
    assert room.ledger.texts() == ["hello", "You said: hello"]
    room.ledger.check_whole()


async def test_a_lost_worker_leaves_no_step_behind(room: Room) -> None:
    room.ledger.say("hello")
    room.model.reply("Hello.", hold=True)
    claim = room.claim()
    task = asyncio.create_task(room.work(claim=claim))
    await room.called(1)
    claim.stop("lost")
    assert await task == "held"
    turn = room.ledger.turn()
    assert (turn.state, turn.attempts, room.ledger.steps(turn.id)) == ("running", 1, [])


async def test_a_cancellation_without_a_reason_writes_nothing(room: Room) -> None:
    room.ledger.say("hello")
    room.model.reply("Hello.", hold=True)
    task = asyncio.create_task(room.work())
    await room.called(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert room.ledger.turn().state == "running"
    assert room.ledger.texts() == ["hello"]


async def test_notes_and_what_was_said_meanwhile_are_remembered_after_a_take_over(room: Room) -> None:
    room.ledger.note("The mail could not be delivered.")
    room.ledger.say("hello")
    room.model.reply("Hello.", hold=True)
    claim = room.claim()
    task = asyncio.create_task(room.work(claim=claim))
    await room.called(1)
    claim.stop("lost")
    await task
    room.expire()
    await room.work()
    room.ledger.say("and then?")
    await room.work()
    users = [message.text for message in wire_messages(room.model.seen[-1]) if message.role == "user"]
    assert users == [f"{frame('note.message', 'The mail could not be delivered.')}\n\nhello", "and then?"]


async def test_a_turn_that_fails_is_remembered_with_all_that_was_done_and_said(room: Room) -> None:
    deeds = Deeds(room, "web:chat")
    room.tools = deeds.tools()
    room.model.reply(CALLS)
    room.model.fail(401, match="and hurry")
    room.ledger.say("do it")
    await room.work()
    assert room.ledger.turn().outcome == "failed"
    room.ledger.say("did you?")
    await room.work()
    last = wire_messages(room.model.seen[-1])
    assert [message.text for message in last if message.role == "user"] == ["do it", "and hurry", "did you?"]
    assert [message.text for message in last if message.role == "tool"] == ["deed done", "look done"]
    assert last[-2].role == "assistant"
    assert last[-2].text == room.ledger.texts()[2]


async def test_a_store_of_a_dead_worker_can_be_left_open(database: str) -> None:
    """The double itself: nothing comes out of it once it has died."""
    store = MortalStore(database, nth=1, place="before")
    task = asyncio.create_task(store.write(lambda tx: tx.now()))
    await store.died.wait()
    look = asyncio.create_task(store.read(lambda tx: tx.now()))
    done, _ = await asyncio.wait({task, look}, timeout=0.05)
    assert not done
    for one in (task, look):
        one.cancel()
    await Store.close(store)
