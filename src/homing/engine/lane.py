"""The lane's seam: one function that opens a lane's head, or takes up its open turn; thinks; closes.

It may be called at any time, for any session, by anyone: a wrong call costs one row read. It knows no slots, no
picking, no renewal and no bell.
"""

import asyncio
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Literal

from homing.agent.history import broken_off, dump
from homing.agent.resume import rebuild
from homing.engine import thoughts
from homing.engine.claims import SETTING_UP, Claim
from homing.engine.closing import Ended, close_turns
from homing.engine.endings import Ending
from homing.engine.keeper import Keeper, kept_step
from homing.engine.opening import Found, Opened, open_lanes
from homing.engine.thoughts import Thought
from homing.engine.together import Together
from homing.model.errors import Failed, Lost, NotReady
from homing.model.turns import MAX_ATTEMPTS, Step
from homing.operations.desk import House
from homing.store import Store, steps, turns

# From a turn's opening to its first model call: reading, opening tools. Queueing does not count, nor does a summary.
SETUP_SECONDS = 60.0

Worked = Literal["empty", "more", "held"]
Think = Callable[[Opened, Keeper], Awaitable[Thought]]


@dataclass(kw_only=True, eq=False)
class Lanes:
    """All that working a lane needs: the store, the house, and somebody who thinks."""

    store: Store
    house: House
    think: Think
    setup_seconds: float = SETUP_SECONDS

    def __post_init__(self) -> None:
        self._open: Together[tuple[int, Claim], Found] = Together(
            self.store, lambda tx, wants: open_lanes(tx, wants, self.house)
        )
        self._close: Together[Ending, Ended] = Together(
            self.store, lambda tx, endings: close_turns(tx, endings, self.house)
        )

    async def open(self, lane_id: int, claim: Claim) -> Found:
        return await self._open((lane_id, claim))

    async def close(self, ending: Ending) -> Ended:
        return await self._close(ending)


async def work_lane(room: Lanes, lane_id: int, claim: Claim) -> Worked:
    """Work one turn of a lane. `more`: something may wait behind it; `held`: somebody else is at it."""
    opened = await room.open(lane_id, claim)
    if not isinstance(opened, Opened):
        return opened
    # Only now: a renewal that looks before the commit would not find the turn, and give it up.
    claim.turn_id, claim.fence = opened.turn.id, opened.turn.fence
    try:
        thought = await _think(room, opened, claim)
        if thought is None:
            return await _leave(room, opened, claim)
        thought = await _remembered(room, opened, thought)
        ended = await room.close(Ending(opened=opened, fence=opened.turn.fence, thought=thought))
    except Lost:
        return "held"
    return "more" if ended == "closed" else "held"


async def _think(room: Lanes, opened: Opened, claim: Claim) -> Thought | None:
    """Think, unless the turn is over already; None when it was stopped without a result."""
    turn = opened.turn
    if turn.cancel_requested_at is not None:
        return thoughts.cancelled(turn)
    if turn.deadline_at is not None and turn.deadline_at <= opened.now:
        return thoughts.timed_out(turn)
    if turn.attempts > MAX_ATTEMPTS:
        return thoughts.interrupted(turn)
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


async def _attempt(room: Lanes, opened: Opened, claim: Claim) -> Thought:
    try:
        return await room.think(opened, Keeper(room.store, opened, claim, await _kept(room, opened)))
    except Lost:
        claim.stop("lost")
        raise
    except NotReady:
        # Not this turn's failure: it stays open, and is taken up again when the database is back.
        raise
    except Failed as error:
        return thoughts.failed(error, "".join(traceback.format_exception(error)))
    except Exception as error:  # noqa: BLE001 - the rim of a turn: the lane goes on, the record has the story
        return thoughts.broken("".join(traceback.format_exception(error)))


async def _kept(room: Lanes, opened: Opened) -> list[Step]:
    """Read the steps an earlier attempt left: our fence is committed, so nobody adds one now."""
    return await room.store.read(lambda tx: steps.kept(tx, opened.turn.id)) if opened.taken_up else []


async def _stopped(room: Lanes, opened: Opened, claim: Claim) -> Thought | None:
    match claim.reason:
        case "timeout":
            early = room.setup_seconds if claim.doing == SETTING_UP else None
            return thoughts.timed_out(opened.turn, claim.doing, at_most=early)
        case "cancel":
            turn = await room.store.read(lambda tx: turns.get_turn(tx, opened.turn.id))
            return thoughts.cancelled(turn or opened.turn)
        case _:
            return None


async def _leave(room: Lanes, opened: Opened, claim: Claim) -> Worked:
    """Hand the turn back at a graceful stop; a lost one is another's already."""
    if claim.reason == "leave":
        await room.store.write(lambda tx: turns.hand_back(tx, opened.turn.id, opened.turn.fence))
    return "held"


async def _remembered(room: Lanes, opened: Opened, thought: Thought) -> Thought:
    """A turn without an answer is remembered by its finished steps and the line people saw."""
    if thought.history is not None or thought.reason == "session_deleted":
        return thought
    kept = [kept_step(step) for step in await room.store.read(lambda tx: steps.kept(tx, opened.turn.id))]
    messages = broken_off(rebuild(opened.text, kept), thought.text or thoughts.EMPTY)
    return replace(thought, history=dump(messages))
