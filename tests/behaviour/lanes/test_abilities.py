"""Rule 43: a turn whose agent has workspace tools is for workers that have the workspaces, while one of them lives."""

from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from homing.engine.abilities import Abilities
from homing.engine.runner import Runner, pick
from homing.engine.sweeper import Sweeper
from homing.model.agents import MAIN
from homing.model.mcp_servers import McpServer
from homing.model.people import OWNER
from homing.store import Tx, agents, maintenance, mcp_servers, sessions
from homing.store import tables as t
from homing.store.maintenance import Worker
from support.rooms import Room


@pytest.fixture(autouse=True)
def _armed(room: Room) -> None:  # pyright: ignore[reportUnusedFunction]
    """Give `main` the tools of this version; `other` has none."""

    def arm(tx: Tx) -> None:
        main = agents.lock(tx, MAIN)
        assert main is not None
        agents.change(tx, replace(main, tools=None))

    room.ledger.write(arm)


class Hand:
    """A worker: its runner and its beats."""

    def __init__(self, room: Room, name: str, *, workspaces: bool) -> None:
        self.name = name
        self._room = room
        abilities = Abilities()
        if workspaces:
            abilities.add_workspaces()
        self.runner = Runner(room.lanes(), room.clock, name, abilities)
        self._sweeper = Sweeper(room.store, room.instance, room.clock, name, name, None, abilities)

    async def beat(self) -> None:
        await self._sweeper.beat()

    def die(self) -> None:
        """Be silent for longer than a living worker is."""

        def work(tx: Tx) -> None:
            long_ago = tx.now() - timedelta(minutes=5)
            tx.run(sa.update(t.worker).where(t.worker.c.id == self.name).values(beat_at=long_ago))

        self._room.ledger.write(work)


async def test_a_worker_says_in_its_row_what_it_can_do(room: Room) -> None:
    for hand in (Hand(room, "worker_a", workspaces=True), Hand(room, "worker_b", workspaces=False)):
        await hand.beat()

    rows: list[Worker] = room.ledger.write(lambda tx: maintenance.workers(tx, timedelta(minutes=1)))
    assert {worker.id: worker.can for worker in rows} == {
        "worker_a": frozenset({"workspace"}),
        "worker_b": frozenset[str](),
    }


async def test_a_worker_without_workspaces_leaves_such_turns_while_another_has_them(room: Room) -> None:
    able, unable = Hand(room, "worker_a", workspaces=True), Hand(room, "worker_b", workspaces=False)
    await able.beat()
    await unable.beat()
    room.ledger.say("hello", "web:main")
    room.ledger.write(lambda tx: sessions.add(tx, key="web:other", user_id=OWNER, agent_id="other"))
    room.ledger.say("hello", "web:other")

    assert await unable.runner.step()
    assert (len(room.ledger.turns("web:main")), len(room.ledger.turns("web:other"))) == (0, 1)
    assert not await unable.runner.step()
    assert await able.runner.step()
    assert room.ledger.turn("web:main").outcome == "answered"


async def test_turns_of_an_agent_whose_servers_are_programs_are_left_too(room: Room) -> None:
    def furnish(tx: Tx) -> None:
        sessions.add(tx, key="web:other", user_id=OWNER, agent_id="other")
        mcp_servers.add(
            tx,
            McpServer(
                agent_id="other",
                name="time",
                transport="stdio",
                command="time",
                args=(),
                url=None,
                env={},
                headers={},
                hosts=(),
                policy="allow",
            ),
        )

    room.ledger.write(furnish)
    able, unable = Hand(room, "worker_a", workspaces=True), Hand(room, "worker_b", workspaces=False)
    await able.beat()
    await unable.beat()
    room.ledger.say("hello", "web:other")

    assert not await unable.runner.step()
    assert await able.runner.step()
    assert room.ledger.turn("web:other").outcome == "answered"


async def test_nothing_waits_where_no_living_worker_has_workspaces(room: Room) -> None:
    able, unable = Hand(room, "worker_a", workspaces=True), Hand(room, "worker_b", workspaces=False)
    await able.beat()
    able.die()
    await unable.beat()
    room.ledger.say("hello")

    assert await unable.runner.step()
    assert room.ledger.turn().outcome == "answered"


async def test_an_open_turn_of_a_dead_worker_is_taken_up_by_one_that_can(room: Room) -> None:
    able, unable = Hand(room, "worker_a", workspaces=True), Hand(room, "worker_b", workspaces=False)
    await able.beat()
    await unable.beat()
    room.ledger.say("hello")
    claim = room.claim()
    claim.stop("lost")
    await room.work(claim=claim)
    room.expire()

    assert not await unable.runner.step()
    # Nor does it look again and again at a claim that ran out and is not for it.
    picked = room.ledger.write(lambda tx: pick(tx, 1, 1, (), left_agents={MAIN}))
    assert picked.next_claim_end is None
    assert room.ledger.turn().state == "running"
    assert await able.runner.step()
    assert room.ledger.turn().outcome == "answered"
