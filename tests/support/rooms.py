"""The engine in the test's own process: real lanes and a real runner on a real database, with a scripted model.

Time passes by writing it into the rows: `expire` ends a claim, `pass_deadline` a turn's time.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from homing.agent.journal import Tool
from homing.agent.models import Models
from homing.engine.abilities import Abilities
from homing.engine.claims import Claim
from homing.engine.gates import Gates, RunScript
from homing.engine.lane import Lanes, Think, Worked, work_lane
from homing.engine.runner import Runner
from homing.engine.scheduler import Scheduler
from homing.engine.turn_context import TurnThinker
from homing.model.clock import SystemClock
from homing.operations.context import Instance
from homing.settings import load
from homing.store import Store
from homing.store.lanes import lane_of
from homing.testing import ScriptedModel, scripted_model
from homing.tools.tool import OutsideTool, ToolSpec
from homing.tools.toolbox import toolbox
from support.ledger import CHAT, PATIENCE, Ledger

MODEL = "scripted"


class Room:
    """One engine over one database."""

    def __init__(self, store: Store, *, tools: Sequence[Tool] = (), model: str = MODEL, **settings: Any) -> None:
        given = {"home": "/nonexistent", "claim_seconds": 30, "timezone": "UTC"} | settings
        self.store = store
        self.model: ScriptedModel = scripted_model()
        self.tools = list(tools)
        self.outside: Sequence[OutsideTool] = ()
        self.own: Sequence[ToolSpec] = ()
        self.clock = SystemClock()
        self.instance = Instance(
            version="0.0-test", model=model, model_offline=False, model_why="",
            settings=load({f"HOMING_{name.upper()}": str(value) for name, value in given.items()}),
        )  # fmt: skip
        self.ledger = Ledger(store, unified=self.instance.settings.unified_session)
        self.models = Models(extra={MODEL: self.model})
        self._workers = 0

    def thinker(self, store: Store | None = None) -> TurnThinker:
        store = store or self.store
        return TurnThinker(
            store=store, instance=self.instance, models=self.models,
            toolbox=lambda opened, keeper, agent: [
                *toolbox(
                    turn=opened.turn, session_key=opened.session_key, agent=agent, instance=self.instance,
                    store=store, commit=keeper.commit, outside=self.outside, own=self.own,
                ),
                *self.tools,
            ],
        )  # fmt: skip

    def lanes(self, think: Think | None = None, store: Store | None = None) -> Lanes:
        thinker = self.thinker(store)
        return Lanes(store=store or self.store, instance=self.instance, think=think or thinker)

    def claim(self, **values: Any) -> Claim:
        self._workers += 1
        plain = {"worker_id": f"worker_{self._workers}", "clock": self.clock, "seconds": 30.0}
        return Claim(**(plain | values))

    def runner(self, think: Think | None = None) -> Runner:
        self._workers += 1
        return Runner(self.lanes(think), self.clock, f"worker_{self._workers}")

    def gates(self, run_script: RunScript, *, bash: bool = True) -> Gates:
        self._workers += 1
        abilities = Abilities()
        if bash:
            abilities.add_sandbox()
        return Gates(self.store, self.instance, run_script, f"worker_{self._workers}", abilities)

    def scheduler(self) -> Scheduler:
        return Scheduler(self.store, self.instance, self.clock)

    def lane_id(self, key: str = CHAT) -> int:
        session = self.ledger.session(key)
        return self.ledger.write(lambda tx: lane_of(tx, session, unified=self.ledger.unified))

    async def work(self, key: str = CHAT, *, claim: Claim | None = None, lanes: Lanes | None = None) -> Worked:
        """Work one turn of a session's lane."""
        return await work_lane(lanes or self.lanes(), self.lane_id(key), claim or self.claim())

    @asynccontextmanager
    async def running(self, *runners: Runner) -> AsyncIterator[None]:
        """Let runners work for as long as the block lasts."""
        await self.store.bell.open()
        mine = runners or (self.runner(),)
        tasks = [asyncio.create_task(runner.run()) for runner in mine]
        try:
            yield
        finally:
            for runner in mine:
                await runner.stop(grace=0)
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            assert all(isinstance(one, asyncio.CancelledError) for one in ended), ended

    def ring(self) -> None:
        self.store.bell.ring({"lanes", "cancels", "jobs"})

    def expire(self, key: str = CHAT) -> None:
        """Let the claim of the session's open turn run out."""
        turn = self.ledger.turns(key)[-1]
        now = self.ledger.write(lambda tx: tx.now())
        self.ledger.change_turn(turn.id, claimed_until=now - timedelta(milliseconds=1))

    def pass_deadline(self, key: str = CHAT) -> None:
        turn = self.ledger.turns(key)[-1]
        now = self.ledger.write(lambda tx: tx.now())
        self.ledger.change_turn(turn.id, deadline_at=now - timedelta(milliseconds=1))

    async def until(self, true: Callable[[], Any], what: str, *, seconds: float = PATIENCE) -> None:
        """Wait until the rows say so, and let the engine work meanwhile."""
        try:
            async with asyncio.timeout(seconds):
                while not true():  # noqa: ASYNC110 - rows do not ring
                    await asyncio.sleep(0.005)
        except TimeoutError:
            raise TimeoutError(f"Waited {seconds:g} s until {what}.") from None

    async def until_closed(self, count: int, key: str | None = CHAT, *, seconds: float = PATIENCE) -> None:
        def closed() -> bool:
            turns = self.ledger.turns(key)
            return len(turns) >= count and all(turn.state == "closed" for turn in turns)

        await self.until(closed, f"{count} turns of {key} have closed", seconds=seconds)

    async def called(self, count: int, *, seconds: float = PATIENCE) -> None:
        """Wait until the model was called so often."""
        async with asyncio.timeout(seconds):
            await self.model.wait_for_calls(count)


@pytest.fixture
async def room_store(database: str) -> AsyncIterator[Store]:
    store = Store(database, SystemClock(), fsync=False)
    yield store
    await store.close()


@pytest.fixture
def room(room_store: Store) -> Room:
    return Room(room_store)
