"""WebSockets of channels: whatever comes, somebody who waits for a frame hears of the end."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest
from httpx2.websockets import AsyncWebSocketSession

from homing.channels.sockets import Socket, SocketClosed


class Session:
    """The other side, which says the same again and again, or a few things and then nothing."""

    def __init__(self, *texts: str, endless: bool = False) -> None:
        self.texts = list(texts)
        self.endless = endless
        self.given = 0

    async def receive_text(self) -> str:
        await asyncio.sleep(0)
        if not self.endless and self.given == len(self.texts):
            await asyncio.Event().wait()
        self.given += 1
        return self.texts[0] if self.endless else self.texts[self.given - 1]


def socket_to(session: Session, notice: Callable[[Any], None] | None = None) -> Socket:
    return Socket(cast("AsyncWebSocketSession", session), notice)


@pytest.mark.parametrize("text", ["[" * 200_000, "no JSON", "[1]"])
async def test_a_frame_that_cannot_be_read_ends_the_connection(text: str) -> None:
    def notice(frame: Any) -> None:
        frame.get("op")

    socket = socket_to(Session("{}", text), notice)
    async with asyncio.timeout(20):
        await socket.read()
        assert await socket.receive() == {}
        for _ in range(2):
            with pytest.raises(SocketClosed):
                await socket.receive()


async def test_frames_that_nobody_asks_for_make_the_other_side_wait() -> None:
    session = Session("{}", endless=True)
    socket = socket_to(session)
    reading = asyncio.create_task(socket.read())
    for _ in range(10_000):
        await asyncio.sleep(0)
    assert 0 < session.given < 2_000
    # A full one can be ended, too.
    socket.end(None, "enough")
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    for _ in range(session.given - 1):
        assert await socket.receive() == {}
    with pytest.raises(SocketClosed, match="enough"):
        await socket.receive()
