"""Restate as the driver of the lanes: one virtual object per lane, whose only handler calls `work_lane`.

Rows stay the only source of truth. Workers ring Restate for lanes that wait (`restate_rings`); Restate calls one worker
per lane at a time, and calls another when that one dies. Only a lane's number is in Restate's storage. Loaded only
where HOMING_ENGINE is `restate`.
"""

import asyncio
import contextlib
import heapq
import logging
import socket
import sys
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count

import restate
import structlog
from hypercorn.asyncio import serve  # pyright: ignore[reportUnknownVariableType] - it has loose types
from hypercorn.config import Config
from hypercorn.typing import ASGIFramework
from restate.exceptions import RetryableError, TerminalError

from homing.engine.abilities import Abilities
from homing.engine.claims import Claim
from homing.engine.lane import Lanes, work_lane
from homing.engine.restate_rings import HANDLER, OBJECT, Rings
from homing.engine.runner import GRACE_SECONDS, LEAVE_SECONDS
from homing.model.clock import Clock
from homing.model.errors import NotReady
from homing.store import Store, lanes, maintenance, turns
from homing.store.lanes import NextTurn

log = structlog.get_logger(__name__)

_PAUSE_SECONDS = 5.0
# Turns have their own deadlines; Restate's timeout must never be shorter.
_LONGER_THAN_ANY_TURN = timedelta(days=7)
# After about twenty seconds Restate gives up a call whose worker is gone for good. Its row is rung for again.
_RETRIES = restate.InvocationRetryPolicy(
    initial_interval=timedelta(milliseconds=100),
    exponentiation_factor=2.0,
    max_interval=timedelta(seconds=5),
    max_attempts=10,
    on_max_attempts="kill",
)


class _Slots:
    """Limits how many turns run at once; a turn that is taken up again goes before fresh ones."""

    def __init__(self, many: int) -> None:
        self._free = many
        self._waiting: list[tuple[bool, int, asyncio.Future[None]]] = []
        self._numbers = count()

    def take(self, *, fresh: bool) -> "asyncio.Future[None]":
        """Ask for a slot: it is taken when the future is done, unless that was cancelled."""
        slot: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (fresh, next(self._numbers), slot))
        self._grant()
        return slot

    def release(self) -> None:
        self._free += 1
        self._grant()

    def _grant(self) -> None:
        while self._free and self._waiting:
            _, _, slot = heapq.heappop(self._waiting)
            if not slot.done():
                self._free -= 1
                slot.set_result(None)


@dataclass(kw_only=True, eq=False)
class _Call:
    """A call by Restate, at work here or waiting for a slot."""

    lane_id: int
    slot: "asyncio.Future[None] | None" = None
    claim: Claim | None = None
    abandoned: bool = False
    """Nobody waits for its result: Restate is away or cancelled it, or this worker stops."""
    task: "asyncio.Task[str] | None" = field(default=None, repr=False)

    def leave(self) -> None:
        """Hand the turn back, if it has one by now."""
        self.abandoned = True
        if self.slot is not None and not self.slot.done():
            self.slot.cancel()
        if self.claim is not None:
            self.claim.stop("leave")


class RestateRunner:
    """Works the lanes that Restate calls for, and rings Restate for those that wait."""

    def __init__(self, room: Lanes, clock: Clock, worker_id: str, abilities: Abilities) -> None:
        settings = room.instance.settings
        self.worker_id = worker_id
        self._room = room
        self._clock = clock
        self._abilities = abilities
        abilities.can |= {maintenance.RESTATE}
        self._settings = settings
        self._beat = settings.idle_retry_ms / 1000
        self._slots = {"people": _Slots(settings.slots), "machines": _Slots(settings.max_concurrent_runs)}
        self._calls: set[_Call] = set()
        self._rings = Rings(room.store, settings, clock, self._at_work)
        self._stopping = False

    @property
    def _store(self) -> Store:
        return self._room.store

    async def run(self) -> None:
        """Work until cancelled; `stop` first lets turns finish or hands them back."""
        over = asyncio.Event()
        try:
            port = _listen(self._settings.restate_listen)
        except OSError as error:
            log.error("restate_cannot_listen", address=self._settings.restate_listen, reason=str(error))  # noqa: TRY400
            await asyncio.sleep(_PAUSE_SECONDS)
            return
        with port:
            serving = asyncio.create_task(self._serve(port, over))
            others = [asyncio.create_task(self._rings.run()), asyncio.create_task(self._watch())]
            try:
                await asyncio.wait([serving, *others], return_when=asyncio.FIRST_COMPLETED)
                for part in (serving, *others):
                    if part.done():
                        part.result()
            finally:
                over.set()
                for part in others:
                    part.cancel()
                await asyncio.gather(*others, return_exceptions=True)
                await asyncio.wait([serving], timeout=LEAVE_SECONDS)
                serving.cancel()
                await asyncio.gather(serving, return_exceptions=True)

    async def stop(self, grace: float = GRACE_SECONDS) -> None:
        """Take nothing new; let turns finish for a moment, then hand them back uncounted."""
        self._stopping = self._rings.stopped = True
        for call in self._calls:
            if call.claim is None:
                call.leave()
        if tasks := self._tasks():
            await asyncio.wait(tasks, timeout=grace)
        for call in tuple(self._calls):
            call.leave()
        if tasks := self._tasks():
            await asyncio.wait(tasks, timeout=LEAVE_SECONDS)
        for call in tuple(self._calls):
            # Not handed back: it may still be doing something. It writes nothing more.
            if call.claim is not None:
                log.warning("turn_deaf", turn=call.claim.turn_id, at=call.claim.doing)
                call.claim.stop("lost")

    def _at_work(self) -> set[int]:
        return {call.lane_id for call in self._calls}

    def _tasks(self) -> "list[asyncio.Task[str]]":
        return [call.task for call in self._calls if call.task is not None]

    async def _serve(self, port: socket.socket, over: asyncio.Event) -> None:
        lane = restate.VirtualObject(
            OBJECT,
            inactivity_timeout=_LONGER_THAN_ANY_TURN,
            abort_timeout=timedelta(minutes=1),
            journal_retention=timedelta(0),
            idempotency_retention=timedelta(0),
            invocation_retry_policy=_RETRIES,
        )

        @lane.handler(HANDLER)
        async def work(ctx: restate.ObjectContext) -> str:  # pyright: ignore[reportUnusedFunction] - registered
            return await self._answer(ctx)

        # It logs every call that ends early; our own log says what becomes of their turns.
        logging.getLogger("restate").setLevel(logging.CRITICAL)
        app: ASGIFramework = restate.app([lane])
        await asyncio.to_thread(_keep_sigterm, app)
        config = Config()
        # hypercorn owns the socket from here on, and closes it.
        config.bind = [f"fd://{port.detach()}"]
        config.errorlog = None
        config.graceful_timeout = LEAVE_SECONDS
        config.h2_max_concurrent_streams = 2**31 - 1
        config.keep_alive_timeout = 3600
        config.keep_alive_max_requests = sys.maxsize
        await serve(app, config, shutdown_trigger=over.wait)

    async def _answer(self, ctx: restate.ObjectContext) -> str:
        """Work one turn of a lane for Restate."""
        if not ctx.key().isdecimal():
            raise TerminalError("a lane is called by its number", status_code=400)
        lane_id = int(ctx.key())
        if self._stopping or self._store.outdated is not None:
            raise RetryableError("this worker takes no new work")
        if await self._needs_another_worker(lane_id):
            raise RetryableError("this turn is for a worker that can do more")
        call = _Call(lane_id=lane_id)

        async def begin() -> str:
            call.task = asyncio.create_task(self._work(call))
            # Restate's library cancels what it runs. Ours has to end by itself, so that its turn is handed back.
            return await asyncio.shield(call.task)

        try:
            return await ctx.run_typed("work_lane", begin)
        finally:
            # If this ends before the work does, Restate is away or cancelled the call.
            call.leave()

    async def _needs_another_worker(self, lane_id: int) -> bool:
        """Say whether a lane's next turn needs abilities that this worker lacks."""
        left = self._abilities.left_agents
        try:
            return bool(left) and bool((await self._store.read(lambda tx: lanes.next_of(tx, lane_id))).agents & left)
        except NotReady:
            return False

    async def _work(self, call: _Call) -> str:
        earlier = [other for other in self._calls if other.lane_id == call.lane_id]
        self._calls.add(call)
        try:
            # Restate calls again while the turn of a broken call is still on its way back.
            for other in earlier:
                other.leave()
            if tasks := [other.task for other in earlier if other.task is not None]:
                await asyncio.wait(tasks)
            return await self._work_in_slot(call)
        except Exception:  # the rim of the driver: a failure in one lane must not stop the others
            log.exception("lane_failed", lane=call.lane_id)
            # Do not spin on a lane that fails at once.
            await asyncio.sleep(self._beat)
            return "held"
        finally:
            self._calls.discard(call)
            self._store.bell.ring_here({"lanes"})

    async def _work_in_slot(self, call: _Call) -> str:
        coming = await self._look_at(call)
        if coming is None:
            return "held"
        slots = self._slots[coming.line]
        call.slot = slots.take(fresh=not coming.taken_up)
        try:
            await call.slot
        except asyncio.CancelledError:
            if call.abandoned:
                return "held"
            raise
        try:
            return await self._work_through_outages(call)
        finally:
            slots.release()

    async def _look_at(self, call: _Call) -> NextTurn | None:
        while not call.abandoned:
            try:
                return await self._store.read(lambda tx: lanes.next_of(tx, call.lane_id))
            except NotReady:
                await asyncio.sleep(self._beat)
        return None

    async def _work_through_outages(self, call: _Call) -> str:
        """Work the lane; while the database is away its turn stays this call's."""
        while not call.abandoned:
            claim = call.claim = Claim(worker_id=self.worker_id, clock=self._clock, seconds=None)
            try:
                worked = await work_lane(self._room, call.lane_id, claim)
            except NotReady:
                log.warning("turn_left", turn=claim.turn_id)
                await asyncio.sleep(self._beat)
                continue
            if worked == "more" and claim.turn_id is not None:
                log.info("turn_closed", turn=claim.turn_id)
            return worked
        return "held"

    async def _watch(self) -> None:
        """Check whether open turns were cancelled or taken over by another worker."""
        ear = self._store.bell.listen("cancels")
        try:
            while True:
                await ear.wait(self._settings.claim_seconds / 3 if self._calls else self._store.look_seconds)
                claims = [call.claim for call in self._calls if call.claim is not None]
                claims = [claim for claim in claims if claim.turn_id is not None and claim.reason is None]
                if not claims:
                    continue
                with contextlib.suppress(NotReady):
                    held = {
                        turn.id: turn for turn in await self._store.read(lambda tx: turns.held_by(tx, self.worker_id))
                    }
                    for claim in claims:
                        turn = held.get(claim.turn_id or "")
                        if turn is None or turn.fence != claim.fence:
                            claim.stop("lost")
                        elif turn.cancel_requested_at is not None:
                            claim.stop("cancel")
        finally:
            ear.close()


def _keep_sigterm(app: ASGIFramework) -> None:
    """Call the library's app once outside the main thread. Its first call replaces the SIGTERM handler, and ours, which
    hands turns back, would no longer run; outside the main thread it cannot.
    """

    async def call() -> None:
        # It raises ValueError for this kind of call.
        with contextlib.suppress(ValueError):
            await app({"type": "lifespan"}, _unused, _unused)  # type: ignore[arg-type]

    asyncio.run(call())


async def _unused(*_: object) -> None: ...


def _listen(address: str) -> socket.socket:
    """Listen where Restate calls. Workers of one machine share a port."""
    host, _, port = address.rpartition(":")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listening.bind((host.strip("[]"), int(port)))
        listening.listen(128)
        listening.setblocking(False)
    except OSError:
        listening.close()
        raise
    return listening
