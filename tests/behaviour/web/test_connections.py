"""Connections over a real socket: those that say nothing are closed, those that are only slow are not."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from homing.web.connections import Connection, Patience, connection_cap
from homing.web.server import Server, make_server, raise_descriptor_limit
from homing.web.stream import PING_SECONDS
from support.asking import session
from support.site import OWNER_TOKEN, Site, owe

PATIENCE = Patience(head_seconds=0.5, stall_seconds=0.8, body_seconds=5, unread_seconds=0.5, linger_seconds=0.3)
AUTHORIZED = f"Host: 127.0.0.1\r\nAuthorization: Bearer {OWNER_TOKEN}\r\n"
CAP = 16
STREAMS = ("/api/sessions/web:abc/events", "/api/events")


@dataclass(frozen=True, kw_only=True)
class Wire:
    """A server on a port, and a way to speak to it byte by byte."""

    server: Server
    port: int
    lines: "list[Line]" = field(default_factory=list["Line"])

    async def open(self, said: str = "") -> "Line":
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        line = Line(reader=reader, writer=writer)
        self.lines.append(line)
        await line.say(said)
        return line

    @property
    def connections(self) -> int:
        return len(self.server.server_state.connections)


@dataclass(frozen=True, kw_only=True)
class Line:
    """One connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def say(self, text: str) -> None:
        self.writer.write(text.encode())
        await self.writer.drain()

    async def heard(self) -> bytes:
        """Read until the server closes; a reset is a way to close."""
        said = b""
        with contextlib.suppress(ConnectionError):
            async with asyncio.timeout(15):
                while piece := await self.reader.read(65_536):
                    said += piece
        return said

    async def answer(self) -> tuple[int, bytes]:
        """Read one whole answer."""
        async with asyncio.timeout(15):
            head = await self.reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            return int(head.split()[1]), await self.reader.readexactly(length)


@pytest.fixture
async def wire(site: Site) -> AsyncIterator[Wire]:
    async with served(site, PATIENCE, CAP) as wire:
        yield wire


@contextlib.asynccontextmanager
async def served(site: Site, patience: Patience, cap: int) -> AsyncIterator[Wire]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = make_server(site.app, host="127.0.0.1", port=0, patience=patience, cap=cap)
        server.config.lifespan = "off"
        server.capture_signals = contextlib.nullcontext  # type: ignore[assignment]
        task = asyncio.create_task(server.serve(sockets=[listening]))
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.005)
        wire = Wire(server=server, port=listening.getsockname()[1])
        yield wire
        for line in wire.lines:
            line.writer.close()
        server.should_exit = True
        await task


def problem(said: bytes, status: int) -> dict[str, Any]:
    head, _, body = said.partition(b"\r\n\r\n")
    assert head.split()[1] == str(status).encode(), said
    assert b"application/problem+json" in head
    assert b"connection: close" in head.lower()
    return json.loads(body)


@pytest.mark.parametrize("path", STREAMS)
async def test_events_of_a_stream_are_never_compressed_nor_held_back(wire: Wire, site: Site, path: str) -> None:
    """Each comes by itself to a reader that would take it compressed: none waits for another to fill a buffer."""
    session(site.world)
    line = await wire.open(f"GET {path} HTTP/1.1\r\n{AUTHORIZED}Accept-Encoding: gzip, deflate, br\r\n\r\n")
    async with asyncio.timeout(15):
        head = (await line.reader.readuntil(b"\r\n\r\n")).lower()
        assert b"text/event-stream" in head
        assert b"content-encoding" not in head
        await line.reader.readuntil(b"event: hello")
        owe(site.world, "web:abc", "Is it you?", ["web:abc"])
        site.world.store.bell.ring({"session:1", "user:default", "user:default/1"})
        await line.reader.readuntil(b"Is it you?")


async def test_a_connection_that_says_nothing_is_closed(wire: Wire) -> None:
    assert await (await wire.open()).heard() == b""


async def test_a_head_that_is_never_whole_is_closed_with_a_problem(wire: Wire) -> None:
    line = await wire.open("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n")
    trickle = asyncio.create_task(_trickle(line, "X-Slow: 1\r\n"))
    assert problem(await line.heard(), 408)["code"] == "malformed"
    trickle.cancel()
    kept = await wire.open(f"GET /api/me HTTP/1.1\r\n{AUTHORIZED}\r\n")
    assert (await kept.answer())[0] == 200
    await kept.say("GET /api/me HT")
    problem(await kept.heard(), 408)


async def _trickle(line: Line, piece: str) -> None:
    with contextlib.suppress(ConnectionError):
        while True:
            await asyncio.sleep(0.1)
            await line.say(piece)


POST = f"POST /api/memories HTTP/1.1\r\n{AUTHORIZED}Content-Type: application/json\r\n"


async def test_a_body_that_stalls_is_closed_with_a_problem_and_changes_nothing(site: Site, wire: Wire) -> None:
    line = await wire.open(f'{POST}Content-Length: 100\r\n\r\n{{"text": ')
    problem(await line.heard(), 408)
    assert (await site.owner.get("/api/memories")).json()["items"] == []


async def test_a_body_that_is_only_slow_is_taken(site: Site, wire: Wire) -> None:
    body = '{"text": "slowly but surely"}'
    line = await wire.open(f"{POST}Content-Length: {len(body)}\r\n\r\n")
    began = asyncio.get_running_loop().time()
    for at in range(0, len(body), 3):
        await line.say(body[at : at + 3])
        await asyncio.sleep(0.2)
    assert asyncio.get_running_loop().time() - began > PATIENCE.stall_seconds + PATIENCE.head_seconds
    assert (await line.answer())[0] == 201


async def test_a_body_that_nobody_wants_any_more_does_not_go_on_for_long(wire: Wire) -> None:
    line = await wire.open("POST /api/memories HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 900000\r\n\r\n{")
    status, _ = await line.answer()
    assert status == 401
    trickle = asyncio.create_task(_trickle(line, "x"))
    await line.heard()
    trickle.cancel()


async def test_an_answer_that_nobody_reads_is_given_up(wire: Wire) -> None:
    asks = "GET /api/openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 200
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.setblocking(False)
        await asyncio.get_running_loop().sock_connect(deaf, ("127.0.0.1", wire.port))
        await asyncio.get_running_loop().sock_sendall(deaf, asks.encode())
        async with asyncio.timeout(15):
            while wire.connections == 0:  # noqa: ASYNC110 - the server has no event for it
                await asyncio.sleep(0.01)
            while wire.connections:  # noqa: ASYNC110
                await asyncio.sleep(0.01)


async def test_a_stream_outlives_all_patience(site: Site, wire: Wire) -> None:
    session(site.world)
    line = await wire.open(f"GET /api/sessions/web:abc/events HTTP/1.1\r\n{AUTHORIZED}\r\n")
    async with asyncio.timeout(15):
        await line.reader.readuntil(b"event: hello")
        await asyncio.sleep(PATIENCE.head_seconds + PATIENCE.stall_seconds + PATIENCE.unread_seconds)
        owe(site.world, "web:abc", "still there?", [])
        assert await line.reader.readuntil(b"still there?")


async def test_when_all_connections_are_taken_the_one_that_waits_longest_makes_room(wire: Wire) -> None:
    silent = [await wire.open("GET / HTTP/1.1\r\n") for _ in range(CAP)]
    asking = await wire.open(f"GET /api/me HTTP/1.1\r\n{AUTHORIZED}\r\n")
    assert (await asking.answer())[0] == 200
    assert await silent[0].heard() == b""


async def test_strangers_make_room_before_a_connection_that_its_client_is_about_to_use_again(wire: Wire) -> None:
    asked = f"GET /api/me HTTP/1.1\r\n{AUTHORIZED}\r\n"
    known = await wire.open(asked)
    assert (await known.answer())[0] == 200
    strangers = [await wire.open("GET / HTTP/1.1\r\n") for _ in range(CAP + 2)]
    assert await strangers[0].heard() == b""
    await known.say(asked)
    assert (await known.answer())[0] == 200


async def test_connections_that_are_in_use_are_not_closed_for_others(site: Site, wire: Wire) -> None:
    session(site.world)
    streams = [await wire.open(f"GET /api/events HTTP/1.1\r\n{AUTHORIZED}\r\n") for _ in range(CAP // 4)]
    others: list[Line] = []
    for name in ("anna", "ben", "cleo"):
        token = (await site.owner.post("/api/tokens", json={"user": name})).json()["token"]
        asked = f"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n"
        others += [await wire.open(asked) for _ in range(CAP // 4)]
    for stream in (*streams, *others):
        await stream.reader.readuntil(b"event: hello")
    refused = await wire.open(f"GET /api/me HTTP/1.1\r\n{AUTHORIZED}\r\n")
    assert problem(await refused.heard(), 503)["code"] == "not_ready"
    owe(site.world, "web:abc", "all of you", [])
    for stream in streams:
        async with asyncio.timeout(15):
            await stream.reader.readuntil(b"all of you")


async def test_one_user_cannot_take_all_connections_with_streams(wire: Wire) -> None:
    asked = f"GET /api/events HTTP/1.1\r\n{AUTHORIZED}\r\n"
    streams = [await wire.open(asked) for _ in range(CAP // 4)]
    for stream in streams:
        await stream.reader.readuntil(b"event: hello")
    status, said = await (await wire.open(asked)).answer()
    assert (status, json.loads(said)["code"]) == (429, "slow_down")
    streams[0].writer.close()
    async with asyncio.timeout(15):
        while b" 200 " not in await (await wire.open(asked)).reader.readline():
            pass


async def test_a_hook_that_does_not_exist_is_refused_before_its_body_is_read(wire: Wire) -> None:
    line = await wire.open("POST /api/hooks/zzz HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\na")
    assert (await line.answer())[0] == 404


async def test_bodies_of_unknown_senders_make_room_and_those_of_known_ones_do_not(site: Site) -> None:
    body, cap = '{"text": "slowly"}', 8
    asked = f"GET /api/me HTTP/1.1\r\n{AUTHORIZED}Connection: close\r\n\r\n"
    async with served(site, Patience(), cap) as wire:
        heads = (f"{POST}Content-Length: {len(body)}", *[f"{SIGN_IN}Content-Length: 1000"] * (cap - 1))
        known, *unknown = [await wire.open(f"{head}\r\nExpect: 100-continue\r\n\r\n") for head in heads]
        for line in (known, *unknown):
            await line.reader.readuntil(b"100 Continue\r\n\r\n")
        assert (await (await wire.open(asked)).answer())[0] == 200
        assert await unknown[0].heard() == b""
        await known.say(body)
        assert (await known.answer())[0] == 201


async def test_what_is_not_http_gets_a_problem_too(wire: Wire) -> None:
    assert problem(await (await wire.open("\x16\x03\x01 hello\r\n\r\n")).heard(), 400)["code"] == "malformed"


async def test_revoking_a_token_ends_its_streams_at_once(site: Site, wire: Wire) -> None:
    session(site.world)
    made = (await site.owner.post("/api/tokens", json={})).json()
    proof = f"Host: 127.0.0.1\r\nAuthorization: Bearer {made['token']}\r\n"
    ended = [await wire.open(f"GET {path} HTTP/1.1\r\n{proof}\r\n") for path in STREAMS]
    others = [await wire.open(f"GET {path} HTTP/1.1\r\n{AUTHORIZED}\r\n") for path in STREAMS]
    for stream in (*ended, *others):
        await stream.reader.readuntil(b"event: hello")
    assert (await site.owner.delete(f"/api/tokens/{made['id']}")).status_code == 200
    async with asyncio.timeout(PING_SECONDS / 2):
        for stream in ended:
            assert b"after" not in await stream.reader.read()
    owe(site.world, "web:abc", "after that", [])
    for stream in others:
        async with asyncio.timeout(15):
            await stream.reader.readuntil(b"after that")


SIGN_IN = "POST /api/auth/sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


async def test_a_made_up_forwarded_address_gives_no_fresh_tries(wire: Wire) -> None:
    body = '{"code": "guess"}'
    statuses: list[int] = []
    for number in range(12):
        line = await wire.open(
            f"{SIGN_IN}X-Forwarded-For: 10.0.0.{number}\r\nContent-Length: {len(body)}\r\n\r\n{body}"
        )
        statuses.append((await line.answer())[0])
        line.writer.close()
    assert statuses == [401] * 10 + [429] * 2


def test_there_are_fewer_connections_than_descriptors() -> None:
    assert connection_cap(256) < 256 - 128
    assert connection_cap(512) > 512 - 256
    assert connection_cap(1024) < 1024 - 128
    assert connection_cap(1_000_000) == 4096
    assert raise_descriptor_limit() >= 256
    assert issubclass(Connection, asyncio.Protocol)
