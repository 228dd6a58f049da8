"""A worker for tests: the product's own wiring, with a few tools more, and a wire to die at.

SIGTERM stops it gracefully, SIGUSR1 rings every bell: on SQLite there is no other way to be heard from outside.
"""

import asyncio
import os
import signal
from collections.abc import Callable
from dataclasses import replace

from homing.agent.journal import Tool
from homing.engine.actions import Actions
from homing.engine.opening import Opened
from homing.engine.step_journal import StepJournal
from homing.engine.turn_context import TurnThinker
from homing.model.agents import Agent
from homing.settings import load
from homing.tools.approved_calls import find_call
from homing.tools.toolbox import toolbox
from homing.wiring import make_engine, running, wire
from support.answerer import answer_all
from support.deeds import make_asking_tools, make_tools
from support.orders import Order
from support.tripwires import hang


async def work(order: Order, ready: Callable[[], None]) -> None:
    """Work until told to stop."""
    os.environ.update(order.environment)
    homing = wire(load(order.settings))
    if order.trip is not None:
        hang(homing.store.engine, order.trip)
    tools, asking = make_tools(order.folder, order.renamed), make_asking_tools(order.folder)

    def every_tool(opened: Opened, keeper: StepJournal, agent: Agent) -> list[Tool]:
        own = toolbox(
            turn=opened.turn,
            session_key=opened.session_key,
            agent=agent,
            instance=homing.instance,
            store=homing.store,
            commit=keeper.commit,
            outside=asking,
        )
        return [*own, *tools]

    thinker = TurnThinker(store=homing.store, instance=homing.instance, models=homing.models, toolbox=every_tool)
    engine = make_engine(homing, think=thinker)
    actions = Actions(
        homing.store,
        homing.instance,
        engine.worker_id,
        lambda asked: find_call(asked, asking, homing.instance, homing.store),
    )
    engine = replace(engine, actions=actions)
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, told.set)
    loop.add_signal_handler(
        signal.SIGUSR1, lambda: homing.store.bell.ring_here({"lanes", "cancels", "jobs", "gates", "approvals"})
    )
    async with running(homing, engine):
        ready()
        answering = asyncio.create_task(answer_all(homing, order)) if order.answers is not None else None
        await told.wait()
        if answering is not None:
            answering.cancel()
    await homing.store.close()
