"""The lane's seam: one function that opens a lane's head, or takes up its open turn; thinks; closes.

It may be called at any time, for any session, by anyone: a wrong call costs one row read. It knows no slots, no
picking, no renewal and no bell.
"""

import asyncio
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Literal

from homing.agent.failures import mask_keys
from homing.agent.history import unfinished
from homing.engine import turn_result
from homing.engine.claims import SETTING_UP, Claim
from homing.engine.closing import Ended, close_turns
from homing.engine.closing_turn import ClosingRequest
from homing.engine.group_commit import GroupCommit
from homing.engine.opening import Found, Opened, open_lanes
from homing.engine.step_journal import StepJournal, kept_steps
from homing.engine.turn_result import TurnResult
from homing.model.errors import Failed, Lost, NotReady
from homing.model.turns import MAX_ATTEMPTS, Step, called_tools, usage_of
from homing.operations.budgets import StoppedRun, skip_run
from homing.operations.context import Instance
from homing.store import Store, steps, turns

# From a turn's opening to its first model call: reading, opening tools. Queueing does not count, nor does a summary.
SETUP_SECONDS = 60.0

Worked = Literal["empty", "more", "held"]
Think = Callable[[Opened, StepJournal], Awaitable[TurnResult]]


@dataclass(kw_only=True, eq=False)
class Lanes:
    """All that working a lane needs: the store, the house, and somebody who thinks."""

    store: Store
    instance: Instance
    think: Think
    setup_seconds: float = SETUP_SECONDS

    def __post_init__(self) -> None:
        self._open: GroupCommit[tuple[int, Claim], Found] = GroupCommit(
            self.store, lambda tx, wants: open_lanes(tx, wants, self.instance)
        )
        self._close: GroupCommit[ClosingRequest, Ended] = GroupCommit(
            self.store, lambda tx, requests: close_turns(tx, requests, self.instance)
        )

    async def open(self, lane_id: int, claim: Claim) -> Found:
        return await self._open((lane_id, claim))

    async def close(self, request: ClosingRequest) -> Ended:
        return await self._close(request)


async def work_lane(room: Lanes, lane_id: int, claim: Claim) -> Worked:
    """Work one turn of a lane. `more`: something may wait behind it; `held`: somebody else is at it."""
    opened = await room.open(lane_id, claim)
    if isinstance(opened, StoppedRun):
        await room.store.write(lambda tx: skip_run(tx, opened, room.instance))
        return "more"
    if not isinstance(opened, Opened):
        return opened
    # Only now: a renewal that looks before the commit would not find the turn, and give it up.
    claim.turn_id, claim.fence = opened.turn.id, opened.turn.fence
    try:
        result = await _think(room, opened, claim)
        if result is None:
            return await _leave(room, opened, claim)
        result = await _remembered(room, opened, result)
        ended = await room.close(ClosingRequest(opened=opened, fence=opened.turn.fence, result=result))
    except Lost:
        return "held"
    return "more" if ended == "closed" else "held"


async def _think(room: Lanes, opened: Opened, claim: Claim) -> TurnResult | None:
    """Think, unless the turn is over already; None when it was stopped without a result."""
    turn = opened.turn
    if turn.cancel_requested_at is not None:
        return turn_result.cancelled(turn)
    if turn.deadline_at is not None and turn.deadline_at <= opened.now:
        return turn_result.timed_out(turn)
    if turn.attempts > MAX_ATTEMPTS:
        return turn_result.interrupted(turn)
    task = asyncio.create_task(_attempt(room, opened, claim))
    loop = asyncio.get_running_loop()
    ends = [loop.call_later(room.setup_seconds, stop_setup, claim)]
    if turn.deadline_at is not None:
        left = (turn.deadline_at - opened.now).total_seconds()
        ends.append(loop.call_later(left, claim.stop, "timeout"))
    try:
        await claim.run(task)
    finally:
        for end in ends:
            end.cancel()
    # What comes back after its time is up is heard by nobody.
    if task.done() and not task.cancelled() and claim.reason != "timeout":
        return task.result()
    return await _stopped(room, opened, claim)


def stop_setup(claim: Claim) -> None:
    """End a turn that has not come to its model: whatever it waits for, it is nothing that thinks."""
    if claim.doing == SETTING_UP:
        claim.stop("timeout")


async def _attempt(room: Lanes, opened: Opened, claim: Claim) -> TurnResult:
    try:
        journal = StepJournal(room.store, opened, claim, await _kept(room, opened), room.instance.settings)
        return await room.think(opened, journal)
    except Lost:
        claim.stop("lost")
        raise
    except NotReady:
        # Not this turn's failure: it stays open, and is taken up again when the database is back.
        raise
    except Failed as error:
        return turn_result.failed(error, _story(error))
    except Exception as error:  # noqa: BLE001 - the rim of a turn: the lane goes on, the record has the story
        return turn_result.broken(mask_keys(f"{type(error).__name__}: {error}\n\n") + _story(error))


def _story(error: Exception) -> str:
    return mask_keys("".join(traceback.format_exception(error)))


async def _kept(room: Lanes, opened: Opened) -> list[Step]:
    """Read the steps an earlier attempt left: our fence is committed, so nobody adds one now."""
    return await room.store.read(lambda tx: steps.kept(tx, opened.turn.id)) if opened.taken_up else []


async def _stopped(room: Lanes, opened: Opened, claim: Claim) -> TurnResult | None:
    match claim.reason:
        case "timeout":
            early = room.setup_seconds if claim.doing == SETTING_UP else None
            return replace(turn_result.timed_out(opened.turn, claim.doing, at_most=early), shown=claim.shown.strip())
        case "cancel":
            turn = await room.store.read(lambda tx: turns.get_turn(tx, opened.turn.id))
            return replace(turn_result.cancelled(turn or opened.turn), shown=claim.shown.strip())
        case _:
            return None


async def _leave(room: Lanes, opened: Opened, claim: Claim) -> Worked:
    """Hand the turn back at a graceful stop; a lost one is another's already."""
    if claim.reason == "leave":
        await room.store.write(lambda tx: turns.hand_back(tx, opened.turn.id, opened.turn.fence))
    return "held"


async def _remembered(room: Lanes, opened: Opened, result: TurnResult) -> TurnResult:
    """A turn without an answer is remembered by its finished steps and the line people saw."""
    if result.history is not None or result.reason == "session_deleted":
        return result
    found = await room.store.read(lambda tx: steps.kept(tx, opened.turn.id))
    kept = kept_steps(found)
    # What was said beside a tool call is in the history already.
    beside = {(step.response.text or "").strip() for step in kept if step.response and step.response.tool_calls}
    closing = (replace(result, shown="") if result.shown in beside else result).closing
    return replace(
        result, history=unfinished(opened.text, kept, closing), usage=usage_of(found), called=called_tools(found)
    )
