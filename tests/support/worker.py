"""A worker for tests: the product's own wiring, with a few tools more, and a wire to die at.

SIGTERM stops it gracefully, SIGUSR1 rings every bell: on SQLite there is no other way to be heard from outside.
"""

import asyncio
import os
import signal
from collections.abc import Callable

from homing.agent.journal import Tool
from homing.engine.opening import Opened
from homing.engine.step_journal import StepJournal
from homing.engine.turn_context import TurnThinker
from homing.model.agents import Agent
from homing.settings import load
from homing.tools.toolbox import toolbox
from homing.wiring import make_engine, running, wire
from support.deeds import make_tools
from support.orders import Order
from support.tripwires import hang


async def work(order: Order, ready: Callable[[], None]) -> None:
    """Work until told to stop."""
    os.environ.update(order.environment)
    homing = wire(load(order.settings))
    if order.trip is not None:
        hang(homing.store.engine, order.trip)
    tools = make_tools(order.folder, order.renamed)

    def every_tool(opened: Opened, keeper: StepJournal, agent: Agent) -> list[Tool]:
        own = toolbox(
            turn=opened.turn,
            session_key=opened.session_key,
            agent=agent,
            instance=homing.instance,
            store=homing.store,
            commit=keeper.commit,
        )
        return [*own, *tools]

    thinker = TurnThinker(store=homing.store, instance=homing.instance, models=homing.models, toolbox=every_tool)
    engine = make_engine(homing, think=thinker)
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, told.set)
    loop.add_signal_handler(signal.SIGUSR1, lambda: homing.store.bell.ring_here({"lanes", "cancels", "jobs"}))
    async with running(homing, engine):
        ready()
        await told.wait()
    await homing.store.close()
