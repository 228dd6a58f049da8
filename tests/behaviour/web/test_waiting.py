"""`?wait=`: the answer itself when the turn closes in time, else the plain 202."""

import asyncio

import pytest

from homing.testing import FakeClock
from support.rooms import Room, room, room_store
from support.site import Site, field_codes, open_site
from support.worlds import START, World

__all__ = ["room", "room_store"]


@pytest.fixture
def answering(room: Room) -> Site:
    """A front door with an engine behind it."""
    return open_site(World(store=room.store, clock=FakeClock(START), instance=room.instance))


async def test_whoever_waits_gets_the_answer(room: Room, answering: Site) -> None:
    room.model.reply("An apple a day.")
    async with room.running():
        response = await answering.owner.post("/api/sessions/web:new/messages?wait=20", json={"text": "What to eat?"})
    assert response.status_code == 200
    told = response.json()
    assert told["outcome"] == "answered"
    assert told["message"]["text"] == "An apple a day."
    assert told["message"]["turn_id"] == told["turn_id"]
    assert told["inbound_id"].startswith("in_")


async def test_an_answer_that_takes_longer_comes_later(room: Room, answering: Site) -> None:
    room.model.reply("Late.", hold="gate")
    async with room.running():
        response = await answering.owner.post("/api/sessions/web:new/messages?wait=1", json={"text": "Well?"})
        assert response.status_code == 202
        assert response.json()["session_key"] == "web:new"
        room.model.release("gate")
        key = {"Idempotency-Key": "k"}
        room.model.reply("Here.")
        waited = await answering.owner.post("/api/sessions/web:new/messages?wait=20", json={"text": "?"}, headers=key)
        again = await answering.owner.post("/api/sessions/web:new/messages?wait=20", json={"text": "?"}, headers=key)
    assert waited.json()["message"]["text"] == "Here."
    assert again.json() == waited.json()
    assert again.headers["idempotency-replayed"] == "true"


async def test_waiting_ends_when_the_process_stops(answering: Site) -> None:
    asked = asyncio.create_task(
        answering.owner.post("/api/sessions/web:new/messages?wait=120", json={"text": "Anybody?"})
    )
    await _until_said(answering)
    answering.app.state.streams.leave()
    assert (await asyncio.wait_for(asked, 20)).status_code == 202


async def test_a_withdrawn_message_is_not_waited_for(answering: Site) -> None:
    asked = asyncio.create_task(
        answering.owner.post("/api/sessions/web:new/messages?wait=120", json={"text": "Anybody?"})
    )
    await _until_said(answering)
    assert (await answering.owner.delete("/api/sessions/web:new")).status_code == 200
    assert (await asyncio.wait_for(asked, 20)).status_code == 202


async def _until_said(site: Site) -> None:
    async with asyncio.timeout(20):
        while (await site.owner.get("/api/sessions/web:new")).status_code != 200:
            pass


async def test_waiting_has_its_limits(answering: Site) -> None:
    for wait in ("0", "121", "soon", ""):
        path = f"/api/sessions/web:new/messages?wait={wait}"
        response = await answering.owner.post(path, json={"text": "?"})
        assert list(field_codes(response)) == ["wait"], wait
    assert (await answering.owner.get("/api/sessions/web:new")).status_code == 404
