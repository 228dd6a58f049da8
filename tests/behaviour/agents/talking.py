"""What the tests of agents that write to each other do again and again."""

import asyncio
from typing import Any

import sqlalchemy as sa

from homing.store import tables as t
from support.whole import Whole

KEY = "web:fruit"
RESEARCH = "agent:research"


async def make_agents(whole: Whole) -> None:
    for agent_id in ("research", "writer"):
        await whole.ask("POST", "/agents", {"id": agent_id, "name": agent_id.title()}, code=201)


async def allow(whole: Whole, agent_id: str = "main", **to: str) -> str:
    """Add a grant; by default from main to research."""
    wanted = {"agent_id": agent_id, **(to or {"to_agent_id": "research"})}
    return (await whole.ask("POST", "/grants", wanted, code=201))["id"]


async def messages(whole: Whole, key: str, **more: Any) -> list[dict[str, Any]]:
    return (await whole.ask("GET", f"/sessions/{key}/messages?limit=200", **more))["items"]


async def until_said(whole: Whole, text: str, key: str = KEY) -> dict[str, Any]:
    """Wait until the agent of a conversation has said so, and give the message."""
    async with asyncio.timeout(60):
        while True:
            found = (await whole.ask("GET", "/sessions"))["items"]
            said = await messages(whole, key) if key in {one["key"] for one in found} else []
            for message in said:
                if message["role"] == "assistant" and text in message["text"]:
                    return message
            await asyncio.sleep(0.02)


async def until_idle(whole: Whole) -> None:
    """Wait until no turn is open and nothing waits."""
    busy = sa.select(
        sa.select(sa.func.count()).where(t.turn.c.state != "closed").scalar_subquery(),
        sa.select(sa.func.count()).where(t.inbound.c.state == "waiting", t.inbound.c.line != "note").scalar_subquery(),
    )
    async with asyncio.timeout(120):
        while tuple(whole.homing.store.write_now(lambda tx: tx.rows(busy)[0])) != (0, 0):  # noqa: ASYNC110 - rows do not ring
            await asyncio.sleep(0.02)


def inbounds(whole: Whole, source: str = "agent") -> list[Any]:
    """Read what agents wrote to each other, in order."""
    c = t.inbound.c
    return list(
        whole.homing.store.write_now(lambda tx: tx.rows(sa.select(t.inbound).where(c.source == source).order_by(c.n)))
    )


def prompts(whole: Whole) -> list[str]:
    """Give what each turn was opened with, as its model saw it."""
    c = t.turn.c
    return [prompt for (prompt,) in whole.homing.store.write_now(lambda tx: tx.rows(sa.select(c.prompt).order_by(c.n)))]
