"""Rings for Restate, where something else answers at its address."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from time import monotonic

from homing.engine.restate_rings import Rings
from support.rooms import Room, room, room_store

__all__ = ["room", "room_store"]


class Stranger:
    """Takes every registration and knows no lane."""

    def __init__(self) -> None:
        self.registered: asyncio.Queue[float] = asyncio.Queue()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        registers = b"/deployments" in head.split(b"\r\n", 1)[0]
        if registers:
            self.registered.put_nowait(monotonic())
        status = b"201 Created" if registers else b"404 Not Found"
        writer.write(b"HTTP/1.1 " + status + b"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self.answer, "127.0.0.1", 0)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()


async def test_a_stranger_at_restates_address_is_not_registered_at_without_pause(room: Room) -> None:
    room.ledger.say("hello")
    stranger = Stranger()
    await room.store.bell.open()
    async with stranger.listening() as url:
        settings = replace(room.instance.settings, restate_url=url, restate_admin_url=url)
        ringing = asyncio.create_task(Rings(room.store, settings, room.clock, set[int]).run())
        try:
            async with asyncio.timeout(120):
                first, second = [await stranger.registered.get() for _ in range(2)]
        finally:
            ringing.cancel()
            await asyncio.gather(ringing, return_exceptions=True)
    assert second - first > 4
