"""Hosts granted to an agent: what it may reach beside its own list, and when a grant counts."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from homing.testing import tool_call
from homing.testing.scripted import wire_messages
from support.pages import PageServer, page, serving_pages
from support.sandboxes import need_bubblewrap
from support.site import STRANGER_TOKEN
from support.whole import Whole, open_whole


@pytest.fixture
async def whole(database: str, tmp_path: Path) -> AsyncIterator[Whole]:
    need_bubblewrap()
    async with open_whole(database, tmp_path / "home") as whole:
        yield whole


@pytest.fixture
async def site() -> AsyncIterator[PageServer]:
    async with serving_pages() as site:
        site.pages["/"] = page("<p>Owls are back.")
        yield site


async def grant(whole: Whole, host: str) -> str:
    return (await whole.ask("POST", "/grants", {"agent_id": "main", "host": host}, code=201))["id"]


async def test_a_granted_host_is_reached_by_fetch_and_programs_until_it_is_taken_back(
    whole: Whole, site: PageServer
) -> None:
    command = {"command": f"python3 -c \"import urllib.request as u; print(u.urlopen('{site.url()}').read())\""}
    assert "leads to" in await whole.call("fetch_url", {"url": site.url()})
    grant_id = await grant(whole, site.place)
    assert "Owls are back." in await whole.call("fetch_url", {"url": site.url()})
    assert "Owls are back." in await whole.call("run_command", command)
    agent = await whole.ask("GET", "/agents/main")
    assert (agent["hosts"], agent["granted_hosts"]) == ([], [site.place])

    await whole.ask("DELETE", f"/grants/{grant_id}")
    assert "leads to" in await whole.call("fetch_url", {"url": site.url()})
    assert "Owls" not in await whole.call("run_command", command)
    assert (await whole.ask("GET", "/agents/main"))["granted_hosts"] == []


async def test_in_a_turn_in_progress_a_new_grant_does_not_count_and_a_revoked_one_ends(
    whole: Whole, site: PageServer
) -> None:
    old = await grant(whole, site.place)
    other = f"localhost:{site.port}"
    for hold, url in (("first", site.url()), ("second", site.url()), ("third", f"http://{other}/")):
        whole.model.reply([tool_call("fetch_url", {"url": url})], hold=hold)
    whole.model.reply("Done.")
    whole.model.release("first")
    saying = asyncio.create_task(whole.say(f"look at http://{other}/", key="web:chat"))
    await whole.model.wait_for_calls(2)
    await whole.ask("DELETE", f"/grants/{old}")
    await grant(whole, other)
    whole.model.release("second")
    whole.model.release("third")
    await saying
    told = [message.text for message in wire_messages(whole.model.seen[-1]) if message.role == "tool"]
    assert "Owls are back." in told[0]
    assert "leads to" in told[1]
    assert "leads to" in told[2]
    assert "Owls are back." in await whole.call("fetch_url", {"url": f"http://{other}/"})


async def test_hosts_are_the_administrators(whole: Whole) -> None:
    wanted = {"agent_id": "main", "host": "Example.org"}
    await whole.ask("POST", "/grants", wanted, token=STRANGER_TOKEN, code=403)
    made = await whole.ask("POST", "/grants", wanted, code=201)
    assert (made["host"], made["address"]) == ("example.org", None)
    assert (await whole.ask("POST", "/grants", wanted, code=201))["id"] == made["id"]
    assert [one["host"] for one in (await whole.ask("GET", "/grants"))["items"]] == ["example.org"]
    assert (await whole.ask("GET", "/grants", token=STRANGER_TOKEN))["items"] == []
    await whole.ask("DELETE", f"/grants/{made['id']}", token=STRANGER_TOKEN, code=404)
    # A host cannot receive messages.
    await whole.say("hello", key="web:chat")
    to_host = {"addresses": ["web:chat", "host:example.org"]}
    await whole.ask("PATCH", "/sessions/web:chat", to_host, code=422)


async def test_a_grant_of_a_removed_agent_is_gone(whole: Whole) -> None:
    await whole.ask("POST", "/agents", {"id": "owl", "name": "Owl"}, code=201)
    await whole.ask("POST", "/grants", {"agent_id": "owl", "host": "example.org"}, code=201)
    await whole.ask("DELETE", "/agents/owl")
    again = await whole.ask("POST", "/agents", {"id": "owl", "name": "Owl"}, code=201)
    assert again["granted_hosts"] == []
