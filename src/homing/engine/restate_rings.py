"""Tells Restate which lanes wait, and where the workers are.

A ring is a call that Restate keeps until a worker has worked on the lane. It may be lost, repeated or late: workers
keep looking for what waits, and Restate merges the rings for one state of a lane.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import httpx2
import structlog

from homing.engine.runner import Picked, pick
from homing.model.clock import Clock
from homing.model.errors import NotReady
from homing.settings import Settings
from homing.store import Store, Tx, picking
from homing.store.picking import LaneState

log = structlog.get_logger(__name__)

OBJECT = "HomingLane"
HANDLER = "work"
# A lane that still waits in the same state is rung for again after this long: its call may be lost.
_RING_AGAIN_SECONDS = 10.0
_TIMEOUT_SECONDS = 10.0
_REGISTER_PAUSE_SECONDS = 5.0
_RINGS_AT_ONCE = 16
# Lanes to ring for per slot of this worker: other workers have slots too.
_LANES_PER_SLOT = 4


@dataclass(frozen=True, kw_only=True)
class _Seen:
    """The lanes that one look found."""

    waiting: Sequence[LaneState]
    vouched: Sequence[LaneState]
    """Open turns that Restate has, or should have."""
    picked: Picked


class Rings:
    """Rings for the lanes of one database."""

    def __init__(self, store: Store, settings: Settings, clock: Clock, at_work: Callable[[], Collection[int]]) -> None:
        self.stopped = False
        self._store = store
        self._settings = settings
        self._clock = clock
        self._at_work = at_work
        """The lanes that this worker works on."""
        self._beat = settings.idle_retry_ms / 1000
        self._rung: dict[str, float] = {}
        self._unregistered = asyncio.Event()
        self._away = False

    async def run(self) -> None:
        """Ring until cancelled."""
        self._unregistered.set()
        async with (
            httpx2.AsyncClient(timeout=_TIMEOUT_SECONDS, trust_env=False) as client,
            asyncio.TaskGroup() as parts,
        ):
            parts.create_task(self._register(client))
            parts.create_task(self._ring_lanes(client))

    async def _ring_lanes(self, client: httpx2.AsyncClient) -> None:
        ear = self._store.bell.listen("lanes")
        try:
            while True:
                await ear.wait(await self._ring_round(client))
        finally:
            ear.close()

    async def _ring_round(self, client: httpx2.AsyncClient) -> float:
        """Ring Restate for what waits; return how many seconds to sleep."""
        if self.stopped or self._store.outdated is not None:
            return self._store.look_seconds
        try:
            seen = await self._store.read(self._look)
        except NotReady:
            log.warning("runner_waits")
            return self._beat
        now = self._clock.monotonic()
        # An open turn is rung for only after it was seen for a while: then its call may be lost.
        known = {state.key: self._rung.get(state.key, now) for state in seen.vouched}
        known |= {state.key: self._rung.get(state.key, now - _RING_AGAIN_SECONDS) for state in seen.waiting}
        self._rung = known
        due = [state for state in (*seen.waiting, *seen.vouched) if now - known[state.key] >= _RING_AGAIN_SECONDS]
        await self._ring_all(client, due)
        return self._sleep(seen)

    def _sleep(self, seen: _Seen) -> float:
        seconds = self._beat if seen.waiting else self._store.look_seconds
        if seen.vouched:
            seconds = min(seconds, _RING_AGAIN_SECONDS)
        if seen.picked.next_claim_end is not None:
            until = (seen.picked.next_claim_end - seen.picked.now).total_seconds() + self._beat / 10
            seconds = min(seconds, max(self._beat / 10, until))
        return seconds

    def _look(self, tx: Tx) -> _Seen:
        settings = self._settings
        picked = pick(tx, settings.slots * _LANES_PER_SLOT, settings.max_concurrent_runs * _LANES_PER_SLOT, ())
        most = (settings.slots + settings.max_concurrent_runs) * _LANES_PER_SLOT
        mine = self._at_work()
        return _Seen(
            waiting=[
                *picking.open_states(tx, most, vouched=False),
                *picking.waiting_states(tx, {*picked.people, *picked.machines}),
            ],
            vouched=[state for state in picking.open_states(tx, most, vouched=True) if state.lane_id not in mine],
            picked=picked,
        )

    async def _ring_all(self, client: httpx2.AsyncClient, due: Sequence[LaneState]) -> None:
        # The first one alone: if it fails, the others need not be tried.
        if not due or self._unregistered.is_set() or not await self._ring(client, due[0]):
            return
        places = asyncio.Semaphore(_RINGS_AT_ONCE)

        async def ring(state: LaneState) -> None:
            async with places:
                await self._ring(client, state)

        await asyncio.gather(*map(ring, due[1:]))

    async def _ring(self, client: httpx2.AsyncClient, state: LaneState) -> bool:
        """Ask Restate to call a worker for a lane. Restate merges rings with the same key."""
        url = f"{self._settings.restate_url}/{OBJECT}/{state.lane_id}/{HANDLER}/send"
        try:
            answer = await client.post(url, headers={"idempotency-key": state.key})
        except httpx2.HTTPError as error:
            self._note_away(str(error) or type(error).__name__)
            return False
        if answer.status_code == 404:
            # Restate does not know the lanes (any more): its storage is new.
            self._unregistered.set()
            return False
        if answer.is_error:
            self._note_away(f"it answered {answer.status_code}")
            return False
        self._rung[state.key] = self._clock.monotonic()
        self._note_back()
        return True

    async def _register(self, client: httpx2.AsyncClient) -> None:
        """Tell Restate where its workers are, at the start and whenever it has forgotten."""
        here = {"uri": self._settings.restate_workers, "force": True}
        while await self._unregistered.wait():
            try:
                answer = await client.post(f"{self._settings.restate_admin}/deployments", json=here)
                if not answer.is_error:
                    self._unregistered.clear()
                    self._note_back()
                    log.info("restate_registered", url=here["uri"])
                    self._store.bell.ring_here({"lanes"})
                else:
                    self._note_away(f"registration: it answered {answer.status_code}: {answer.text[:500]}")
            except httpx2.HTTPError as error:
                self._note_away(f"registration: {str(error) or type(error).__name__}")
            # Also after a good one: where something else answers at Restate's address, every ring says that it forgot.
            await asyncio.sleep(_REGISTER_PAUSE_SECONDS)

    def _note_away(self, reason: str) -> None:
        if not self._away:
            self._away = True
            log.error("restate_away", url=self._settings.restate_url, reason=reason)

    def _note_back(self) -> None:
        if self._away:
            self._away = False
            log.info("restate_back", url=self._settings.restate_url)
