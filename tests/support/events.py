"""Server-sent events, read as a browser reads them."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Event:
    """One event, and the id after it."""

    noun: str
    data: Any
    id: str | None


class Listener:
    """Reads events from chunks of bytes, and keeps what a browser keeps: the last id and the retry."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._text = ""
        self._ready: list[Event] = []
        self.last_id: str | None = None
        self.retry: int | None = None
        self.comments = 0

    async def next(self, *nouns: str, seconds: float = 60.0) -> Event:
        """Wait for the next event, or the next of some nouns."""
        async with asyncio.timeout(seconds):
            while True:
                event = await self._next()
                if not nouns or event.noun in nouns:
                    return event

    async def some(self, count: int, *nouns: str) -> list[Event]:
        return [await self.next(*nouns) for _ in range(count)]

    async def rest(self, *, seconds: float = 60.0) -> list[Event]:
        """Read until the stream ends."""
        events: list[Event] = []
        async with asyncio.timeout(seconds):
            while True:
                try:
                    events.append(await self._next())
                except StopAsyncIteration:
                    return events

    async def close(self) -> None:
        await self._chunks.aclose()  # type: ignore[attr-defined] # it is a generator

    async def _next(self) -> Event:
        while not self._ready:
            self._text += (await anext(self._chunks)).decode()
            *blocks, self._text = self._text.split("\n\n")
            self._ready += [event for block in blocks if (event := self._read(block))]
        event = self._ready.pop(0)
        self.last_id = event.id or self.last_id
        return event

    def _read(self, block: str) -> Event | None:
        noun, data, id_ = "message", None, None
        for line in block.split("\n"):
            name, _, value = line.partition(": ")
            match name:
                case "event":
                    noun = value
                case "data":
                    data = json.loads(value)
                case "id":
                    id_ = value
                case "retry":
                    self.retry = int(value)
                case _:
                    self.comments += 1
        return None if data is None else Event(noun=noun, data=data, id=id_)
