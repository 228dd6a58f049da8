"""A Homing with ailments: its clock jumps, its disk fills up, and it has tools that leave a line when they begin.

The product's own wiring in the order of `homing up` and `homing work`; the ailments are turned up and down from
outside, by a panel of numbers in a file that both processes see.
"""

import asyncio
import json
import mmap
import os
import random
import re
import signal
import struct
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import sqlalchemy as sa
from sqlalchemy import event, exc

from homing.agent.journal import Tool, ToolCall
from homing.cli.home import make_home, only_engine, sqlite_file
from homing.cli.instance import admit_owner, open_instance
from homing.cli.logs import set_up_logs
from homing.cli.serving import bind, make_doors, serving
from homing.cli.shutdown import on_signals, until
from homing.engine.opening import Opened
from homing.engine.step_journal import StepJournal
from homing.engine.turn_context import TurnThinker
from homing.model.agents import Agent
from homing.model.clock import SystemClock
from homing.settings import Settings, load
from homing.tools.toolbox import toolbox
from homing.wiring import Engine, Hands, Homing, make_engine, running, wire

_NUMBERS = struct.Struct("dd")
_WRITES = re.compile(r"\s*(insert|update|delete)\b", re.IGNORECASE)
_NO_LIMIT = 4_294_967_294


class Panel:
    """Two numbers that the driver sets and the sick read: seconds the clock is off, and how full the disk is (0–1)."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(_NUMBERS.pack(0.0, 0.0))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _NUMBERS.size)

    @property
    def clock_seconds(self) -> float:
        return _NUMBERS.unpack(self._map[:])[0]

    @property
    def full(self) -> float:
        return _NUMBERS.unpack(self._map[:])[1]

    def set(self, *, clock_seconds: float | None = None, full: float | None = None) -> None:
        seconds = self.clock_seconds if clock_seconds is None else clock_seconds
        self._map[:] = _NUMBERS.pack(seconds, self.full if full is None else full)


class ShiftingClock(SystemClock):
    """Wall time as the panel has it; monotonic time is the machine's, as when an administrator sets the clock."""

    def __init__(self, panel: Panel) -> None:
        self._panel = panel

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self._panel.clock_seconds)


def live(command: str, panel_file: Path, deeds: Path) -> None:
    """Be `homing up` or `homing work`, sick."""
    panel = Panel(panel_file)
    settings = load()
    make_home(settings)
    if command == "work":
        asyncio.run(_work(settings, panel, deeds))
        return
    with ExitStack() as held:
        listening = bind(settings)
        held.callback(listening.close)
        file = sqlite_file(settings)
        assert file is not None
        held.enter_context(only_engine(file, settings.home))
        asyncio.run(_up(settings, panel, deeds, listening))


async def _work(settings: Settings, panel: Panel, deeds: Path) -> None:
    set_up_logs()
    told = on_signals(signal.SIGINT, signal.SIGTERM)
    homing, engine = wire_sick(settings, panel, deeds)
    async with running(homing, engine):
        await until(told)
    await homing.store.close()


async def _up(settings: Settings, panel: Panel, deeds: Path, listening: Any) -> None:
    set_up_logs()
    told = on_signals(signal.SIGINT, signal.SIGTERM)
    homing, engine = wire_sick(settings, panel, deeds)
    admit_owner(homing)
    async with serving(make_doors(homing), listening) as server, running(homing, engine):
        await until(told, server)
    await homing.store.close()


def wire_sick(settings: Settings, panel: Panel, deeds: Path) -> tuple[Homing, Engine]:
    """Wire a Homing that listens to the panel, and its engine, whose tools leave lines among the deeds."""
    open_instance(settings).store.engine.dispose()
    homing = wire(settings, clock=ShiftingClock(panel))
    if homing.store.postgres:
        _refuse_writes(homing.store.engine, panel)
    else:
        _limit_pages(homing.store.engine, panel)

    hands = Hands(homing)

    def every_tool(opened: Opened, keeper: StepJournal, agent: Agent) -> list[Tool]:
        own = toolbox(
            turn=opened.turn,
            session_key=opened.session_key,
            agent=agent,
            instance=homing.instance,
            store=homing.store,
            commit=keeper.commit,
            outside=hands.tools(agent),
        )
        return [*own, *_tools(deeds, opened)]

    think = TurnThinker(store=homing.store, instance=homing.instance, models=homing.models, toolbox=every_tool)
    return homing, make_engine(homing, think=think, hands=hands)


def _refuse_writes(engine: sa.Engine, panel: Panel) -> None:
    """PostgreSQL's disk is not ours to fill: say what it would say."""

    def before(_c: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if panel.full and _WRITES.match(statement) and random.random() < panel.full:
            raise exc.OperationalError(
                statement, parameters, psycopg.errors.DiskFull("could not extend file: No space")
            )

    event.listen(engine, "before_cursor_execute", before)


def _limit_pages(engine: sa.Engine, panel: Panel) -> None:
    """SQLite's own "database or disk is full": the file may not grow by one page more."""

    def begin(connection: sa.Connection) -> None:
        if connection.get_execution_options().get("homing_read", False):
            return
        limit = _NO_LIMIT
        if random.random() < panel.full:
            limit = connection.exec_driver_sql("pragma page_count").scalar_one()
        connection.exec_driver_sql(f"pragma max_page_count = {limit}")

    event.listen(engine, "begin", begin)


def _tools(deeds: Path, opened: Opened) -> list[Tool]:
    """`deed` must not be done twice; `look` may be."""

    async def work(call: ToolCall) -> str:
        line = {
            "tool": call.name, "turn_id": opened.turn.id, "key": call.key, "fence": opened.turn.fence,
            "at": datetime.now(UTC).isoformat(), "pid": os.getpid(),
        }  # fmt: skip
        _append(deeds, line)
        await asyncio.sleep(random.choice((0.0, 0.05, 0.5)))
        return f"{call.name} done for {call.args.get('what')}"

    parameters = {"type": "object", "properties": {"what": {"type": "string"}}}
    return [
        Tool(name=name, description=f"A {name}.", parameters=parameters, run=work, repeatable=name == "look")
        for name in ("deed", "look")
    ]


def _append(path: Path, line: dict[str, object]) -> None:
    # One write, at once in the file: a kill right after it loses nothing.
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(handle, json.dumps(line).encode() + b"\n")
    finally:
        os.close(handle)
