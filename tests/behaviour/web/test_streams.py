"""A stream tells each message once and in order, and of all else the newest state; it can be resumed anywhere."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.requests import Request

from homing.model.messages import NewMessage
from homing.model.people import OWNER, Caller
from homing.model.sessions import Session
from homing.store import Tx, sessions
from homing.testing import FakeClock
from homing.web.changes import BATCH, Place, read_place
from homing.web.custom_endpoints import _kept_in
from homing.web.stream import PING, Streams
from support.asking import session
from support.events import Listener
from support.rooms import Room, room, room_store
from support.site import OWNER_TOKEN, Site, field_codes, kill, open_site, owe
from support.worlds import OWNER_CALLER, START, STRANGER, World

__all__ = ["room", "room_store"]


class Studio:
    """Streams of one site, and what happens in its sessions."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.world = site.world
        self.streams: Streams = site.app.state.streams
        self._open: list[Listener] = []

    def find(self, key: str = "web:abc", user_id: str = OWNER) -> Session:
        session(self.world, key, user_id)
        found = self.world.write(lambda tx: sessions.find(tx, key, user_id=user_id))
        assert found is not None
        return found

    async def listen(self, after: str | None = None, key: str = "web:abc") -> Listener:
        """Listen to a session and hear the hello."""
        listener = Listener(self.streams.of_session(OWNER_CALLER, self.find(key), read_place(after)))
        self._open.append(listener)
        hello = await listener.next()
        assert hello.noun == "hello"
        assert hello.data["version"] == "0.0-test"
        return listener

    async def listen_to_all(self, caller: Caller = OWNER_CALLER) -> Listener:
        listener = Listener(self.streams.of_user(caller))
        self._open.append(listener)
        assert (await listener.next()).noun == "hello"
        return listener

    async def add_job(self, key: str = "web:abc") -> str:
        body = {"session_key": key, "when": "every 2h", "message": "look"}
        return (await self.site.owner.post("/api/jobs", json=body)).json()["id"]

    async def say(self, *texts: str, key: str = "web:abc", user_id: str = OWNER) -> None:
        """Write messages in one transaction: one revision."""
        session_id = self.find(key, user_id).id
        new = [
            NewMessage(session_id=session_id, lane_id=session_id, role="assistant", kind="note", text=text)
            for text in texts
        ]

        def work(tx: Tx) -> None:
            sessions.lock(tx, [session_id])
            sessions.append_messages(tx, new)

        await self.world.store.write(work)

    def tell(self, turn_id: str, n: int, text: str, *, whole: bool = False, key: str = "web:abc") -> None:
        """Say something live, as a turn does."""
        data: dict[str, object] = {
            "session_key": key, "turn_id": turn_id, "attempt": 1, "n": n, "text": text, "whole": whole,
        }  # fmt: skip
        topics = (f"session:{self.find(key).id}", f"user:{OWNER}")
        self.world.store.bell.say(topics, {"event": "text", "data": data})

    async def close(self) -> None:
        for listener in self._open:
            await listener.close()


@pytest.fixture
async def studio(site: Site) -> AsyncIterator[Studio]:
    studio = Studio(site)
    yield studio
    await studio.close()


async def test_a_stream_begins_with_hello_and_goes_on_live(studio: Studio) -> None:
    studio.find()
    await studio.say("before")
    listener = await studio.listen()
    assert listener.retry == 2000
    await studio.say("first")
    await studio.say("second")
    told = await listener.some(2, "message")
    assert [event.data["text"] for event in told] == ["first", "second"]
    assert [event.data["seq"] for event in told] == [2, 3]


async def test_a_message_in_a_stream_is_the_one_of_the_list(studio: Studio) -> None:
    listener = await studio.listen()
    owe(studio.world, "web:abc", "owed", ["webhook:wh_x"])
    event = await listener.next("message")
    [listed] = (await studio.site.owner.get("/api/sessions/web:abc/messages")).json()["items"]
    assert event.data == listed
    state = await listener.next("session")
    assert state.data == (await studio.site.owner.get("/api/sessions/web:abc")).json()


async def test_every_noun_comes_as_the_list_gives_it(studio: Studio) -> None:
    listener = await studio.listen()
    job_id = await studio.add_job()
    assert (await listener.next("job")).data == (await studio.site.owner.get(f"/api/jobs/{job_id}")).json()
    await studio.site.owner.post(f"/api/jobs/{job_id}/run")
    [listed] = (await studio.site.owner.get("/api/runs")).json()["items"]
    assert (await listener.next("run")).data == listed
    [delivery_id] = owe(studio.world, "web:abc", "owed", ["webhook:wh_x"])
    kill(studio.world, delivery_id)
    while (event := await listener.next("delivery")).data["state"] != "dead":
        pass
    [listed] = (await studio.site.owner.get("/api/deliveries")).json()["items"]
    assert event.data == listed
    await studio.site.owner.delete(f"/api/jobs/{job_id}")
    while (event := await listener.next("job")).data["removed_at"] is None:
        pass
    assert event.data["id"] == job_id


async def test_resuming_after_any_event_gives_the_rest_and_nothing_twice(studio: Studio) -> None:
    first = await studio.listen("0")
    await studio.add_job()
    await studio.say("a")
    await studio.say("b", "c", "d")
    owe(studio.world, "web:abc", "e", ["webhook:wh_x"])
    seen = ""
    while "e" not in seen:
        event = await first.next()
        seen += event.data["text"] if event.noun == "message" else ""
        if event.id is None:
            continue
        resumed = await studio.listen(event.id)
        rest = ""
        while len(seen + rest) < 5:
            rest += (await resumed.next("message")).data["text"]
        assert seen + rest == "abcde"
        await resumed.close()
    assert seen == "abcde"


async def test_the_id_of_an_event_is_the_sessions_revision(studio: Studio) -> None:
    listener = await studio.listen("0")
    await studio.say("a")
    await studio.say("b", "c")
    told: list[tuple[str, str | None]] = []
    while len(told) < 3:
        event = await listener.next("message")
        told.append((event.data["text"], event.id))
    rev = studio.find().rev
    assert told == [("a", str(rev - 1)), ("b", f"{rev - 1}.2"), ("c", str(rev))]


async def test_whoever_comes_back_after_the_last_message_hears_how_the_session_is(studio: Studio) -> None:
    """Its state comes after the message under the same revision, and the line may have broken between them."""
    first = await studio.listen("0")
    await studio.say("a")
    seen = (await first.next("message")).id
    resumed = await studio.listen(seen)
    event = await resumed.next()
    assert (event.noun, event.data["last_message"]["text"], event.id) == ("session", "a", seen)
    assert event.data["last_message"]["kind"] == "note"


async def test_hello_says_whether_the_stream_goes_on_where_it_was(studio: Studio) -> None:
    where = studio.find()
    place = read_place("1")
    for after, resumed in ((None, False), (place, True), (Place(rev=10**6), False)):
        listener = Listener(studio.streams.of_session(OWNER_CALLER, where, after))
        hello = await listener.next()
        assert hello.data["resumed"] is resumed
        assert hello.id is not None
        await listener.close()


async def test_a_long_absence_is_told_in_parts_without_a_hole(studio: Studio) -> None:
    count = 2 * BATCH + 7
    await studio.say(*(f"one {n}" for n in range(count)))
    for n in range(5):
        await studio.say(f"then {n}")
    listener = await studio.listen("0")
    told = await listener.some(count + 5, "message")
    assert [event.data["seq"] for event in told] == list(range(1, count + 6))
    resumed = await studio.listen(told[BATCH - 1].id)
    rest = await resumed.some(count + 5 - BATCH, "message")
    assert [event.data["seq"] for event in rest] == list(range(BATCH + 1, count + 6))


async def test_many_listeners_look_together(studio: Studio) -> None:
    listeners = [await studio.listen() for _ in range(20)]
    looks = 0
    read = studio.world.store.read

    async def counted(work: Any) -> Any:
        nonlocal looks
        looks += 1
        return await read(work)

    studio.world.store.read = counted  # type: ignore[method-assign] # counts, and changes nothing
    await studio.say("zero")
    await asyncio.gather(*(listener.next("session") for listener in listeners))
    waiting = [asyncio.create_task(listener.next("message")) for listener in listeners]
    looks = 0
    await studio.say("one")
    told = await asyncio.gather(*waiting)
    assert {event.data["text"] for event in told} == {"one"}
    assert looks <= 3


async def test_a_deleted_session_is_told_and_its_stream_ends(studio: Studio) -> None:
    listener = await studio.listen()
    everything = await studio.listen_to_all()
    await studio.site.owner.delete("/api/sessions/web:abc")
    last = (await listener.rest())[-1]
    assert last.noun == "session"
    assert last.data["deleted_at"] is not None
    assert (await everything.next("session")).data["deleted_at"] is not None


async def test_a_late_joiner_gets_the_text_so_far_whole(room: Room) -> None:
    site = open_site(World(store=room.store, clock=FakeClock(START), instance=room.instance))
    studio = Studio(site)
    room.model.reply("", chunks=["Apples, ", "pears ", "and plums."], hold="gate", hold_after_chunks=1)
    async with site.app.router.lifespan_context(site.app), room.running():
        early = await studio.listen(key="web:chat")
        room.ledger.say("What is there?", "web:chat")
        room.ring()
        heard = (await early.next("text")).data
        late = await studio.listen(key="web:chat")
        text = (await late.next("text")).data
        assert text["whole"] is True
        assert text["turn_id"] == heard["turn_id"]
        assert "Apples, pears and plums.".startswith(text["text"])
        room.model.release("gate")
        for listener in (early, late):
            while (event := await listener.next("text", "message")).noun == "text" or event.data["role"] == "user":
                pass
            assert event.data["text"] == "Apples, pears and plums."
    await studio.close()


async def test_late_words_of_a_closed_turn_are_not_told(studio: Studio) -> None:
    listener = await studio.listen()
    studio.tell("turn_a", 1, "Hel", whole=True)
    studio.tell("turn_a", 2, "lo")
    told = await listener.some(2, "text")
    assert [event.data["text"] for event in told] == ["Hel", "lo"]
    assert all(event.id is None for event in told)

    session_id = studio.find().id

    def close(tx: Tx) -> None:
        sessions.lock(tx, [session_id])
        hello = NewMessage(
            session_id=session_id, lane_id=session_id, role="assistant", kind="chat", text="Hello", turn_id="turn_a"
        )
        sessions.append_messages(tx, [hello])

    await studio.world.store.write(close)
    assert (await listener.next("message")).data["text"] == "Hello"
    studio.tell("turn_a", 3, " again")
    studio.tell("turn_b", 1, "Next", whole=True)
    assert (await listener.next("text")).data["turn_id"] == "turn_b"


async def test_a_listener_too_slow_for_the_words_gets_them_whole(studio: Studio) -> None:
    listener = await studio.listen()
    studio.tell("turn_a", 0, "", whole=True)
    for n in range(1, 1501):
        studio.tell("turn_a", n, "x")
        await asyncio.sleep(0) if n % 100 == 0 else None
    text = ""
    while len(text) < 1500:
        piece = (await listener.next("text")).data
        text = piece["text"] if piece["whole"] else text + piece["text"]
    assert text == "x" * 1500


async def test_the_stream_of_a_user_carries_all_their_sessions_and_nobody_elses(studio: Studio) -> None:
    studio.find("web:one")
    session(studio.world, "web:theirs", "stranger")
    mine = await studio.listen_to_all()
    theirs = await studio.listen_to_all(Caller(user_id="stranger", role="user", door="api"))
    await studio.say("for one", key="web:one")
    await studio.say("for a new one", key="web:two")
    await studio.say("for a stranger", key="web:theirs", user_id="stranger")
    told = await mine.some(2, "message")
    assert [(event.data["session_key"], event.data["text"]) for event in told] == [
        ("web:one", "for one"),
        ("web:two", "for a new one"),
    ]
    assert all(event.id is None for event in told)
    assert (await theirs.next("message")).data["text"] == "for a stranger"
    job_id = await studio.add_job("web:one")
    assert (await mine.next("job")).data["id"] == job_id


async def test_everybody_hears_that_an_agent_changed(studio: Studio) -> None:
    listener = await studio.listen_to_all(STRANGER)
    await studio.site.owner.post("/api/agents", json={"name": "Research"})
    assert (await listener.next("agents")).data == {}


async def test_the_stream_of_a_user_begins_now(studio: Studio) -> None:
    await studio.say("old")
    listener = await studio.listen_to_all()
    await studio.say("new")
    assert (await listener.next("message")).data["text"] == "new"


async def test_a_lost_ring_costs_time_and_nothing_else(studio: Studio) -> None:
    """Whoever listens hears, after the bell's line broke, that everything has to be looked at."""
    one, everything = await studio.listen(), await studio.listen_to_all()
    waiting = [asyncio.create_task(listener.next("message")) for listener in (one, everything)]
    session_id = studio.find().id

    def silently(tx: Tx) -> None:
        sessions.lock(tx, [session_id])
        sessions.append_messages(
            tx, [NewMessage(session_id=session_id, lane_id=session_id, role="user", kind="chat", text="psst")]
        )
        tx.bells.clear()

    await studio.world.store.write(silently)
    bell = studio.world.store.bell
    for ear in tuple(bell.ears):  # type: ignore[attr-defined]
        ear.hear(ear.topics)
    assert {event.data["text"] for event in await asyncio.gather(*waiting)} == {"psst"}


async def test_all_streams_end_at_once_when_the_process_stops(studio: Studio) -> None:
    listeners = [await studio.listen(), await studio.listen_to_all()]
    waiting = [asyncio.create_task(listener.rest()) for listener in listeners]
    await studio.say("the last thing")
    studio.streams.leave()
    async with asyncio.timeout(5):
        await asyncio.gather(*waiting)


async def test_a_browser_that_comes_back_goes_on_from_its_last_event(studio: Studio) -> None:
    """The address is the one it began with, `after` included; the header knows better."""
    await studio.say("a")
    first = await studio.listen("0")
    seen = (await first.next("session")).id
    await studio.say("b")
    assert seen is not None
    told: list[bytes] = []
    scope = _scope("/api/sessions/web:abc/events", "after=0", ("last-event-id", seen))

    async def send(message: Any) -> None:
        told.append(message.get("body", b""))
        if b'"text":"b"' in message.get("body", b""):
            studio.streams.leave()

    async with asyncio.timeout(20):
        await studio.site.app(scope, _never, send)
    assert b'"text":"a"' not in b"".join(told).split(b"event: session")[0]
    assert b'"resumed": true' in told[1]


async def test_a_revoked_token_hears_no_more_than_the_next_sign_of_life(studio: Studio) -> None:
    made = (await studio.site.owner.post("/api/tokens", json={})).json()
    request = Request(_scope("/api/events", "", ("authorization", f"Bearer {made['token']}")))

    async def stream() -> AsyncIterator[bytes]:
        yield b"one"
        yield PING
        await studio.site.owner.delete(f"/api/tokens/{made['id']}")
        yield b"two"
        yield PING
        yield b"three"

    heard = [chunk async for chunk in _kept_in(studio.site.app.state.homing, request, stream())]
    assert heard == [b"one", PING, b"two"]


def _scope(path: str, query: str, *headers: tuple[str, str]) -> dict[str, Any]:
    given = {"host": "127.0.0.1:4664", "authorization": f"Bearer {OWNER_TOKEN}"} | dict(headers)
    return {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 4664), "state": {},
    }  # fmt: skip


async def _never() -> Any:
    await asyncio.Event().wait()


async def test_a_place_we_did_not_write_is_refused_in_a_query_and_passed_over_in_a_header(studio: Studio) -> None:
    studio.find()
    for after in ("x", "-1", "1.2.3", "9" * 30, ""):
        response = await studio.site.owner.get("/api/sessions/web:abc/events", params={"after": after})
        assert field_codes(response) == {"after": "wrong_type"}, after
        assert read_place(after) is None
