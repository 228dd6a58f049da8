"""Streams over the wire: fifty listeners, four writers, and a server that goes away twice while they talk."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from homing.model.clock import SystemClock
from homing.model.messages import NewMessage
from homing.model.people import OWNER
from homing.operations.context import Context
from homing.operations.job_changes import update_job
from homing.operations.shapes.job_asks import UpdateJob
from homing.store import Store, Tx, people, sessions
from homing.testing import PostgresServer
from support.asking import add
from support.events import Event, Listener
from support.serving import ServerProcess
from support.site import OWNER_TOKEN
from support.worlds import OWNER_CALLER, World, make_instance

KEY = "web:abc"
LISTENERS = 50
WRITERS = 4
EACH = 25
AUTHORIZED = {"Authorization": f"Bearer {OWNER_TOKEN}"}


@pytest.fixture
def postgres(postgres_server: PostgresServer) -> Iterator[str]:
    url = postgres_server.fresh("homing_template")
    yield url
    postgres_server.drop(url)


@pytest.fixture
async def world(postgres: str) -> AsyncIterator[World]:
    store = Store(postgres, SystemClock(), fsync=False)
    store.write_now(
        lambda tx: people.add_token(tx, user_id=OWNER, role="admin", kind="token", secret=OWNER_TOKEN, expires_at=None)
    )
    await store.bell.open()
    yield World(store=store, clock=None, instance=make_instance())  # type: ignore[arg-type] # nothing here asks for the time
    await store.close()


class Client:
    """A browser's event source: it comes back by itself, and says where it was."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.events: list[Event] = []
        self.hellos: list[Event] = []
        self.last_id: str | None = None
        self.greeted = asyncio.Event()

    async def run(self, until: int) -> None:
        """Listen until a message of this seq has come and the session's state after it."""
        async with httpx2.AsyncClient(timeout=None) as http:
            while not self.done(until):
                try:
                    await self._listen(http, until)
                except (httpx2.HTTPError, StopAsyncIteration):
                    await asyncio.sleep(0.1)

    def done(self, until: int) -> bool:
        return bool(self.events) and self.events[-1].noun == "session" and self._last_seq() >= until

    def _last_seq(self) -> int:
        return (self.events[-1].data["last_message"] or {"seq": 0})["seq"]

    async def _listen(self, http: httpx2.AsyncClient, until: int) -> None:
        headers = AUTHORIZED | ({"Last-Event-ID": self.last_id} if self.last_id else {})
        async with http.stream("GET", self.url, headers=headers) as response:
            assert response.status_code == 200
            listener = Listener(response.aiter_bytes())
            hello = await listener.next("hello", seconds=60)
            self.hellos.append(hello)
            self.last_id = self.last_id or hello.id
            self.greeted.set()
            while not self.done(until):
                event = await listener.next(seconds=60)
                self.events.append(event)
                self.last_id = event.id or self.last_id


@pytest.mark.slow
async def test_fifty_listeners_see_every_message_once_and_in_order_through_two_restarts(
    world: World, postgres: str, tmp_path: Path
) -> None:
    job = add(world)
    session_id = world.write(lambda tx: sessions.find(tx, KEY, user_id=OWNER))
    assert session_id is not None
    written = 0
    enough = [asyncio.Event(), asyncio.Event()]

    async def write(writer: int) -> None:
        nonlocal written
        for n in range(EACH):
            await world.store.write(lambda tx, n=n: _speak(tx, world, session_id.id, f"{writer}.{n}", job.id))
            written += 1
            for nth, event in enumerate(enough, 1):
                if written >= nth * WRITERS * EACH // 3:
                    event.set()
            # A breath, so that the server goes away in the middle and not at the end.
            await asyncio.sleep(0.01)

    with ServerProcess(postgres, tmp_path) as server:
        clients = [Client(f"{server.url}/api/sessions/{KEY}/events") for _ in range(LISTENERS)]
        last = WRITERS * EACH * 2
        listening = [asyncio.create_task(client.run(last)) for client in clients]
        await asyncio.gather(*(client.greeted.wait() for client in clients))
        writing = [asyncio.create_task(write(writer)) for writer in range(WRITERS)]
        await enough[0].wait()
        took = await asyncio.to_thread(server.stop, signal.SIGTERM)
        # Streams that nobody ends hold a server for the ten seconds of its grace.
        assert took < 10, f"fifty open streams held the server up for {took:.1f} s"
        await asyncio.to_thread(server.start)
        await enough[1].wait()
        await asyncio.to_thread(server.stop, signal.SIGKILL)
        await asyncio.to_thread(server.start)
        async with asyncio.timeout(120):
            await asyncio.gather(*writing)
            await asyncio.gather(*listening)
        async with httpx2.AsyncClient(headers=AUTHORIZED, base_url=server.url) as http:
            newest_job = (await http.get(f"/api/jobs/{job.id}")).json()
            newest_session = (await http.get(f"/api/sessions/{KEY}")).json()

    for client in clients:
        told = [event.data for event in client.events if event.noun == "message"]
        assert [message["seq"] for message in told] == list(range(1, last + 1))
        assert [event.data for event in client.events if event.noun == "job"][-1] == newest_job
        assert client.events[-1].data == newest_session
        assert not client.hellos[0].data["resumed"]
        assert all(hello.data["resumed"] for hello in client.hellos[1:])
        assert len(client.hellos) >= 2
    order: dict[str, list[int]] = {}
    for message in told:  # pyright: ignore[reportPossiblyUnboundVariable]
        writer, n = message["text"].split(".")
        order.setdefault(writer, []).append(int(n))
    assert order == {str(writer): sorted([*range(EACH)] * 2) for writer in range(WRITERS)}


def _speak(tx: Tx, world: World, session_id: int, text: str, job_id: str) -> None:
    """Say two messages, and change the job, as one turn might."""
    ctx = Context(tx=tx, caller=OWNER_CALLER, instance=world.instance)
    update_job(ctx, UpdateJob(job_id=job_id, name=text))
    sessions.lock(tx, [session_id])
    new = NewMessage(session_id=session_id, lane_id=session_id, role="assistant", kind="note", text=text)
    sessions.append_messages(tx, [new, new])


async def test_the_stream_of_a_user_works_over_the_wire_and_between_processes(
    world: World, postgres: str, tmp_path: Path
) -> None:
    add(world)
    with ServerProcess(postgres, tmp_path) as server:
        async with (
            httpx2.AsyncClient(headers=AUTHORIZED, base_url=server.url, timeout=None) as http,
            http.stream("GET", "/api/events") as response,
        ):
            assert response.headers["content-type"].startswith("text/event-stream")
            listener = Listener(response.aiter_bytes())
            hello = await listener.next()
            assert hello.data["resumed"] is False
            said: dict[str, Any] = {"session_key": KEY, "turn_id": "turn_x", "attempt": 1, "n": 1, "text": "Hel",
                                    "whole": True}  # fmt: skip
            heard = asyncio.create_task(listener.next("text"))
            while not heard.done():
                # Words are live only: those said before the server listens are lost.
                world.store.bell.say([f"user:{OWNER}", "session:1"], {"event": "text", "data": said})
                await asyncio.wait([heard], timeout=0.1)
            assert heard.result().data == said
            sent = await http.post(f"/api/sessions/{KEY}/messages", json={"text": "hi"})
            assert sent.status_code == 202
            state = await listener.next("session")
            assert json.dumps(state.data["lane"][0]["text"]) == '"hi"'
