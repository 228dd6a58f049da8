"""Cancel is asked for in a row, and done by whoever holds the turn; the lane is free only when the task has ended."""

import asyncio
from pathlib import Path

import pytest
import sqlalchemy as sa

from homing.store import Tx, sessions
from homing.store import tables as t
from homing.testing import tool_call
from homing.testing.scripted import wire_messages
from support.deeds import arguments, lines, make_tools, open_gate
from support.rooms import Room


async def test_a_cancelled_turn_ends_with_a_visible_line_and_the_next_one_runs(room: Room) -> None:
    room.model.reply("Too long a story.", hold=True)
    async with room.running():
        room.ledger.say("tell me a story")
        room.ring()
        await room.called(1)
        room.ledger.say("never mind", mode="queue")
        assert room.ledger.cancel() is True
        room.ring()
        await room.until_closed(2)
    first, second = room.ledger.turns()
    assert (first.outcome, first.reason, first.cancel_reason) == ("cancelled", "asked", "asked")
    assert room.ledger.texts() == ["tell me a story", "Stopped.", "never mind", "You said: never mind"]
    assert second.outcome == "answered"
    room.ledger.check_whole()
    assert room.ledger.cancel() is False


async def test_a_cancelled_run_is_cancelled_and_says_why(room: Room) -> None:
    room.model.reply("Sunny.", hold=True)
    async with room.running():
        run_id = room.ledger.run("look at the weather")
        room.ring()
        await room.called(1)
        room.ledger.cancel(reason="removed")
        room.ring()
        await room.until_closed(1)
    run = room.ledger.find_run(run_id)
    assert (run.state, run.reason) == ("cancelled", "removed")
    assert room.ledger.texts()[-1] == "Stopped: the automation was removed."


async def test_the_lane_stays_taken_until_the_task_has_ended(room: Room, tmp_path: Path) -> None:
    room.tools = make_tools(tmp_path)
    room.model.reply(tool_call("deaf", arguments("it")))
    async with room.running():
        room.ledger.say("do it")
        room.ring()
        await room.until(lambda: lines(tmp_path), "the tool has begun")
        room.ledger.say("next", mode="queue")
        room.ledger.cancel()
        room.ring()
        try:
            # The tool has heard of it, and goes on all the same: nobody else comes in.
            await room.until(lambda: len(lines(tmp_path)) > 1, "the tool was told to stop")
            assert [turn.state for turn in room.ledger.turns()] == ["running"]
        finally:
            open_gate(tmp_path, "deaf")
        await room.until_closed(2)
    assert [turn.outcome for turn in room.ledger.turns()] == ["cancelled", "answered"]


async def test_a_cancel_that_was_asked_for_wins_over_an_answer_that_is_ready_and_keeps_its_text(room: Room) -> None:
    room.model.reply("The answer.", hold=True)
    room.ledger.say("tell me")
    # No runner watches here: the request is first seen when the turn is closed.
    task = asyncio.create_task(room.work())
    await room.called(1)
    room.ledger.cancel()
    room.model.release()
    assert await task == "more"
    turn = room.ledger.turn()
    assert (turn.outcome, turn.output_tokens > 0) == ("cancelled", True)
    assert room.ledger.texts() == ["tell me", "The answer.\n\nStopped."]
    room.ledger.say("well?")
    await room.work()
    last = [(message.role, message.text) for message in wire_messages(room.model.seen[-1])]
    assert last == [("user", "tell me"), ("assistant", "The answer.\n\nStopped."), ("user", "well?")]


async def test_the_turn_of_a_dead_worker_with_a_cancel_asked_for_is_closed_and_not_run(room: Room) -> None:
    await die_in_a_model_call(room)
    room.ledger.cancel()
    room.expire()
    assert await room.work() == "more"
    assert (room.ledger.turn().outcome, len(room.model.seen)) == ("cancelled", 1)
    assert room.ledger.texts() == ["hello", "Stopped."]


async def test_the_turn_of_a_dead_worker_past_its_deadline_is_closed_and_not_run(room: Room) -> None:
    await die_in_a_model_call(room)
    room.pass_deadline()
    room.expire()
    assert await room.work() == "more"
    turn = room.ledger.turn()
    assert (turn.outcome, turn.reason, len(room.model.seen)) == ("failed", "timeout", 1)
    room.ledger.check_whole()


@pytest.mark.parametrize("worker", ["alive", "dead"])
async def test_a_turn_of_a_deleted_session_leaves_neither_message_nor_outbound(room: Room, worker: str) -> None:
    session = room.ledger.session()

    def delete(tx: Tx) -> None:
        sessions.lock(tx, [session.id])
        sessions.delete(tx, session.id)

    if worker == "dead":
        await die_in_a_model_call(room)
        room.ledger.cancel(reason="session_deleted")
        room.ledger.write(delete)
        expire_all(room)
        await room.runner().step()
    else:
        room.model.reply("Hello.", hold=True)
        async with room.running():
            room.ledger.say("hello")
            room.ring()
            await room.called(1)
            room.ledger.cancel(reason="session_deleted")
            room.ledger.write(delete)
            room.ring()
            await room.until_closed(1, None)
    [turn] = room.ledger.turns(None)
    assert (turn.outcome, turn.reason, turn.closing_seq) == ("cancelled", "session_deleted", None)
    assert room.ledger.count(t.message) == 1
    assert room.ledger.count(t.outbound) == 0
    # The same key begins anew, as another session.
    assert room.ledger.session().id != session.id
    assert room.ledger.texts() == []


async def die_in_a_model_call(room: Room) -> None:
    room.model.reply("nobody hears this", hold=True)
    room.ledger.say("hello")
    claim = room.claim()
    task = asyncio.create_task(room.work(claim=claim))
    await room.called(1)
    claim.stop("lost")
    await task


def expire_all(room: Room) -> None:
    past = room.ledger.write(lambda tx: tx.now())
    room.ledger.write(lambda tx: tx.run(sa.update(t.turn).values(claimed_until=past)))
