"""What a model sees of the past: the conversation's history, and what is remembered about its user, never another's."""

from dataclasses import dataclass

import pytest
import sqlalchemy as sa

from homing.store import Store, memories
from homing.store import tables as t
from homing.testing import tool_call
from homing.testing.scripted import wire_messages
from support.rooms import Room


@dataclass(frozen=True, kw_only=True)
class Talk:
    """The same small talk in one language."""

    like: str
    ask: str
    fruit: str


TALKS = [
    # Not apples: those are the offline model's own example.
    Talk(like="I like pears", ask="What do I like?", fruit="pears"),
    Talk(like="我喜欢苹果", ask="我喜欢什么？", fruit="苹果"),
]
both = pytest.mark.parametrize("talk", TALKS, ids=["english", "chinese"])


@pytest.fixture
def offline(room_store: Store) -> Room:
    """The offline model, with the real tools."""
    room = Room(room_store, model="offline")
    give_tools(room)
    return room


def give_tools(room: Room) -> None:
    tools = dict.fromkeys(("schedule_task", "remember", "recall", "forget"), "allow")
    room.ledger.write(lambda tx: tx.run(sa.update(t.agent).values(tools=tools)))


async def answer(room: Room, text: str, key: str = "web:chat", **more: str) -> str:
    room.ledger.say(text, key, **more)
    await room.work(key)
    return room.ledger.texts(key)[-1]


@both
async def test_ten_turns_later_it_is_still_in_the_history_that_the_model_sees(room: Room, talk: Talk) -> None:
    await answer(room, talk.like)
    for number in range(10):
        await answer(room, f"small talk {number}")
    await answer(room, talk.ask)
    seen = [message.text for message in wire_messages(room.model.seen[-1]) if message.role == "user"]
    assert seen == [talk.like, *(f"small talk {number}" for number in range(10)), talk.ask]


@both
async def test_the_question_is_answered_from_history_and_in_a_new_session_from_memory_and_to_nobody_else(
    offline: Room, talk: Talk
) -> None:
    await answer(offline, talk.like)
    for number in range(10):
        await answer(offline, f"list {number}")
    assert talk.fruit in await answer(offline, talk.ask)
    assert talk.fruit in await answer(offline, talk.ask, "web:another-day")
    assert talk.fruit not in await answer(offline, talk.ask, "web:stranger", user_id="stranger")


@both
async def test_what_was_remembered_is_put_before_the_model_in_every_session_of_that_user_alone(
    room: Room, talk: Talk
) -> None:
    give_tools(room)
    room.model.reply(tool_call("remember", {"text": talk.like}))
    room.model.reply("Noted.")
    await answer(room, f"{talk.like}!")
    question = f"{talk.fruit}?"
    for key, user_id, knows in [("web:new", "default", True), ("web:stranger", "stranger", False)]:
        await answer(room, question, key, user_id=user_id)
        assert (talk.like in (room.model.infos[-1].instructions or "")) is knows


async def test_a_scheduled_turn_knows_history_and_memory_and_an_isolated_one_memory_alone(room: Room) -> None:
    room.ledger.write(
        lambda tx: memories.add(tx, user_id="default", session_id=None, sender_id=None, text="I like apples")
    )
    await answer(room, "Good morning.")
    room.ledger.run("remind me to eat apples")
    await room.work()
    assert "I like apples" in (room.model.infos[-1].instructions or "")
    assert "Good morning." in [message.text for message in wire_messages(room.model.seen[-1])]
    room.ledger.run("remind me to eat apples", isolated=True)
    await room.runner().step()
    assert "I like apples" in (room.model.infos[-1].instructions or "")
    assert "Good morning." not in [message.text for message in wire_messages(room.model.seen[-1])]


async def test_a_memory_keeps_who_said_it(room: Room) -> None:
    give_tools(room)
    room.model.reply(tool_call("remember", {"text": "I like apples"}))
    await answer(room, "I like apples", sender_id="ann")
    rows = room.ledger.write(lambda tx: tx.rows(sa.select(t.memory.c.sender_id, t.memory.c.text)))
    assert [tuple(row) for row in rows] == [("ann", "I like apples")]


async def test_history_shows_a_scheduled_opening_in_its_readable_form_and_never_the_prompt(room: Room) -> None:
    room.ledger.run("look at the weather")
    await room.work()
    prompt = [message.text for message in wire_messages(room.model.seen[0]) if message.role == "user"]
    assert "This is a scheduled turn" in prompt[0]
    room.model.otherwise("Fine.")
    await answer(room, "and?")
    seen = [message.text for message in wire_messages(room.model.seen[1]) if message.role == "user"]
    opening = "Scheduled cron job triggered: look at the weather\n\nlook at the weather"
    assert seen == [opening, "and?"]
    assert room.ledger.texts()[0] == opening
    assert not any("This is a scheduled turn" in text for text in room.ledger.texts()[0:1])
