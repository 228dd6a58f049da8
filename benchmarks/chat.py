"""F10: what a chat turn costs before its model is called: message in, until the model's first call begins.

Message in is the operation that every door calls, `send_message`, with its transaction; HTTP around it is not counted.
One process with the whole engine running, as `homing up` has it; turns one after the other, conversations in rotation.
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import AsyncIterator
from dataclasses import replace

import sqlalchemy as sa
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, FunctionModel

from benchmarks._instance import database, instance, say
from homing.agent.models import Models
from homing.model.people import OWNER, Caller
from homing.operations.context import Context
from homing.operations.messages import send_message
from homing.operations.shapes.session_asks import SendMessage
from homing.store import Tx
from homing.store import tables as t
from homing.wiring import Homing, make_engine, running

MODEL = "bench"
CALLER = Caller(user_id=OWNER, role="admin", door="api")
# Until statements are compiled and pages are warm, it is the start that is measured.
WARM_UP = 20


def main(argv: list[str]) -> None:
    """Print p50, p95 and p99 of the overhead, and the whole turn's p50."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks chat")
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--turns", type=int, default=400)
    parser.add_argument("--sessions", type=int, default=10)
    ask = parser.parse_args(argv)
    with database(ask.database) as url, instance(url, model=MODEL) as homing:
        called, closed = asyncio.run(_talk(homing, ask.turns, ask.sessions))
    more = {"database": ask.database, "turns": ask.turns, "sessions": ask.sessions}
    for percent in (50, 95, 99):
        say(f"chat_message_to_model_p{percent}", _ms(called, percent), "ms", **more)
    say("chat_message_to_closing_p50", _ms(closed, 50), "ms", **more)


async def _talk(homing: Homing, turns: int, sessions: int) -> tuple[list[float], list[float]]:
    model = _Model()
    homing = replace(homing, models=Models(extra={MODEL: FunctionModel(stream_function=model.answer)}))
    called: list[float] = []
    closed: list[float] = []
    async with running(homing, make_engine(homing)):
        ear = homing.store.bell.listen("lanes")
        for turn in range(WARM_UP + turns):
            model.called.clear()
            ask = SendMessage(session_key=f"web:chat-{turn % sessions}", text=f"hello {turn}")
            begun = time.perf_counter()
            await homing.store.write(lambda tx, ask=ask: send_message(_context(homing, tx), ask))
            async with asyncio.timeout(30):
                await model.called.wait()
                called.append(model.at - begun)
                while await homing.store.read(_closed) <= turn:
                    await ear.wait(1)
            closed.append(time.perf_counter() - begun)
        ear.close()
    await homing.store.close()
    return called[WARM_UP:], closed[WARM_UP:]


class _Model:
    """Answers at once, and remembers when it was asked."""

    def __init__(self) -> None:
        self.called = asyncio.Event()
        self.at = 0.0

    async def answer(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        self.at = time.perf_counter()
        self.called.set()
        yield "Hello."


def _context(homing: Homing, tx: Tx) -> Context:
    return Context(tx=tx, caller=CALLER, instance=homing.instance)


def _closed(tx: Tx) -> int:
    return tx.rows(sa.select(sa.func.count()).select_from(t.turn).where(t.turn.c.state == "closed"))[0][0]


def _ms(seconds: list[float], percent: int) -> float:
    return statistics.quantiles(seconds, n=100)[percent - 1] * 1000
