"""What is not the caller's fault is told too: in one sentence, without a trace."""

from dataclasses import replace

from homing.mcp.local import LocalBackend
from homing.model.people import Caller
from homing.operations.shapes.base import Answer
from homing.store import Store
from support.doors import problem_of
from support.worlds import OWNER_CALLER, World

HELLO = {"session_key": "api:new", "text": "Hello", "wait": 1}


async def test_a_bug_is_told_without_its_trace(world: World) -> None:
    async def closed(_: Caller, __: str, ___: float) -> Answer | None:
        raise ZeroDivisionError("secret")

    here = LocalBackend(store=world.store, instance=world.instance, caller=OWNER_CALLER, every=False, closed=closed)
    told = problem_of(await here.call("send_message", HELLO))
    assert told["code"] == "internal"
    assert "secret" not in told["detail"]


async def test_a_database_that_does_not_answer_is_told_as_such(world: World) -> None:
    here = LocalBackend(store=world.store, instance=world.instance, caller=OWNER_CALLER, every=False)
    away = replace(here, store=Store("postgresql://nobody@127.0.0.1:1/nothing", world.clock))
    told = problem_of(await away.call("send_message", HELLO))
    await away.store.close()
    assert told["code"] == "not_ready"
    assert told["detail"].startswith("Homing cannot serve right now")
    assert "database" not in told["detail"]


async def test_where_no_engine_runs_nobody_waits_for_an_answer(world: World) -> None:
    here = LocalBackend(store=world.store, instance=world.instance, caller=OWNER_CALLER, every=False)
    sent = await here.call("send_message", HELLO | {"wait": 120})
    assert sent.structured_content["will"] == "start"
