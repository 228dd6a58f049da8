"""Tells search what was written: after the fact, in small batches, so that no turn waits for it."""

import asyncio

import structlog

from homing.model.errors import NotReady
from homing.store import Store, search

log = structlog.get_logger(__name__)

LOOK_SECONDS = 1.5
"""How often it looks although no bell rang: memories ring none, and another process on SQLite is not heard."""
PAUSE_SECONDS = 0.5
"""What is written meanwhile is indexed together."""


class Indexer:
    """Indexes what search does not know yet: fresh words, and a whole home after an upgrade."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def step(self) -> bool:
        """Index one batch; say whether there was anything."""
        batch = await self._store.read(search.unindexed)
        if not batch:
            return False
        batch = await asyncio.to_thread(search.spelled, batch)
        await self._store.write(lambda tx: search.index(tx, batch))
        return True

    async def _catch_up(self) -> None:
        more = True
        while more:
            more = self._store.outdated is None and await self.step()

    async def run(self) -> None:
        ear = self._store.bell.listen("session:", "jobs")
        try:
            while True:
                try:
                    await self._catch_up()
                except NotReady as error:
                    log.warning("indexer_waits", reason=str(error))
                await ear.wait(LOOK_SECONDS)
                await asyncio.sleep(PAUSE_SECONDS)
        finally:
            ear.close()
