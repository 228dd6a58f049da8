"""Rule 19: attempts are counted since the last new step; after three the turn ends, and says so."""

import asyncio
from pathlib import Path

import pytest

from homing.testing import tool_call
from support.deeds import arguments, lines, make_tools, open_gate
from support.rooms import Room


async def die(room: Room, calls: int) -> None:
    """Let a worker take the turn up and die in the model call of that number."""
    claim = room.claim()
    task = asyncio.create_task(room.work(claim=claim))
    await room.called(calls)
    claim.stop("lost")
    assert await task == "held"
    room.expire()


@pytest.mark.parametrize("source", ["person", "run"])
async def test_after_three_deaths_without_a_new_step_the_turn_is_interrupted_and_says_so(
    room: Room, source: str
) -> None:
    run_id = room.ledger.run("look at the weather") if source == "run" else None
    if source == "person":
        room.ledger.say("hello")
    room.model.otherwise("nobody hears this", hold=True)
    for death in (1, 2, 3):
        await die(room, death)
        assert room.ledger.turn().attempts == death
    assert await room.work() == "more"
    turn = room.ledger.turn()
    assert (turn.state, turn.outcome, turn.reason) == ("closed", "failed", "interrupted")
    assert len(room.model.seen) == 3
    assert room.ledger.texts()[-1] == "I was interrupted several times while working on this, and stopped."
    room.ledger.check_whole()
    if run_id:
        run = room.ledger.find_run(run_id)
        assert (run.state, run.reason) == ("error", "interrupted")


async def test_a_new_step_counts_attempts_anew(room: Room, tmp_path: Path) -> None:
    room.tools = make_tools(tmp_path)
    room.model.otherwise("nobody hears this", hold=True)
    room.ledger.say("do it")
    await die(room, 1)
    await die(room, 2)
    # The third worker gets a step done, and dies in the next call.
    room.model.reply(tool_call("look", arguments("it"), call_id="call_1"))
    await die(room, 4)
    assert room.ledger.turn().attempts == 1
    await die(room, 5)
    room.model.reply("Done.")
    assert await room.work() == "more"
    assert (room.ledger.turn().outcome, room.ledger.texts()) == ("answered", ["do it", "Done."])
    assert lines(tmp_path) == ["look it"]


async def test_a_graceful_stop_hands_the_turn_back_uncounted_and_at_once(room: Room) -> None:
    room.model.otherwise("nobody hears this", hold=True)
    room.ledger.say("hello")
    for call in range(1, 6):
        async with room.running():
            room.ring()
            await room.called(call)
        turn = room.ledger.turn()
        # No claim has to run out first: whoever looks may have it.
        assert (turn.state, turn.attempts, turn.fence) == ("running", 0, call)
    room.model.otherwise("Hello.")
    assert await room.work() == "more"
    assert room.ledger.texts() == ["hello", "Hello."]
    room.ledger.check_whole()


async def test_a_stopping_worker_lets_its_turns_finish_for_a_moment(room: Room, tmp_path: Path) -> None:
    room.tools = make_tools(tmp_path)
    room.model.reply(tool_call("look", arguments("it", "tool")))
    room.model.reply("Done.")
    runner = room.runner()
    task = asyncio.create_task(runner.run())
    room.ledger.say("do it")
    room.ring()
    await room.called(1)
    room.ledger.say("and this", "web:other")
    stopping = asyncio.create_task(runner.stop(grace=10))
    open_gate(tmp_path, "tool")
    await stopping
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert room.ledger.turn().outcome == "answered"
    assert room.ledger.turns("web:other") == []


async def test_a_claim_that_runs_out_without_a_death_counts_too(room: Room) -> None:
    """A worker that was away for too long finds its turn with another, and does not touch it."""
    room.model.reply("first", hold="first")
    room.model.reply("second")
    room.ledger.say("hello")
    claim = room.claim()
    task = asyncio.create_task(room.work(claim=claim))
    await room.called(1)
    room.expire()
    assert await room.work() == "more"
    room.model.release("first")
    assert await task == "held"
    turn = room.ledger.turn()
    assert (turn.fence, turn.outcome) == (2, "answered")
    assert room.ledger.texts() == ["hello", "second"]
