"""The bell of many processes: NOTIFY, with many rings folded into one. Loaded only where PostgreSQL is used."""

import asyncio
import json
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any

import psycopg
from sqlalchemy.engine import URL

from homing.store.bell import LIVE_KEPT, LocalBell

_Connection = psycopg.AsyncConnection[tuple[Any, ...]]

_CHANNEL = "homing"
_COALESCE_SECONDS = 0.005
# PostgreSQL refuses a payload of 8000 bytes or more.
_PAYLOAD = 7500


class PostgresBell(LocalBell):
    """Rings in this process at once, and in the others by NOTIFY, many rings folded into one."""

    def __init__(self, url: URL) -> None:
        super().__init__()
        self._conninfo = url.set(drivername="postgresql").render_as_string(hide_password=False)
        self._topics: set[str] = set()
        self._words: deque[str] = deque(maxlen=LIVE_KEPT)
        self._dirty = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._me = secrets.token_hex(4)

    def ring(self, topics: Iterable[str]) -> None:
        topics = set(topics)
        self.ring_here(topics)
        self._topics |= topics
        self._dirty.set()

    def say(self, topics: Iterable[str], words: dict[str, object]) -> None:
        topics = sorted(topics)
        super().say(topics, words)
        payload = json.dumps([self._me, topics, words])
        if len(payload.encode()) < _PAYLOAD:
            self._words.append(payload)
            self._dirty.set()

    async def open(self) -> None:
        if not self._tasks:
            self._tasks = [asyncio.create_task(self._keep(self._hear)), asyncio.create_task(self._keep(self._tell))]

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        await super().close()

    async def _keep(self, talk: "Callable[[_Connection], Awaitable[None]]") -> None:
        """Talk over a connection of its own; when it breaks, look by yourself and connect again."""
        pause = 0.1
        while True:
            try:
                async with await psycopg.AsyncConnection.connect(
                    self._conninfo, autocommit=True, prepare_threshold=None
                ) as connection:
                    pause = 0.1
                    await talk(connection)
            except (psycopg.Error, OSError):
                await asyncio.sleep(pause)
                pause = min(pause * 2, 5.0)

    async def _hear(self, connection: "_Connection") -> None:
        await connection.execute(f"listen {_CHANNEL}")
        # Rings while nobody listened are lost: everybody looks once.
        for ear in tuple(self.ears):
            ear.hear(ear.topics)
        async for note in connection.notifies():
            if note.payload.startswith("["):
                sender, topics, words = json.loads(note.payload)
                if sender != self._me:
                    super().say(topics, words)
            else:
                self.ring_here(note.payload.split(" "))

    async def _tell(self, connection: "_Connection") -> None:
        while True:
            await self._dirty.wait()
            self._dirty.clear()
            payloads = [*_packed(self._topics), *self._words]
            self._topics, self._words = set(), deque(maxlen=LIVE_KEPT)
            for payload in payloads:
                await connection.execute("select pg_notify(%s, %s)", (_CHANNEL, payload))
            await asyncio.sleep(_COALESCE_SECONDS)


def rings_pass(url: URL, *, seconds: float = 5.0) -> bool:
    """Try whether a ring is heard by another connection; through a transaction pooler it is not."""
    conninfo = url.set(drivername="postgresql").render_as_string(hide_password=False)
    probe = secrets.token_hex(8)
    connect = partial(psycopg.connect, conninfo, autocommit=True, prepare_threshold=None, connect_timeout=5)
    with connect() as listening, connect() as ringing:
        listening.execute(f"listen homing_probe_{probe}".encode())
        ringing.execute("select pg_notify(%s, '')", (f"homing_probe_{probe}",))
        heard = any(True for _ in listening.notifies(timeout=seconds, stop_after=1))
        listening.execute("unlisten *")
    return heard


def _packed(topics: set[str]) -> list[str]:
    packed: list[str] = []
    for topic in sorted(topics):
        if packed and len(packed[-1]) + len(topic) < _PAYLOAD:
            packed[-1] += f" {topic}"
        else:
            packed.append(topic)
    return packed
