"""The driver of the lanes: picks which to work on, has slots for people and for machines, keeps its claims alive.

Picking is a hint; opening, which locks the row, decides. A turn taken up again overtakes fresh ones at the slots.
"""

import asyncio
import contextlib
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from homing.engine.abilities import Abilities
from homing.engine.claims import Claim
from homing.engine.lane import Lanes, work_lane
from homing.model.clock import Clock
from homing.model.errors import NotReady
from homing.model.turns import Turn
from homing.store import Store, Tx, maintenance, picking, turns

log = structlog.get_logger(__name__)

# How long a stopping worker lets its turns finish before it hands them back.
GRACE_SECONDS = 5.0
# How long they then have to hear it.
LEAVE_SECONDS = 2.0
_AFTER_CLAIM = 0.1
# How often to see whether the workers of an outside engine are gone, while it vouches for a turn.
_VOUCHED_LOOK_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True)
class Picked:
    """Lanes worth a try, and when to look again by yourself."""

    people: list[int]
    machines: list[int]
    waiting: bool
    next_claim_end: datetime | None
    vouched: bool
    now: datetime
    after: str
    """Where the next look at very many users goes on."""


class Runner:
    """Works lanes, as many at once as there are slots."""

    def __init__(self, room: Lanes, clock: Clock, worker_id: str, abilities: Abilities | None = None) -> None:
        self.worker_id = worker_id
        settings = room.instance.settings
        self._room = room
        self._clock = clock
        self._abilities = abilities or Abilities()
        self._slots = {"people": settings.slots, "machines": settings.max_concurrent_runs}
        self._claim_seconds = settings.claim_seconds
        self._beat = settings.idle_retry_ms / 1000
        self._at_work: dict[int, tuple[str, Claim, asyncio.Task[None]]] = {}
        # Guards sleep while there is nothing to guard: an idle worker does not wake for them.
        self._any_work = asyncio.Event()
        self._stopping = False
        self._after = ""

    @property
    def _store(self) -> Store:
        return self._room.store

    @property
    def busy(self) -> int:
        return len(self._at_work)

    async def run(self) -> None:
        """Work until stopped. Ends only by cancellation; `stop` first lets turns finish or hands them back."""
        ear = self._store.bell.listen("lanes", "cancels")
        guards = [asyncio.create_task(self._keep_claims()), asyncio.create_task(self._watch_cutoffs())]
        try:
            while True:
                seconds = await self._fill()
                rung = await ear.wait(seconds)
                if "cancels" in rung and self._at_work:
                    await self._look_for_cancels()
        finally:
            ear.close()
            for guard in guards:
                guard.cancel()
            await asyncio.gather(*guards, return_exceptions=True)

    async def step(self) -> bool:
        """Pick once, work what was picked to its end, and say whether there was anything: for tests and drains."""
        await self._fill()
        tasks = [task for _, _, task in self._at_work.values()]
        if not tasks:
            return False
        await asyncio.wait(tasks)
        return True

    async def stop(self, grace: float = GRACE_SECONDS) -> None:
        """Take nothing new; let turns finish for a moment, then hand them back uncounted."""
        self._stopping = True
        tasks = [task for _, _, task in self._at_work.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=grace)
        for _, claim, _ in list(self._at_work.values()):
            claim.stop("leave")
        if rest := [task for _, _, task in self._at_work.values()]:
            await asyncio.wait(rest, timeout=LEAVE_SECONDS)
        for _, claim, _ in list(self._at_work.values()):
            # Not handed back: it may still be doing something. It writes nothing more, and its claim runs out.
            log.warning("turn_deaf", turn=claim.turn_id, at=claim.doing)
            claim.stop("lost")

    async def _fill(self) -> float:
        """Start work on free slots; say for how long nothing can be missed."""
        free = self._free()
        held = set(self._at_work)
        left = self._abilities.left_agents
        try:
            picked = await self._store.read(
                lambda tx: pick(tx, free["people"], free["machines"], held, self._after, left)
            )
        except NotReady:
            log.warning("runner_waits")
            return self._beat
        self._after = picked.after
        if not self._stopping and self._store.outdated is None:
            for line, lane_ids in (("people", picked.people), ("machines", picked.machines)):
                for lane_id in lane_ids:
                    self._start(line, lane_id)
        return self._sleep(picked)

    def _free(self) -> dict[str, int]:
        used = {"people": 0, "machines": 0}
        for line, _, _ in self._at_work.values():
            used[line] += 1
        return {line: max(0, self._slots[line] - used[line]) for line in used}

    def _sleep(self, picked: Picked) -> float:
        seconds = self._store.look_seconds
        if picked.waiting:
            seconds = min(seconds, self._beat)
        if picked.next_claim_end is not None:
            until = (picked.next_claim_end - picked.now).total_seconds() + _AFTER_CLAIM
            seconds = min(seconds, max(self._beat / 10, until))
        if picked.vouched:
            seconds = min(seconds, _VOUCHED_LOOK_SECONDS)
        return seconds

    def _start(self, line: str, lane_id: int) -> None:
        if lane_id in self._at_work:
            return
        claim = Claim(worker_id=self.worker_id, clock=self._clock, seconds=self._claim_seconds)
        task = asyncio.create_task(self._work(lane_id, claim))
        self._at_work[lane_id] = (line, claim, task)
        self._any_work.set()

    async def _work(self, lane_id: int, claim: Claim) -> None:
        try:
            worked = await work_lane(self._room, lane_id, claim)
            if worked == "more" and claim.turn_id is not None:
                log.info("turn_closed", turn=claim.turn_id)
        except NotReady:
            # The claim runs out by itself and somebody takes the turn up, perhaps we.
            log.warning("turn_left", turn=claim.turn_id)
        except Exception:  # the rim of the driver: one lane's trouble is not the others'
            log.exception("lane_failed", lane=lane_id)
            # Do not spin on a lane that fails at once.
            await asyncio.sleep(self._beat)
        finally:
            del self._at_work[lane_id]
            if not self._at_work:
                self._any_work.clear()
            self._store.bell.ring_here({"lanes"})

    async def _keep_claims(self) -> None:
        """Renew well before claims run out. A claim that is not returned is another's."""
        while await self._any_work.wait():
            await asyncio.sleep(self._claim_seconds / 3)
            # A turn that was told to stop is not prolonged: if it does not hear, its claim runs out.
            claims = {
                claim.turn_id: claim
                for _, claim, _ in self._at_work.values()
                if claim.turn_id is not None and claim.reason is None
            }
            if not claims:
                continue
            asked_at = self._clock.monotonic()
            try:
                async with asyncio.timeout(self._claim_seconds / 3):
                    renewed = await self._renew(claims)
            except (NotReady, TimeoutError):
                log.warning("renew_failed", claims=len(claims))
                continue
            except Exception:  # the rim: without this guard every turn of this worker would be lost, and nobody told
                log.exception("renew_failed", claims=len(claims))
                continue
            mine = {turn.id: turn for turn in renewed}
            for turn_id, claim in claims.items():
                turn = mine.get(turn_id)
                if turn is None or turn.fence != claim.fence:
                    # Closed by ourselves meanwhile, or taken by another: in both cases nothing is left to do here.
                    claim.stop("lost")
                    continue
                claim.prolong(asked_at)
                if turn.cancel_requested_at is not None:
                    claim.stop("cancel")

    async def _renew(self, turn_ids: Collection[str]) -> list[Turn]:
        span = timedelta(seconds=self._claim_seconds)
        return await self._store.write(lambda tx: turns.renew(tx, self.worker_id, turn_ids, tx.now() + span))

    async def _watch_cutoffs(self) -> None:
        """Stop our own turns before their claims can have run out, whatever the database does."""
        while await self._any_work.wait():
            await asyncio.sleep(self._claim_seconds / 20)
            now = self._clock.monotonic()
            for _, claim, _ in list(self._at_work.values()):
                if claim.turn_id is not None and now >= claim.cutoff:
                    claim.stop("lost")

    async def _look_for_cancels(self) -> None:
        with contextlib.suppress(NotReady):
            wanted = {turn.id for turn in await self._store.read(lambda tx: turns.watch(tx, self.worker_id))}
            for _, claim, _ in list(self._at_work.values()):
                if claim.turn_id in wanted:
                    claim.stop("cancel")


def pick(
    tx: Tx, people: int, machines: int, held: Collection[int], after: str = "", left_agents: Collection[str] = ()
) -> Picked:
    """Name lanes worth a try for free slots: first turns to take up, then those who wait.

    The turns of `left_agents` are for other workers.
    """
    seen = picking.glance(tx, left_agents)
    first: dict[str, list[int]] = {"people": [], "machines": []}
    deserted = seen.vouched and not maintenance.outside_engine_beats(tx)
    if deserted or (seen.next_claim_end is not None and seen.next_claim_end <= tx.now()):
        # Each line by itself: many stale turns of the one must not hide the other's.
        for line, free in (("people", people), ("machines", machines)):
            if not free:
                continue
            stale = picking.stale_lanes(tx, free + len(held), line=line, left_agents=left_agents, vouched=deserted)
            first[line] = [lane_id for lane_id, _ in stale if lane_id not in held]
    waiting_people: list[int] = []
    if people and seen.people:
        waiting_people = picking.pick_people(tx, people, held, alone=not seen.machines, left_agents=left_agents)
    waiting_machines: list[int] = []
    if machines and seen.machines:
        users, running = picking.waiting_users(tx, after), picking.running_by_user(tx)
        waiting_machines = picking.pick_machines(
            tx, machines, running, held, users=users, alone=not seen.people, left_agents=left_agents
        )
        after = [*users][-1] if len(users) == picking.USERS else ""
    return Picked(
        people=(first["people"] + waiting_people)[:people],
        machines=(first["machines"] + waiting_machines)[:machines],
        waiting=seen.people or seen.machines,
        next_claim_end=seen.next_claim_end,
        vouched=seen.vouched,
        now=tx.now(),
        after=after,
    )
