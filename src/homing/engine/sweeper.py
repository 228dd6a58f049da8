"""The net below the others: says that this worker lives, plans heartbeats, gives alerts, and drops what is too old."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial

import structlog

from homing.engine.abilities import Abilities
from homing.engine.alerts import give_alerts
from homing.engine.scheduler import Scheduler
from homing.model.clock import LEAP, Clock, ClockWatch
from homing.model.errors import NotReady
from homing.operations import approvals, dreams, heartbeats, questions
from homing.operations.context import Instance
from homing.store import Store, Tx, maintenance, schema

log = structlog.get_logger(__name__)

BEAT_SECONDS = 10.0
PRUNE_SECONDS = 3600.0
PLAN_SECONDS = 60.0
# A start this long after the last sign of work may have a wrong clock, which then has this long to prove right.
FAR = timedelta(days=1)
PROVE_SECONDS = 900.0


def schema_look(store: Store) -> Callable[[Tx], None]:
    """Rule 62: make a look that lets a process take no new work once a newer Homing has upgraded its database."""

    def look(tx: Tx) -> None:
        newer = schema.newer_than_known(tx)
        if newer and store.outdated is None:
            log.error("schema_outdated", version=newer)
        store.outdated = (
            f"the database has schema {newer}, made by a newer Homing; it takes no new work" if newer else None
        )

    return look


class Sweeper:
    """Beats and prunes."""

    def __init__(
        self,
        store: Store,
        instance: Instance,
        clock: Clock,
        worker_id: str,
        name: str,
        scheduler: Scheduler | None,
        abilities: Abilities | None = None,
        *,
        sweep_outside: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        self._store = store
        self._instance = instance
        self._worker_id = worker_id
        self._name = name
        self._scheduler = scheduler
        self._abilities = abilities or Abilities()
        self._sweep_outside = sweep_outside
        self._clock = clock
        self._watch = ClockWatch()
        self._prunes_from: float | None = None
        """Not before this, on the monotonic clock; None until the first look."""

    async def beat(self) -> None:
        """Say that this worker lives, and when it wakes next."""
        look_at_schema = schema_look(self._store)
        await self._store.write(lambda tx: (look_at_schema(tx), self._beat(tx)))

    def _beat(self, tx: Tx) -> None:
        self._look_at_clock(tx)
        scheduler = self._scheduler
        maintenance.beat(
            tx,
            self._worker_id,
            name=self._name,
            schedules=scheduler is not None and self._store.outdated is None,
            next_wake_at=scheduler.next_wake_at if scheduler else None,
            note=self._store.outdated or (scheduler.note if scheduler else None),
            can=self._abilities.can,
        )
        self._abilities.look(tx)

    def _look_at_clock(self, tx: Tx) -> None:
        """Records that a wrong clock calls too old are gone for good: it has to prove right first."""
        now, monotonic = tx.now(), self._clock.monotonic()
        leap = self._watch.leapt(now, monotonic)
        if self._prunes_from is None:
            newest = maintenance.newest_stamp(tx)
            leap = now - newest if newest is not None and now - newest > FAR else timedelta(0)
            self._prunes_from = monotonic
        if leap > LEAP:
            self._prunes_from = monotonic + PROVE_SECONDS

    async def plan(self) -> None:
        """Give the checklists of agents their system jobs, one in a transaction; where nothing fires, nothing."""
        if self._scheduler is None or self._store.outdated is not None:
            return
        settings = self._instance.settings
        for user_id, agent_id in await self._store.read(partial(heartbeats.lacking_checklists, settings=settings)):
            if await self._store.write(
                partial(heartbeats.give_checklist, user_id=user_id, agent_id=agent_id, settings=settings)
            ):
                log.info("heartbeat_planned", user_id=user_id, agent_id=agent_id)

    async def plan_dreams(self) -> None:
        """Give each user the system job of the memory upkeep, one in a transaction; where nothing fires, nothing."""
        if self._scheduler is None or self._store.outdated is not None:
            return
        settings = self._instance.settings
        for user_id in await self._store.read(partial(dreams.lacking_dreams, settings=settings)):
            if await self._store.write(partial(dreams.give_dream, user_id=user_id, settings=settings)):
                log.info("dream_planned", user_id=user_id)

    async def give_alerts(self) -> None:
        """Tell people what does not work, or does again."""
        if self._store.outdated is None:
            await give_alerts(self._store, self._instance)

    async def prune(self) -> bool:
        """Drop one batch of what is too old, then of what no row needs; say whether there may be more, now or later."""
        if self._store.outdated is not None:
            return True
        if self._prunes_from is not None and self._clock.monotonic() < self._prunes_from:
            return True
        await self._end_overdue()
        keep = timedelta(days=self._instance.settings.keep_runs_days)
        gone = await self._store.write(lambda tx: maintenance.prune(tx, keep_runs=keep))
        apart = await self._store.write(lambda tx: maintenance.prune_apart(tx, tx.now() - keep))
        if gone or apart:
            log.info("prune", runs=gone, sessions=apart)
            return True
        await self._store.write(maintenance.prune_usage)
        return await self._sweep()

    async def _end_overdue(self) -> None:
        """End approvals and questions that nobody answered in time, one in a transaction."""
        unified = self._instance.settings.unified_session
        for end in (approvals.expire_overdue, questions.expire_overdue):
            while await self._store.write(partial(end, unified=unified)):
                pass

    async def run(self) -> None:
        since_prune, since_plan = PRUNE_SECONDS, PLAN_SECONDS
        while True:
            try:
                await self.beat()
                if since_plan >= PLAN_SECONDS:
                    await self.plan()
                    since_plan = 0.0
                if since_prune >= PRUNE_SECONDS:
                    await self.plan_dreams()
                await self.give_alerts()
                if since_prune >= PRUNE_SECONDS and not await self.prune():
                    since_prune = 0.0
            except NotReady as error:
                # The loud one of those who wait: it beats rarely, and gives the reason.
                log.error("sweeper_waits", reason=str(error))  # noqa: TRY400
            await asyncio.sleep(BEAT_SECONDS)
            since_prune += BEAT_SECONDS
            since_plan += BEAT_SECONDS

    async def _sweep(self) -> bool:
        """Remove one batch of what no row needs any more outside the database; say whether there may be more."""
        if self._sweep_outside is None:
            return False
        try:
            return await self._sweep_outside()
        except OSError:
            log.exception("sweep_failed")
            return False

    async def leave(self) -> None:
        """Say goodbye at a graceful stop, if there is a database to say it to."""
        with contextlib.suppress(NotReady):
            await self._store.write(lambda tx: maintenance.leave(tx, self._worker_id))
