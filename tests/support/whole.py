"""A whole Homing in the test's own process: HTTP door, engine and real tools, with a scripted model."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2

from homing.agent.models import Models
from homing.cli.serving import make_doors
from homing.engine.actions import Actions
from homing.model.actions import Asked
from homing.model.agents import MAIN
from homing.model.people import OWNER
from homing.settings import load
from homing.store import Tx, agents, people
from homing.testing import FakeClock, ScriptedModel, scripted_model, tool_call
from homing.testing.scripted import wire_messages
from homing.wiring import Engine, Homing, make_engine, prepare, running, wire
from support.site import BASE, OWNER_TOKEN, STRANGER_TOKEN

STRANGER = "stranger"


@dataclass(frozen=True, kw_only=True)
class Whole:
    """Asked over HTTP."""

    homing: Homing
    engine: Engine
    model: ScriptedModel
    http: httpx2.AsyncClient

    async def ask(self, method: str, path: str, body: Any = None, *, token: str = OWNER_TOKEN, code: int = 200) -> Any:
        headers = {"Authorization": f"Bearer {token}"}
        answer = await self.http.request(method, f"/api{path}", json=body, headers=headers, timeout=60)
        assert answer.status_code == code, answer.text
        return answer.json()

    async def say(self, text: str, *, key: str = "web:chat", token: str = OWNER_TOKEN, **more: Any) -> str:
        """Say something and wait for the answer."""
        path = f"/sessions/{key}/messages?wait=60"
        return (await self.ask("POST", path, {"text": text, **more}, token=token))["message"]["text"]

    async def call(self, name: str, arguments: Mapping[str, Any], key: str | None = None, **more: Any) -> str:
        """Let the model call one tool, in a conversation of its own if none is named, and give what it was told."""
        self.model.reply([tool_call(name, dict(arguments))])
        self.model.reply("Done.")
        seen = len(self.model.seen)
        await self.say(f"call {name}", key=key or f"web:call-{seen}", **more)
        assert len(self.model.seen) == seen + 2
        told = [message.text for message in wire_messages(self.model.seen[-1]) if message.role == "tool"]
        return json.loads(told[-1])["error"] if told[-1].startswith('{"error":') else told[-1]

    def change_agent(self, **values: Any) -> None:
        """Change the agent `main` behind the doors."""

        def change(tx: Tx) -> None:
            main = agents.lock(tx, MAIN)
            assert main is not None
            agents.change(tx, replace(main, **values))

        self.homing.store.write_now(change)

    def offered(self) -> set[str]:
        """Name the tools of the model's last call."""
        return {tool.name for tool in self.model.infos[-1].function_tools}


@asynccontextmanager
async def open_whole(
    database: str, home: Path, *, acting: bool = True, clock: FakeClock | None = None, **settings: str
) -> AsyncGenerator[Whole]:
    """Bring up everything, as `homing up` does; unless `acting`, approved actions wait for the test's own step."""
    given = {"HOME": str(home), "DATABASE_URL": database, "MODEL": "scripted", "TIMEZONE": "UTC"} | settings
    model = scripted_model()
    told = load({f"HOMING_{name}": value for name, value in given.items()})
    homing = wire(told, clock=clock, models=Models(extra={"scripted": model}))
    prepare(homing)
    for user, role, token in ((OWNER, "admin", OWNER_TOKEN), (STRANGER, "user", STRANGER_TOKEN)):
        _admit(homing, user, role, token)
    engine = make_engine(homing)
    at_work = (
        engine if acting else replace(engine, actions=_Still(homing.store, homing.instance, "still", find=_nothing))
    )
    transport = httpx2.ASGITransport(app=make_doors(homing))
    async with httpx2.AsyncClient(transport=transport, base_url=BASE) as http, running(homing, at_work):
        whole = Whole(homing=homing, engine=engine, model=model, http=http)
        # The databases of tests have an agent without tools.
        whole.change_agent(tools=None)
        yield whole
    await homing.store.close()


class _Still(Actions):
    async def run(self) -> None:
        await asyncio.Event().wait()


def _nothing(asked: Asked) -> None:
    return None


def _admit(homing: Homing, user_id: str, role: Any, token: str) -> None:
    homing.store.write_now(lambda tx: people.add_user(tx, user_id, role=role))
    if homing.store.write_now(lambda tx: people.find_token(tx, token)) is None:
        homing.store.write_now(
            lambda tx: people.add_token(
                tx,
                user_id=user_id,
                role=role,
                kind="token",
                secret=token,
                expires_at=None,
                # As the owner's token of a home.
                approve=user_id == OWNER,
            )
        )
