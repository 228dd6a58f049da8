"""Asking and answering, as model, people and time do it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from homing.engine.actions import Actions
from homing.model.actions import ActionResult, Asked
from homing.model.approvals import Ended
from homing.store import Tx
from homing.store import tables as t
from homing.testing import tool_call
from support.site import OWNER_TOKEN
from support.whole import Whole

KEY = "web:fruit"
REX = "the dog is called Rex"


async def let_ask(whole: Whole, *tools: str) -> None:
    """Give calls of these tools of the agent the policy ask, and allow the others."""
    agent = await whole.ask("GET", "/agents/main")
    allowed = ("schedule_task", "remember", "recall", "forget", "fetch_url")
    policy = {name: "ask" if name in tools else "allow" for name in allowed}
    await whole.ask("PATCH", "/agents/main", {"tools": policy, "revision": agent["revision"]})


async def call(whole: Whole, tool: str, args: Mapping[str, Any], *, key: str = KEY) -> None:
    """Let the model call a tool in a turn of a person."""
    whole.model.reply([tool_call(tool, dict(args))])
    whole.model.reply("I asked for it.")
    assert await whole.say(f"Please use {tool}", key=key) == "I asked for it."


async def ask_for_memory(whole: Whole, text: str = REX, *, key: str = KEY) -> dict[str, Any]:
    """Let `remember` ask, and give the approval that came of a call."""
    await let_ask(whole, "remember")
    await call(whole, "remember", {"text": text}, key=key)
    return (await pending(whole))[0]


async def pending(whole: Whole) -> list[dict[str, Any]]:
    return (await whole.ask("GET", "/approvals?state=pending&limit=100"))["items"]


async def answer(
    whole: Whole, approval: Mapping[str, Any], decision: str = "approve", *, code: int = 200, **more: Any
) -> dict[str, Any]:
    token = more.pop("token", OWNER_TOKEN)
    body = {"decision": decision, "digest": approval["digest"]} | more
    return await whole.ask("POST", f"/approvals/{approval['id']}", body, token=token, code=code)


async def until(true: Callable[[], Awaitable[Any]], what: str) -> Any:
    try:
        async with asyncio.timeout(30):
            while not (found := await true()):  # noqa: ASYNC110 - what a server tells, asked again
                await asyncio.sleep(0.02)
            return found
    except TimeoutError:
        raise AssertionError(f"Waited in vain until {what}") from None


async def ended(whole: Whole, approval_id: str) -> dict[str, Any]:
    async def look() -> dict[str, Any] | None:
        approval = await whole.ask("GET", f"/approvals/{approval_id}")
        return approval if approval["finished_at"] else None

    return await until(look, f"{approval_id} has ended")


async def texts(whole: Whole, key: str = KEY) -> list[str]:
    listed = await whole.ask("GET", f"/sessions/{key}/messages?limit=100")
    return [message["text"] for message in listed["items"]]


async def told(whole: Whole, text: str, key: str = KEY) -> None:
    """Wait until the conversation has a closing that says so."""

    async def look() -> bool:
        return text in await texts(whole, key)

    await until(look, f"the conversation says {text!r}")


def change(whole: Whole, approval_id: str, **values: Any) -> None:
    """Write into an approval's row what only time, or somebody with the database, could have written."""

    def work(tx: Tx) -> None:
        tx.run(sa.update(t.approval).where(t.approval.c.id == approval_id).values(values))

    whole.homing.store.write_now(work)


def rows(whole: Whole, statement: sa.Select[*tuple[Any, ...]]) -> list[Any]:
    return whole.homing.store.write_now(lambda tx: tx.rows(statement))


def told_of(whole: Whole, approval_id: str) -> list[Any]:
    """Read the inbounds that tell how an approval ended."""
    c = t.inbound.c
    return rows(whole, sa.select(t.inbound).where(c.meta["approval_id"].as_string() == approval_id))


@dataclass(kw_only=True)
class Deed:
    """An action of a test: it counts how often it began."""

    gives: str = "done as asked"
    outside: str | None = None
    repeatable: bool = False
    seconds: float = 30.0
    begun: int = 0
    error: BaseException | None = None
    finish_error: Exception | None = None
    ended: Ended | None = None
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    async def work(self) -> str:
        self.begun += 1
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        return self.gives

    def finish(self, tx: Tx, worked: str) -> ActionResult:
        if self.finish_error is not None:
            raise self.finish_error
        return ActionResult(text=worked, outside=self.outside, ended=self.ended)


def free(deed: Deed) -> Deed:
    """Let a deed end as soon as it has begun."""
    deed.gate.set()
    return deed


def actions(whole: Whole, deed: Deed | None, worker_id: str = "worker_test") -> Actions:
    """Make the machine of a worker that knows one deed, whatever was asked for."""

    def find(asked: Asked) -> Deed | None:
        return deed

    return Actions(whole.homing.store, whole.homing.instance, worker_id, find, grace_seconds=0.05)
