"""A home whose jobs have scripts: they run for real, and a test can hold them where it wants."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from behaviour.jobs.homes import Home
from homing.model.scripts import Script, ScriptEnd
from homing.operations.jobs import add_job
from homing.operations.runs import get_run
from homing.operations.scripts import TriedScript, script_after
from homing.operations.shapes.base import read
from homing.operations.shapes.job import JobShape
from homing.operations.shapes.job_asks import AddJob
from homing.operations.shapes.run import RunShape
from homing.operations.shapes.run_asks import RunRef
from homing.sandbox.trial import try_sandbox
from homing.store import Store
from homing.testing import FakeClock
from homing.tools.scripts import Scripts
from support.internet import Internet
from support.ledger import CHAT

NO = "print('{\"wakeAgent\": false}')"
YES = "print('{\"wakeAgent\": true}')"


def says(line: str) -> str:
    """Write a script that prints one line."""
    return f"print({line!r})"


class GateHome(Home):
    """Ticks, runs scripts and turns, one after the other."""

    def __init__(self, store: Store, fake: FakeClock, **settings: Any) -> None:
        super().__init__(store, fake, **settings)
        self.internet = Internet()
        self.scripts = Scripts(try_sandbox, network=self.internet.network)
        self.begun: list[Mapping[str, Any]] = []
        """What each script that began was given."""
        self.free = asyncio.Event()
        self.free.set()
        self.began = asyncio.Event()

    async def run_script(self, script: Script, given: Mapping[str, Any]) -> ScriptEnd:
        self.begun.append(given)
        self.began.set()
        await self.free.wait()
        return await self.scripts.run(script, given)

    def add_gated(self, script: str = NO, *, language: str = "python", **given: Any) -> JobShape:
        """Add a job with a script as if that had been tried."""
        self.ledger.session()
        plain: dict[str, Any] = {"session_key": CHAT, "message": "look for fruit", "when": "every 1h"}
        ask = read(AddJob, plain | {"script": script, "script_language": language} | given)
        tried = TriedScript(script=script_after(ask, None))
        return self.ledger.write(lambda tx: add_job(self.world.ctx(tx), ask, tried))

    async def settle(self) -> None:
        gates = self.gates(self.run_script)
        await self.tick()
        while await gates.step():
            pass
        await super().settle()

    async def due(self, **length: float) -> None:
        """Let the next time come, and everything that follows from it."""
        self.pass_time(**(length or {"hours": 1, "seconds": 1}))
        await self.settle()

    def run(self, run_id: str) -> RunShape:
        return self.ask(get_run, RunRef(run_id=run_id))


@pytest.fixture
async def home(store: Store, clock: FakeClock) -> AsyncIterator[GateHome]:
    home = GateHome(store, clock)
    yield home
    await home.scripts.close()
