"""A session changes its agent while turns run and wait: who answers what, and in which lane (rules 29 and 40)."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
import sqlalchemy as sa

from homing.model.agents import Agent
from homing.model.errors import Conflict
from homing.model.people import OWNER, Caller
from homing.model.sessions import unified_key
from homing.operations.agents import update_agent
from homing.operations.context import Context
from homing.operations.messages import send_message
from homing.operations.sessions import get_session, update_session
from homing.operations.shapes.agent import UpdateAgent
from homing.operations.shapes.base import Answer
from homing.operations.shapes.session_asks import SendMessage, SessionRef, UpdateSession
from homing.store import Store, Tx, agents
from homing.store import tables as t
from homing.testing import tool_call
from homing.testing.scripted import wire_messages
from support.ledger import CHAT
from support.rooms import Room

ADMIN = Caller(user_id=OWNER, role="admin", door="api")
NAMES = {"main": "You are main.", "fruit": "You are fruit."}


def furnished(room: Room) -> Room:
    def work(tx: Tx) -> None:
        for name, told in NAMES.items():
            before = agents.get(tx, name)
            if before is None:
                agents.add(tx, Agent(id=name, name=name, instructions=told))
            else:
                agents.change(tx, Agent(id=name, name=name, instructions=told, revision=before.revision))

    room.ledger.write(work)
    return room


@pytest.fixture
def room(room_store: Store) -> Room:
    return furnished(Room(room_store))


@pytest.fixture
def unified(room_store: Store) -> Room:
    return furnished(Room(room_store, unified_session="on"))


def ctx(room: Room, tx: Tx) -> Context:
    return Context(tx=tx, caller=ADMIN, instance=room.instance)


def give(room: Room, agent_id: str, key: str = CHAT) -> Any:
    return room.ledger.write(
        lambda tx: update_session(ctx(room, tx), UpdateSession(session_key=key, agent_id=agent_id))
    )


def shown(room: Room, key: str = CHAT) -> Mapping[str, Any]:
    answer: Answer = room.ledger.write(lambda tx: get_session(ctx(room, tx), SessionRef(session_key=key)))
    return answer.plain()


def speaker(room: Room, call: int = -1) -> str:
    """Tell which agent's instructions a call of the model carried."""
    told = room.model.infos[call].instructions or ""
    return next(name for name, words in NAMES.items() if words in told)


def users(room: Room, call: int = -1) -> list[str]:
    return [message.text for message in wire_messages(room.model.seen[call]) if message.role == "user"]


async def drain(room: Room) -> None:
    runner = room.runner()
    while await runner.step():
        pass


async def test_a_turn_in_progress_keeps_its_agent_and_what_waits_gets_the_new_one(room: Room) -> None:
    room.model.reply("still me", hold=True)
    async with room.running():
        room.ledger.say("first")
        room.ring()
        await room.called(1)
        room.ledger.say("second", mode="queue")
        give(room, "fruit")
        room.model.release()
        await room.until_closed(2)
    assert [speaker(room, call) for call in (0, 1)] == ["main", "fruit"]
    assert [turn.agent_id for turn in room.ledger.turns()] == ["main", "fruit"]
    assert users(room) == ["first", "second"], "it is the same conversation"


async def test_a_turn_taken_up_after_a_crash_has_the_agent_of_its_opening(room: Room) -> None:
    room.model.reply("nobody hears this", hold=True)
    async with room.running():
        room.ledger.say("hello")
        room.ring()
        await room.called(1)
    give(room, "fruit")
    edit = UpdateAgent(agent_id="main", instructions="You are somebody else.")
    room.ledger.write(lambda tx: update_agent(ctx(room, tx), edit))
    room.expire()
    await drain(room)
    assert room.ledger.texts() == ["hello", "You said: hello"]
    assert speaker(room) == "main"
    room.ledger.say("and now?")
    await drain(room)
    assert speaker(room) == "fruit"


@pytest.mark.parametrize("isolated", [False, True])
async def test_a_queued_run_uses_the_agent_its_session_has_when_it_opens(room: Room, isolated: bool) -> None:
    run_id = room.ledger.run("look at the weather", isolated=isolated)
    give(room, "fruit")
    await drain(room)
    assert room.ledger.find_run(run_id).state == "ok"
    assert speaker(room, 0) == "fruit"
    [turn] = [turn for turn in room.ledger.turns(None) if turn.run_id == run_id]
    assert turn.agent_id == "fruit"


async def test_with_unified_sessions_each_agent_has_a_history_of_its_own(unified: Room) -> None:
    unified.ledger.say("I like apples", "web:phone")
    await drain(unified)
    unified.ledger.session("web:desk")
    give(unified, "fruit", "web:desk")
    unified.ledger.say("what do I like?", "web:desk")
    await drain(unified)
    assert (speaker(unified), users(unified)) == ("fruit", ["what do I like?"])
    give(unified, "fruit", "web:phone")
    unified.ledger.say("pears, too", "web:phone")
    await drain(unified)
    assert users(unified) == ["what do I like?", "pears, too"]
    keys = unified.ledger.write(lambda tx: tx.rows(sa.select(t.session.c.key).where(t.session.c.key.like("unified:%"))))
    assert {key for (key,) in keys} == {f"unified:{OWNER}", f"unified:{OWNER}:fruit"}


async def test_what_waits_in_a_shared_lane_moves_with_its_session_and_keeps_its_order(unified: Room) -> None:
    unified.ledger.say("stays", "web:desk")
    for text in ("one", "two"):
        unified.ledger.say(text, "web:phone", mode="queue")
    run_id = unified.ledger.run("look at the weather", "web:phone")
    give(unified, "fruit", "web:phone")
    lane = shown(unified, "web:phone")["lane"]
    assert [item["text"] for item in lane] == ["one", "two", "look at the weather"]
    await drain(unified)
    assert unified.ledger.find_run(run_id).state == "ok"
    by_chat = {turn.session_id: turn.agent_id for turn in unified.ledger.turns(None)}
    assert by_chat == {
        unified.ledger.session("web:desk").id: "main",
        unified.ledger.session("web:phone").id: "fruit",
    }
    assert [text for text in unified.ledger.texts("web:phone") if text in ("one", "two")] == ["one", "two"]


async def test_in_a_shared_lane_the_agent_does_not_change_while_an_answer_is_in_progress(unified: Room) -> None:
    unified.model.reply("still me", hold=True)
    async with unified.running():
        unified.ledger.say("first", "web:phone")
        unified.ledger.session("web:desk")
        unified.ring()
        await unified.called(1)
        with pytest.raises(Conflict, match="An answer is in progress here"):
            give(unified, "fruit", "web:phone")
        assert shown(unified, "web:phone")["agent_id"] == "main"
        give(unified, "fruit", "web:desk")  # a chat of the same lane in which nothing runs
        unified.model.release()
        await unified.until_closed(1, "web:phone")
    give(unified, "fruit", "web:phone")
    assert shown(unified, "web:phone")["agent_id"] == "fruit"


@pytest.mark.parametrize("mode", ["off", "on"])
async def test_nothing_is_lost_or_answered_twice_while_the_agent_changes_again_and_again(
    room_store: Store, mode: str
) -> None:
    room = furnished(Room(room_store, unified_session=mode))
    keys = ["web:phone", "web:desk"]
    for key in keys:
        room.ledger.session(key)
    count = 12

    async def talk(key: str) -> None:
        for n in range(count):
            ask = SendMessage(session_key=key, text=f"{key} {n}", mode="queue")
            await room.store.write(lambda tx, ask=ask: send_message(ctx(room, tx), ask))

    async def change(key: str) -> int:
        done = 0
        for n in range(count):
            ask = UpdateSession(session_key=key, agent_id=("fruit", "main")[n % 2])
            try:
                await room.store.write(lambda tx, ask=ask: update_session(ctx(room, tx), ask))
                done += 1
            except Conflict:
                await asyncio.sleep(0.01)
        return done

    async with room.running(room.runner(), room.runner()):
        changes = asyncio.gather(*map(change, keys))
        await asyncio.gather(*map(talk, keys))
        assert any(await changes)
        for key in keys:
            await room.until_closed(count, key)
    if mode == "on":
        lane = t.session.alias()
        both = sa.select(lane.c.key, t.turn.c.agent_id).join(lane, lane.c.id == t.turn.c.lane_id)
        for lane_key, agent_id in room.ledger.write(lambda tx: tx.rows(both)):
            assert lane_key == unified_key(OWNER, agent_id), "each turn was in the lane of its agent"
    for key in keys:
        room.ledger.check_whole(key)
        said = [text for text in room.ledger.texts(key) if text.startswith("web:")]
        assert sorted(said) == sorted(f"{key} {n}" for n in range(count))
        assert shown(room, key)["lane_size"] == 0


def offered(room: Room, call: int = -1) -> list[str]:
    return sorted(tool.name for tool in room.model.infos[call].function_tools)


def edit(room: Room, **fields: Any) -> None:
    ask = UpdateAgent(agent_id="main", **fields)
    room.ledger.write(lambda tx: update_agent(ctx(room, tx), ask))


async def test_an_edit_in_mid_turn_takes_away_at_once_and_adds_from_the_next_turn_on(room: Room) -> None:
    edit(room, tools={"remember": "allow", "recall": "allow"})
    room.model.reply(tool_call("remember", {"text": "likes apples"}), hold=True)
    room.model.reply("I could not.")
    async with room.running():
        room.ledger.say("remember that I like apples")
        room.ring()
        await room.called(1)
        edit(room, tools={"recall": "allow", "forget": "allow"}, instructions="You are fruit.")
        room.model.release()
        await room.until_closed(1)
        assert offered(room) == ["recall", "remember"], "this turn keeps the agent of its opening"
        assert speaker(room) == "main"
        told = [message.text for message in wire_messages(room.model.seen[-1])]
        assert any("was switched off for this agent while this turn was running" in text for text in told)
        room.ledger.say("and now?")
        room.ring()
        await room.until_closed(2)
    assert offered(room) == ["forget", "recall"]
    assert speaker(room) == "fruit"
    assert room.ledger.count(t.memory) == 0
