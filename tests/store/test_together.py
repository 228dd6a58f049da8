"""Group commit: what is asked at once is written at once, and one bad item takes no neighbour along."""

import asyncio
from collections.abc import Sequence

import pytest
from sqlalchemy import event

from homing.engine.group_commit import GroupCommit
from homing.model.clock import SystemClock
from homing.model.errors import NotReady
from homing.store import Store, Tx
from store.scenes import add_session, count


async def test_items_asked_while_a_group_commits_become_the_next_group(store: Store) -> None:
    groups: list[int] = []

    def write(tx: Tx, items: Sequence[int]) -> list[int]:
        groups.append(len(items))
        for item in items:
            add_session(tx, f"web:{item}")
        return [item * 2 for item in items]

    together = GroupCommit(store, write)
    assert await asyncio.gather(*(together(n) for n in range(40))) == [n * 2 for n in range(40)]
    assert count(store, "session") == 40
    assert len(groups) <= 2


async def test_one_bad_item_gets_its_error_and_the_others_are_written(store: Store) -> None:
    def write(tx: Tx, items: Sequence[int]) -> list[int]:
        for item in items:
            add_session(tx, f"web:{item}")
        if {13, 29} & set(items):
            raise ValueError(sorted({13, 29} & set(items)))
        return list(items)

    together = GroupCommit(store, write)
    found = await asyncio.gather(*(together(n) for n in range(40)), return_exceptions=True)
    bad = {n: answer.args[0] for n, answer in enumerate(found) if isinstance(answer, Exception)}
    assert bad == {13: [13], 29: [29]}
    assert [answer for answer in found if not isinstance(answer, Exception)] == [n for n in range(40) if n not in bad]
    assert count(store, "session") == 38


async def test_a_database_that_is_away_is_asked_once_for_a_whole_group() -> None:
    away = Store("postgresql://nobody@127.0.0.1:1/nowhere", SystemClock())
    asked: list[int] = []
    event.listen(away.engine, "do_connect", lambda *_: asked.append(1))

    def write(tx: Tx, items: Sequence[int]) -> list[int]:
        return list(items)

    together = GroupCommit(away, write)
    found = await asyncio.gather(*(together(n) for n in range(200)), return_exceptions=True)
    assert {type(answer) for answer in found} == {NotReady}
    # Groups of 32, 64 and the rest; not one connection for each item.
    assert len(asked) <= 3
    await away.close()


async def test_an_asker_that_is_gone_does_not_stop_the_group(store: Store) -> None:
    def write(tx: Tx, items: Sequence[str]) -> list[str]:
        for item in items:
            add_session(tx, f"web:{item}")
        return list(items)

    together = GroupCommit(store, write)
    gone, stays = asyncio.create_task(together("gone")), asyncio.create_task(together("stays"))
    await asyncio.sleep(0)
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    assert await stays == "stays"
    assert count(store, "session") == 2
