"""A stopped answer keeps what people saw of it: in the conversation, after a reload, and in the next prompt."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from homing.store import Store
from homing.testing import FakeClock, Reply, fault, tool_call
from homing.testing.scripted import wire_messages
from support.deeds import arguments, lines, make_tools, open_gate
from support.ledger import CHAT
from support.rooms import Room, room, room_store
from support.site import Site, open_site
from support.worlds import START, World

__all__ = ["room", "room_store"]

STORY = Reply(chunks=["Once upon a time ", "there was ", "an apple."], hold=True, hold_after_chunks=2)
SHOWN = "Once upon a time there was"


@asynccontextmanager
async def shown(room: Room, text: str) -> AsyncIterator[Site]:
    """Let a person say something, and wait until some of the answer is on their screen."""
    site = open_site(World(store=room.store, clock=FakeClock(START), instance=room.instance))
    ear = room.store.bell.listen(f"session:{room.ledger.session().id}")
    async with room.running():
        said = await site.owner.post(f"/api/sessions/{CHAT}/messages", json={"text": "tell me a story"})
        assert said.status_code == 202
        room.ring()
        async with asyncio.timeout(20):
            seen = ""
            while text not in seen:
                await ear.wait(1)
                words = [one["data"] for one in ear.received if one["event"] == "text"]
                seen = "".join(str(one["text"]) for one in words)  # type: ignore[index]
        yield site


async def stop(room: Room, site: Site) -> None:
    stopped = await site.owner.post(f"/api/sessions/{CHAT}/cancel", json={})
    assert stopped.json()["cancelled"] is True
    room.ring()
    await room.until_closed(1)


async def closing(site: Site) -> dict[str, Any]:
    return (await site.owner.get(f"/api/sessions/{CHAT}/messages")).json()["items"][-1]


def remembered(room: Room) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in wire_messages(room.model.seen[-1])]


async def test_a_stopped_answer_stays_as_far_as_it_was_shown_and_the_next_prompt_knows_it(room: Room) -> None:
    room.model.reply(STORY)
    async with shown(room, SHOWN) as site:
        await stop(room, site)
        message = await closing(site)
        assert message["text"] == f"{SHOWN}\n\nStopped."
        assert message["meta"] == {"outcome": "cancelled", "reason": "asked", "partial": True}
        room.ledger.say("go on")
        room.ring()
        await room.until_closed(2)
    assert remembered(room) == [
        ("user", "tell me a story"),
        ("assistant", f"{SHOWN}\n\nStopped."),
        ("user", "go on"),
    ]


async def test_an_answer_that_ran_out_of_time_stays_as_far_as_it_was_shown(room_store: Store) -> None:
    room = Room(room_store, turn_seconds=3)
    room.model.reply(STORY)
    async with shown(room, SHOWN) as site:
        await room.until_closed(1)
        message = await closing(site)
    assert message["text"] == f"{SHOWN}\n\nI stopped: this took longer than 3 seconds."
    assert message["meta"] == {"outcome": "failed", "reason": "timeout", "partial": True}


async def test_what_was_said_beside_a_tool_call_stays_and_is_remembered_once(room: Room, tmp_path: Path) -> None:
    room.tools = make_tools(tmp_path)
    room.model.reply(["I look.", tool_call("look", arguments("it", "never"))])
    async with shown(room, "I look.") as site:
        await room.until(lambda: lines(tmp_path), "the tool has begun")
        await stop(room, site)
        assert (await closing(site))["text"] == "I look.\n\nStopped."
        room.ledger.say("go on")
        room.ring()
        await room.until_closed(2)
    assert [text for role, text in remembered(room) if role == "assistant" and text] == ["I look.", "Stopped."]
    open_gate(tmp_path, "never")


async def test_a_half_answer_that_broke_off_is_not_kept(room: Room) -> None:
    room.model.reply(fault("cut"))
    room.model.reply("", hold=True)
    async with shown(room, "") as site:
        await room.called(2, seconds=30)
        await stop(room, site)
        message = await closing(site)
    assert message["text"] == "Stopped."
    assert "partial" not in message["meta"]
