"""Rule 2: a person's message during a turn is seen by its next model call, once; nothing else ever takes that path."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from homing.agent.frames import frame
from homing.testing import tool_call
from homing.testing.scripted import wire_messages
from support.deeds import arguments, make_tools, open_gate
from support.rooms import Room

DONE = "Both, then."


def shown(room: Room, call: int) -> list[str]:
    """What people (or those in their role) said, as one model call saw it."""
    return [message.text for message in wire_messages(room.model.seen[call]) if message.role == "user"]


@asynccontextmanager
async def thinking(room: Room, folder: Path, **say: str) -> AsyncIterator[None]:
    """A turn in the middle of a tool, with a model call before it and one to come."""
    room.tools = make_tools(folder)
    room.model.reply(tool_call("look", arguments("it", "tool"), call_id="call_1"))
    room.model.reply(DONE)
    async with room.running():
        room.ledger.say("one thing", **say)
        room.ring()
        await room.called(1)
        yield
        open_gate(folder, "tool")
        await room.called(2)
        await room.until_closed(1)


async def test_what_a_person_says_meanwhile_is_seen_by_the_next_model_call_of_the_same_turn(
    room: Room, tmp_path: Path
) -> None:
    async with thinking(room, tmp_path, sender_id="ann"):
        inbound_id = room.ledger.say("and another", sender_id="ann")
    assert [shown(room, 0), shown(room, 1)] == [["one thing"], ["one thing", "and another"]]
    turn = room.ledger.turn()
    inbound = room.ledger.inbound(inbound_id)
    assert (inbound.state, inbound.turn_id, inbound.injected) == ("taken", turn.id, True)
    assert room.ledger.texts() == ["one thing", "and another", DONE]
    said = room.ledger.messages()[1]
    assert (said.turn_id, said.meta) == (turn.id, {"injected": True, "sender_id": "ann"})
    room.ledger.check_whole()


async def test_several_messages_come_in_their_order_and_each_once(room: Room, tmp_path: Path) -> None:
    async with thinking(room, tmp_path):
        for text in ("two", "three", "four"):
            room.ledger.say(text)
    assert shown(room, 1) == ["one thing", "two", "three", "four"]
    assert len(room.ledger.turns()) == 1


async def test_what_was_said_into_a_turn_is_part_of_the_history_of_the_next(room: Room, tmp_path: Path) -> None:
    async with thinking(room, tmp_path):
        room.ledger.say("and another")
    room.ledger.say("what did I say?")
    await room.work()
    assert shown(room, 2) == ["one thing", "and another", "what did I say?"]


async def test_a_message_that_comes_after_the_last_model_call_is_the_next_turn(room: Room) -> None:
    room.model.reply("First.", hold=True)
    async with room.running():
        room.ledger.say("one thing")
        room.ring()
        await room.called(1)
        room.ledger.say("too late")
        room.model.release()
        await room.until_closed(2)
    assert room.ledger.texts() == ["one thing", "First.", "too late", "You said: too late"]
    assert len(room.model.seen) == 2


async def test_a_message_after_the_turn_was_asked_to_stop_is_the_next_turn(room: Room, tmp_path: Path) -> None:
    room.tools = make_tools(tmp_path)
    room.model.reply(tool_call("look", arguments("it", "tool"), call_id="call_1"))
    room.model.reply("This was shown.")
    room.ledger.say("one thing")
    # No runner watches here: the turn comes to its next model call before it hears that it shall stop.
    task = asyncio.create_task(room.work())
    await room.called(1)
    room.ledger.cancel()
    room.ledger.say("rather this")
    open_gate(tmp_path, "tool")
    await task
    assert room.ledger.texts() == ["one thing", "This was shown.\n\nStopped."]
    room.model.reply(DONE)
    await room.work()
    assert room.ledger.texts()[2:] == ["rather this", DONE]
    room.ledger.check_whole()


async def test_a_message_that_asks_to_be_queued_is_the_next_turn(room: Room, tmp_path: Path) -> None:
    async with thinking(room, tmp_path):
        room.ledger.say("not now", mode="queue")
    await check_next(room, "not now")


async def test_a_message_from_another_address_is_the_next_turn(room: Room, tmp_path: Path) -> None:
    async with thinking(room, tmp_path):
        room.ledger.say("from the phone", address="slack:C1/17.3")
    await check_next(room, "from the phone")


@pytest.mark.parametrize("source", ["report", "hook", "agent", "system"])
async def test_what_no_person_said_is_never_injected(room: Room, tmp_path: Path, source: str) -> None:
    async with thinking(room, tmp_path):
        # Whatever it claims about itself: the right address, the mode of a person.
        room.ledger.put("from a machine", source=source, line="machines", mode="inject")  # type: ignore[arg-type]
    await check_next(room, "from a machine")


async def test_a_scheduled_run_is_never_injected_and_waits_for_the_turn_to_end(room: Room, tmp_path: Path) -> None:
    async with thinking(room, tmp_path):
        run_id = room.ledger.run("look at the weather")
        room.ring()
        await room.until(lambda: room.ledger.find_run(run_id).state == "queued", "the run waits")
    assert shown(room, 1) == ["one thing"]
    await drain(room)
    run = room.ledger.find_run(run_id)
    assert (run.state, run.turn_id) == ("ok", room.ledger.turns()[1].id)
    assert "look at the weather" in shown(room, 2)[-1]


async def test_nobody_is_injected_into_a_turn_that_no_person_opened(room: Room, tmp_path: Path) -> None:
    room.tools = make_tools(tmp_path)
    room.model.reply(tool_call("look", arguments("it", "tool")))
    room.model.reply("Sunny.")
    async with room.running():
        room.ledger.run("look at the weather")
        room.ring()
        await room.called(1)
        room.ledger.say("hello?")
        open_gate(tmp_path, "tool")
        await room.until_closed(2)
    assert [text for text in shown(room, 1) if "hello" in text] == []
    assert room.ledger.texts()[1:] == ["Sunny.", "hello?", "You said: hello?"]


async def test_the_database_itself_refuses_a_machine_that_stands_in_the_line_of_people(room: Room) -> None:
    with pytest.raises(Exception, match=r"people_are_people"):
        room.ledger.put("me first", source="hook", line="people", mode="inject")


async def test_a_note_wakes_nobody_and_is_taken_along_by_the_next_turn(room: Room) -> None:
    room.ledger.note("The mail could not be delivered.")
    assert await room.runner().step() is False
    room.ledger.say("hello")
    await drain(room)
    assert shown(room, 0) == [f"{frame('note.message', 'The mail could not be delivered.')}\n\nhello"]
    [note, opening, _] = room.ledger.messages()
    assert (note.kind, note.role, note.meta["source"]) == ("note", "user", "system")
    assert note.turn_id == opening.turn_id == room.ledger.turn().id
    assert room.ledger.turn().opening_seq == opening.seq


async def test_a_note_is_not_shown_to_a_turn_that_is_already_open(room: Room, tmp_path: Path) -> None:
    async with thinking(room, tmp_path):
        note_id = room.ledger.note("Something happened.")
    assert shown(room, 1) == ["one thing"]
    assert room.ledger.inbound(note_id).state == "waiting"


async def drain(room: Room) -> None:
    runner = room.runner()
    while await runner.step():
        pass


async def check_next(room: Room, text: str) -> None:
    """It was not shown to the turn before, and is the opening of the one after."""
    await drain(room)
    assert shown(room, 1) == ["one thing"]
    first, second = room.ledger.turns()
    opening = next(m for m in room.ledger.messages() if m.seq == second.opening_seq)
    assert (opening.text, opening.turn_id) == (text, second.id)
    assert first.closing_seq is not None
    assert opening.seq > first.closing_seq
    assert text in shown(room, 2)[-1]
