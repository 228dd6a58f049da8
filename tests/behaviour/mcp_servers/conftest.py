"""A front door and a worker whose process can run programs and reach servers; its home is the test's."""

from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from behaviour.mcp_servers.sites import let_reach
from homing.agent.models import Models
from homing.model.clock import SystemClock
from homing.testing import ScriptedModel, scripted_model
from homing.wiring import Homing, ServerHands, make_engine, running
from support.http_mcp_server import HttpMcpServer, http_mcp_server
from support.sandboxes import need_bubblewrap
from support.site import Site, open_site
from support.worlds import World


@pytest.fixture
def clock() -> SystemClock:
    """Programs take the time that they take."""
    return SystemClock()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    # As root a program inside has another uid, and must be able to pass.
    tmp_path.chmod(0o755)
    (tmp_path / "home/secrets").mkdir(parents=True)
    return tmp_path / "home"


@pytest.fixture
async def site(world: World, home: Path) -> AsyncIterator[Site]:
    need_bubblewrap()
    settings = replace(world.settings, home=home, share=home / "share")
    hands = ServerHands(settings, world.store)
    instance = replace(world.instance, settings=settings, hands=hands, model="scripted", model_offline=False)
    site = open_site(replace(world, instance=instance))
    async with site.app.router.lifespan_context(site.app):
        yield site
    for client in site.clients:
        await client.aclose()
    await hands.close()


@pytest.fixture
def http_server(site: Site) -> Iterator[HttpMcpServer]:
    """A server on loopback that the agent `main` may reach."""
    with http_mcp_server() as server:
        let_reach(site.world, f"127.0.0.1:{server.port}")
        yield server


@dataclass(frozen=True, kw_only=True)
class Worker:
    """A worker that thinks with a scripted model."""

    site: Site
    model: ScriptedModel

    async def say(self, text: str, *answers: Any, key: str = "web:talk") -> dict[str, Any]:
        """Say something, let the model answer so, and give the closing."""
        for answer in answers:
            self.model.reply(answer)
        said = await self.site.owner.post(f"/api/sessions/{key}/messages?wait=100", json={"text": text})
        assert said.status_code == 200, said.text
        return said.json()

    @property
    def offered(self) -> list[str]:
        """Name the tools that the last call of the model could use."""
        return [tool.name for tool in self.model.infos[-1].function_tools]

    @property
    def results(self) -> list[str]:
        """Give what the tools of the last call had answered, oldest first."""
        parts = [part for message in self.model.seen[-1] for part in message.parts]
        return [str(part.content) for part in parts if part.part_kind == "tool-return"]


@pytest.fixture
async def worker(site: Site) -> AsyncIterator[Worker]:
    model = scripted_model()
    world = site.world
    homing = Homing(
        settings=world.settings,
        clock=SystemClock(),
        store=world.store,
        instance=world.instance,
        models=Models(extra={"scripted": model}),
    )
    with suppress(ValueError):
        async with running(homing, make_engine(homing, channels={})):
            yield Worker(site=site, model=model)
