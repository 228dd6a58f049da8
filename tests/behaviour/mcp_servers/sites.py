"""Short ways to ask for servers, and to let an agent have what they need."""

from dataclasses import replace
from typing import Any

from homing.store import Tx, agents
from support.site import Site
from support.worlds import World

SERVERS = "/api/agents/main/mcp-servers"


def let_reach(world: World, *hosts: str, secrets: tuple[str, ...] = ("GITHUB_TOKEN",)) -> None:
    """Give the agent `main` hosts and secrets."""

    def work(tx: Tx) -> None:
        agent = agents.lock(tx, "main")
        assert agent
        agents.change(tx, replace(agent, hosts=hosts, secrets=secrets))

    world.write(work)


async def add(site: Site, **given: Any) -> dict[str, Any]:
    """Add a server, which must be taken."""
    answer = await site.owner.post(SERVERS, json=given)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def listed(site: Site) -> list[dict[str, Any]]:
    return (await site.owner.get(SERVERS)).json()["items"]
