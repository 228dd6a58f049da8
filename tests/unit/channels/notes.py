"""An intake in memory for tests of channels, and a way to listen for the length of a block."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import pytest

from homing.channels import Channel, IncomingMessage, Part
from homing.model.errors import ChannelFailed


class Notes:
    """An intake that can break off before or after it has written."""

    def __init__(
        self,
        cursor: str | None = None,
        *,
        break_off: str | None = None,
        known: bool = True,
        awaiting: bool = False,
    ) -> None:
        self.cursor = cursor
        self.taken: list[IncomingMessage] = []
        self.unread = 0
        self.break_off = break_off
        self.known = known
        self.awaiting = awaiting
        self._news = asyncio.Event()

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self.taken]

    async def knows(self, address: str, sender: str) -> bool:
        return self.known

    async def awaits_link(self) -> bool:
        return self.awaiting

    async def take(
        self, messages: Sequence[IncomingMessage], cursor: str | None, *, unread: int = 0, strangers: int = 0
    ) -> None:
        if messages and self.break_off == "before":
            raise ConnectionError("killed")
        self.taken += messages
        self.unread += unread
        self.cursor = cursor
        self._news.set()
        if messages and self.break_off == "after":
            raise ConnectionError("killed")

    async def until(self, count: int = 0, *, unread: int = 0) -> list[IncomingMessage]:
        """Wait until so many messages were taken, or at first until anything was written; give them all."""
        async with asyncio.timeout(20):
            while len(self.taken) < count or self.unread < unread or self.cursor is None:
                self._news.clear()
                await self._news.wait()
        return self.taken


@asynccontextmanager
async def listening(channel: Channel, intake: Notes) -> AsyncIterator[Notes]:
    """Listen until the end of the block; the listen must not have ended by itself."""
    task = asyncio.create_task(channel.listen(intake))
    try:
        yield intake
    finally:
        ended = task.done()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert not ended


async def failure(channel: Channel, part: Part) -> ChannelFailed:
    with pytest.raises(ChannelFailed) as caught:
        await channel.send(part)
    return caught.value
