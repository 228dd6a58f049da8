"""Actions: what a person approved is begun once, outside the lane, and its end opens a turn that is told of it.

Shaped like the courier: one row is claimed, the work is done outside any transaction, and the end is written together
with its inbound under the fence. Killed in between, a repeatable action is begun again, at most three times in all;
what became of any other is unknown, and it is never repeated.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeVar

import structlog

from homing.agent.text import cut
from homing.engine.abilities import Abilities
from homing.engine.action_checks import look_again, without_tool
from homing.engine.action_endings import INTERRUPTED, MOST_TOLD, End, write_end
from homing.engine.claims import Claim
from homing.model.actions import Asked
from homing.model.approvals import MAX_ATTEMPTS, Approval
from homing.model.errors import Failed, Lost, NotReady, Refused
from homing.operations.actions import Action, WorkAgain
from homing.operations.approvals import BELL
from homing.operations.context import Instance
from homing.store import Store, Tx, approvals, cards, sessions
from homing.store.bell import Ear

log = structlog.get_logger(__name__)

T = TypeVar("T")

_PAUSE_SECONDS = 2.0
# Below this a look at the clock costs more than it saves.
_SHORTEST_SECONDS = 0.05
_LONGEST_ERROR = 2000
_WORKED_AGAIN = 3


FindAction = Callable[[Asked], Action | None]


class Actions:
    """Carries out approved actions, a few at a time."""

    def __init__(
        self,
        store: Store,
        instance: Instance,
        worker_id: str,
        find: FindAction,
        abilities: Abilities | None = None,
        *,
        slots: int = 4,
        grace_seconds: float = 5.0,
    ) -> None:
        self._store = store
        self._worker_id = worker_id
        self._find = find
        self._abilities = abilities or Abilities()
        self._slots = slots
        self._grace_seconds = grace_seconds
        self._unified = instance.settings.unified_session
        self._claim_seconds = instance.settings.claim_seconds
        self._acting: dict[asyncio.Task[None], tuple[str, Claim]] = {}
        self._leaving = False

    async def step(self) -> bool:
        """Take what waits, and carry it out to its end. Say whether there was any."""
        seen = await self._store.read(lambda tx: approvals.actionable(tx, self._slots, but_agents=self._left))
        done = await asyncio.gather(*(self._act(one, self._new_claim()) for one in seen))
        return any(done)

    async def run(self) -> None:
        """Act until cancelled. What is under way then may end in the grace time; the rest is handed back."""
        ear = self._store.bell.listen(BELL)
        try:
            while True:
                await ear.wait(await self._start(ear))
        finally:
            ear.close()
            await self._leave()

    async def _leave(self) -> None:
        acting = dict(self._acting)
        if acting:
            await asyncio.wait(acting, timeout=self._grace_seconds)
        self._leaving = True
        for _, claim in acting.values():
            claim.stop("leave")
        await asyncio.gather(*acting, return_exceptions=True)

    @property
    def _left(self) -> frozenset[str]:
        return self._abilities.left_agents

    def _new_claim(self) -> Claim:
        return Claim(worker_id=self._worker_id, clock=self._store.clock, seconds=self._claim_seconds)

    async def _start(self, ear: Ear) -> float:
        """Begin what waits in the free slots; say how long there is nothing more to do."""
        acting = self._acting
        free = self._slots - len(acting)
        longest = self._store.look_seconds
        if free <= 0 or self._store.outdated is not None:
            return longest

        def look(tx: Tx) -> tuple[list[Approval], float]:
            # What this worker has under way is not looked for again, also when its claim ran out.
            seen = approvals.actionable(tx, free + len(acting), but_agents=self._left)
            claim_end = approvals.next_claim_end(tx)
            pause = longest if claim_end is None else (claim_end - tx.now()).total_seconds()
            return seen, min(max(pause, _SHORTEST_SECONDS), longest)

        try:
            seen, pause = await self._store.read(look)
        except Exception:  # the rim: a database that is away comes back, and this machine is still there
            log.exception("action_take")
            return _PAUSE_SECONDS

        def leave(task: asyncio.Task[None]) -> None:
            acting.pop(task, None)
            ear.hear([BELL])

        under_way = {approval_id for approval_id, _ in acting.values()}
        for approval in [one for one in seen if one.id not in under_way][:free]:
            claim = self._new_claim()
            task = asyncio.create_task(self._act_safely(approval, claim), name=f"action {approval.id}")
            acting[task] = (approval.id, claim)
            task.add_done_callback(leave)
        return pause

    async def _act_safely(self, seen: Approval, claim: Claim) -> None:
        try:
            await self._act(seen, claim)
        except NotReady:
            # The claim runs out by itself; then somebody looks at it again, perhaps we.
            log.warning("action_left", approval_id=seen.id)
            await asyncio.sleep(_PAUSE_SECONDS)
        except Exception:  # the rim: nothing was written, and the claim runs out
            log.exception("action_broken", approval_id=seen.id)
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _act(self, seen: Approval, claim: Claim) -> bool:
        asked_at = self._store.clock.monotonic()
        taken = await self._store.write(lambda tx: self._take(tx, seen))
        if taken is None:
            return False
        claim.prolong(asked_at)
        renewal = asyncio.create_task(self._renew(taken, claim))
        try:
            await self._carry_on(taken, claim)
        except Lost:
            log.warning("action_lost", approval_id=taken.id)
        finally:
            renewal.cancel()
            await asyncio.gather(renewal, return_exceptions=True)
        return True

    def _take(self, tx: Tx, seen: Approval) -> Approval | None:
        sessions.lock(tx, cards.places_of(tx, seen.id))
        taken = approvals.take(tx, seen, self._worker_id, self._until(tx))
        if taken is not None:
            cards.touch_cards(tx, approval_id=seen.id)
        return taken

    async def _carry_on(self, taken: Approval, claim: Claim) -> None:
        """Carry out an action that is ours now, or end it because that cannot or must not be."""
        found = await self._store.read(lambda tx: look_again(tx, taken))
        if isinstance(found, End):
            await self._end(taken, claim, found)
            return
        try:
            action = self._find(found)
        except Exception:  # what cannot even be looked up is ended, or it would be taken again without end
            log.exception("action_failed", approval_id=taken.id, tool=taken.tool)
            await self._end(taken, claim, _unfindable(taken))
            return
        if action is None:
            await self._end(taken, claim, without_tool(taken))
        elif taken.begun_at is not None and not action.repeatable:
            await self._end(taken, claim, End(state="unknown", error=INTERRUPTED))
        elif taken.attempts > MAX_ATTEMPTS:
            await self._end(taken, claim, End(state="failed", error=f"It was interrupted {MAX_ATTEMPTS} times."))
        elif not claim.alive():
            # Nothing has begun, and nothing begins after a worker's right has ended.
            await self._store.write(lambda tx: _hand_back(tx, taken, begun=False))
        else:
            await self._work(taken, claim, action)

    async def _work(self, taken: Approval, claim: Claim, action: Action, times: int = 1) -> None:
        log.info("action_begun", approval_id=taken.id, tool=taken.tool, attempt=taken.attempts)
        work = asyncio.create_task(action.work())
        ceiling = asyncio.get_running_loop().call_later(action.seconds, claim.stop, "timeout")
        try:
            await claim.run(work)
        finally:
            ceiling.cancel()
        if claim.reason == "lost":
            raise Lost(f"{taken.id} is not mine any more")
        if work.cancelled():
            await self._stopped(taken, claim, action)
            return
        try:
            worked = work.result()
        except NotReady:
            if action.repeatable:
                raise
            await self._end(taken, claim, End(state="unknown", error="The database was away while it was at work."))
        except (Refused, Failed) as error:
            await self._end(taken, claim, _failed(taken, error.detail))
        except Exception as error:  # as in a turn: a tool may fail in any way there is, and the model can go on
            log.exception("action_failed", approval_id=taken.id, tool=taken.tool)
            await self._end(taken, claim, _failed(taken, _named(error)))
        else:
            await self._finish(taken, claim, action, worked, times)

    async def _stopped(self, taken: Approval, claim: Claim, action: Action) -> None:
        if claim.reason == "timeout":
            await self._end(taken, claim, _unfinished(action, f"It gave no answer within {action.seconds:g} seconds."))
        elif claim.reason is None:
            # Nobody stopped it: a cancellation of its own came out of the work.
            log.error("action_failed", approval_id=taken.id, tool=taken.tool)
            await self._end(taken, claim, _unfinished(action, "It stopped before it was done."))
        elif action.repeatable:
            await self._store.write(lambda tx: _hand_back(tx, taken, begun=True))
        else:
            await self._end(taken, claim, End(state="unknown", error=INTERRUPTED))

    async def _finish(self, taken: Approval, claim: Claim, action: Action, worked: object, times: int) -> None:
        def both(tx: Tx) -> End:
            # First what it does to rows: it locks jobs before sessions. A lost claim undoes it all the same.
            result = action.finish(tx, worked)
            end = End(state="done", text=result.text, outside=result.outside)
            if result.ended is not None:
                end = End(state="expired", ended=result.ended, error=result.text, outside=result.outside)
            write_end(tx, taken, end, unified=self._unified)
            return end

        try:
            end = await self._insist(claim, both)
        except WorkAgain as again:
            if times >= _WORKED_AGAIN:
                await self._end(taken, claim, End(state="expired", ended="replaced", error=str(again)))
            else:
                await self._work(taken, claim, action, times + 1)
        except (Refused, Failed) as error:
            await self._end(taken, claim, End(state="failed", error=error.detail))
        except (Lost, NotReady):
            raise
        except Exception as error:  # repeated, it would break the same way again
            log.exception("action_failed", approval_id=taken.id, tool=taken.tool)
            await self._end(taken, claim, _unfinished(action, _named(error)))
        else:
            log.info("action_ended", approval_id=taken.id, tool=taken.tool, state=end.state)

    async def _end(self, taken: Approval, claim: Claim, end: End) -> None:
        await self._insist(claim, lambda tx: write_end(tx, taken, end, unified=self._unified))
        log.info("action_ended", approval_id=taken.id, tool=taken.tool, state=end.state)

    async def _insist(self, claim: Claim, work: Callable[[Tx], T]) -> T:
        """Write what is known, for as long as it takes: given up, an action would be repeated, or called unknown."""
        while True:
            try:
                return await self._store.write(work)
            except NotReady:
                if self._leaving or claim.reason == "lost":
                    raise
                log.warning("action_waits")
                await asyncio.sleep(_PAUSE_SECONDS)

    async def _renew(self, taken: Approval, claim: Claim) -> None:
        """Renew the claim until it is another's. What has begun goes on while the database is away."""
        while True:
            await asyncio.sleep(self._claim_seconds / 3)
            asked_at = self._store.clock.monotonic()
            try:
                ours = await self._store.write(lambda tx: approvals.renew(tx, taken, self._until(tx)))
            except NotReady:
                continue
            except Exception:  # the rim: what has begun goes on, and the next renewal may succeed
                log.exception("action_renewal", approval_id=taken.id)
                continue
            if not ours:
                claim.stop("lost")
                return
            claim.prolong(asked_at)

    def _until(self, tx: Tx) -> datetime:
        return tx.now() + timedelta(seconds=self._claim_seconds)


def _hand_back(tx: Tx, taken: Approval, *, begun: bool) -> None:
    """Give back an action for another worker."""
    sessions.lock(tx, cards.places_of(tx, taken.id))
    if approvals.hand_back(tx, taken, begun=begun):
        cards.touch_cards(tx, approval_id=taken.id)
        tx.ring(BELL)


def _failed(taken: Approval, error: str) -> End:
    # What went wrong may be told in words of the server or program that was asked.
    return End(state="failed", error=cut(error, MOST_TOLD), outside=f"the tool {taken.tool}")


def _unfinished(action: Action, error: str) -> End:
    return End(state="failed" if action.repeatable else "unknown", error=error)


def _named(error: Exception) -> str:
    return cut(f"{type(error).__name__}: {error}", _LONGEST_ERROR)


def _unfindable(taken: Approval) -> End:
    if taken.begun_at is not None:
        return End(state="unknown", error=INTERRUPTED)
    return End(state="failed", error=f"The tool {taken.tool} could not be prepared; see the server's log.")
