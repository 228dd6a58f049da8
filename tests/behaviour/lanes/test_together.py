"""What is asked at the same time is written together, and one bad item never takes its neighbours along."""

import asyncio
from collections.abc import Sequence

import pytest

from homing.engine.group_commit import GroupCommit
from homing.engine.lane import work_lane
from homing.engine.opening import Opened
from homing.engine.step_journal import StepJournal
from homing.engine.turn_result import TurnResult
from homing.model.errors import NotReady
from homing.store import Store, Tx
from support.rooms import Room


async def test_a_bad_item_gets_its_error_and_its_neighbours_their_results(room_store: Store) -> None:
    groups: list[int] = []

    def double(tx: Tx, items: Sequence[int]) -> list[int]:
        groups.append(len(items))
        if 7 in items:
            raise ValueError("seven")
        return [2 * item for item in items]

    together = GroupCommit(room_store, double)
    results = await asyncio.gather(*(together(item) for item in range(20)), return_exceptions=True)
    assert [result for item, result in enumerate(results) if item != 7] == [2 * i for i in range(20) if i != 7]
    assert isinstance(results[7], ValueError)
    assert max(groups) > 1


async def test_a_database_that_is_away_is_told_to_everybody_at_once(room_store: Store) -> None:
    asked = 0

    def away(tx: Tx, items: Sequence[int]) -> list[int]:
        nonlocal asked
        asked += 1
        raise NotReady("away")

    together = GroupCommit(room_store, away)
    results = await asyncio.gather(*(together(item) for item in range(20)), return_exceptions=True)
    assert all(isinstance(result, NotReady) for result in results)
    assert asked <= 2


async def test_a_lane_whose_turn_cannot_be_closed_does_not_keep_its_neighbours_from_closing(room: Room) -> None:
    """One of them ends in a way that the rows refuse."""
    keys = [f"web:s{number}" for number in range(5)]
    for key in keys:
        room.ledger.say("hello", key)

    async def think(opened: Opened, keeper: StepJournal) -> TurnResult:
        await asyncio.sleep(0.05)  # so that all of them close together
        bad = opened.session_key == keys[2]
        return TurnResult(outcome="nonsense" if bad else "answered", text="Fine.", history="[]")  # type: ignore[arg-type]

    lanes = room.lanes(think)
    worked = await asyncio.gather(
        *(work_lane(lanes, room.lane_id(key), room.claim()) for key in keys), return_exceptions=True
    )
    assert [one == "more" for one in worked] == [True, True, False, True, True]
    assert [turn.state for turn in room.ledger.turns(None)].count("running") == 1
    for key in keys[:2] + keys[3:]:
        room.ledger.check_whole(key)


@pytest.mark.parametrize("count", [1, 3])
async def test_results_come_back_to_whoever_asked(room_store: Store, count: int) -> None:
    together = GroupCommit(room_store, lambda tx, items: [f"{item}!" for item in items])
    assert await asyncio.gather(*(together(str(item)) for item in range(count))) == [f"{i}!" for i in range(count)]
