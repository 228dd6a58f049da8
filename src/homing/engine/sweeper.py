"""The net below the others: says that this worker lives, and drops what is older than it is kept."""

import asyncio
from datetime import timedelta

import structlog

from homing.engine.scheduler import Scheduler
from homing.model.errors import NotReady
from homing.operations.desk import House
from homing.store import Store, upkeep

log = structlog.get_logger(__name__)

BEAT_SECONDS = 10.0
PRUNE_SECONDS = 3600.0


class Sweeper:
    """Beats and prunes."""

    def __init__(self, store: Store, house: House, worker_id: str, name: str, scheduler: Scheduler | None) -> None:
        self._store = store
        self._house = house
        self._worker_id = worker_id
        self._name = name
        self._scheduler = scheduler

    async def beat(self) -> None:
        """Say that this worker lives, and when it wakes next."""
        wake = self._scheduler.next_wake_at if self._scheduler else None
        await self._store.write(
            lambda tx: upkeep.beat(
                tx, self._worker_id, name=self._name, schedules=self._scheduler is not None, next_wake_at=wake
            )
        )

    async def prune(self) -> bool:
        """Drop one batch of what is too old; say whether there may be more."""
        keep = timedelta(days=self._house.settings.keep_runs_days)
        gone = await self._store.write(lambda tx: upkeep.prune(tx, keep_runs=keep))
        if gone:
            log.info("pruned", action="prune", runs=gone)
        return gone > 0

    async def run(self) -> None:
        since_prune = PRUNE_SECONDS
        while True:
            try:
                await self.beat()
                if since_prune >= PRUNE_SECONDS and not await self.prune():
                    since_prune = 0.0
            except NotReady:
                log.warning("the database does not answer", action="sweeper_waits")
            await asyncio.sleep(BEAT_SECONDS)
            since_prune += BEAT_SECONDS

    async def leave(self) -> None:
        """Say goodbye at a graceful stop."""
        await self._store.write(lambda tx: upkeep.leave(tx, self._worker_id))
