"""`request_access`: an agent asks for a host or an address; a yes adds a grant, which can be taken back."""

from collections.abc import AsyncIterator

import pytest
import sqlalchemy as sa

from behaviour.approvals.answers import answer, ended, pending, shown, told
from homing.store import tables as t
from support.pages import PageServer, page, serving_pages
from support.site import STRANGER_TOKEN
from support.whole import Whole

KEY = "web:fruit"


@pytest.fixture
async def site() -> AsyncIterator[PageServer]:
    async with serving_pages() as site:
        site.pages["/"] = page("<p>Owls are back.")
        yield site


async def test_an_approved_host_is_granted_the_agent_is_told_and_revoking_closes_it(
    whole: Whole, site: PageServer
) -> None:
    said = await whole.call("request_access", {"host": site.place, "reason": "to read about owls"}, key=KEY)
    assert said.startswith("Asked (appr_")
    assert "An administrator decides" in said
    [approval] = await pending(whole)
    assert approval["args"] == {"host": site.place}
    assert approval["reason"] == "to read about owls"
    assert (approval["audience"], approval["title"]) == ("admin", f"Main asks to reach {site.place}")
    assert "leads to" in await whole.call("fetch_url", {"url": site.url()})

    whole.model.reply("Thank you.")
    await answer(whole, approval)
    await told(whole, "Thank you.", key=KEY)
    done = await ended(whole, approval)
    assert (done["state"], done["result"].partition(" (")[0]) == (
        "done",
        f"Your programs may reach {site.place} from now on",
    )
    assert f"may reach {site.place} from now on" in shown(whole)
    [grant] = (await whole.ask("GET", "/grants"))["items"]
    assert (grant["host"], grant["agent_id"], grant["user_id"]) == (site.place, "main", "default")
    assert "Owls are back." in await whole.call("fetch_url", {"url": site.url()})

    again = await whole.call("request_access", {"host": site.place, "reason": "again"}, key=KEY)
    assert "is allowed already" in again
    await whole.ask("DELETE", f"/grants/{grant['id']}")
    assert "leads to" in await whole.call("fetch_url", {"url": site.url()})


REFUSED = [
    ({"reason": "x"}, "Give either a host or an address"),
    ({"host": "a.example", "address": "email:a@b.example", "reason": "x"}, "Give either a host or an address"),
    ({"host": "a.example"}, "needs reason"),
    ({"host": "https://a.example/", "reason": "x"}, "is not a host"),
    ({"host": "*.com", "reason": "x"}, "a whole top-level domain"),
    ({"host": "127.1:4664", "reason": "x"}, "an address as four numbers"),
    ({"host": "0x7f000001:4664", "reason": "x"}, "an address as four numbers"),
    ({"host": "2130706433:4664", "reason": "x"}, "an address as four numbers"),
    ({"host": "0177.0.0.1:4664", "reason": "x"}, "an address as four numbers"),
    ({"host": "a.example", "agent": "other", "reason": "x"}, "has no agent"),
    ({"address": "slack:C1", "reason": "x"}, "Nothing can be sent to slack:C1"),
    ({"address": "webhook:wh_none", "reason": "x"}, "There is no webhook wh_none"),
    ({"address": "email:nobody", "reason": "x"}, "is not a mail address"),
    ({"address": "email:\u0430nna@example.org", "reason": "x"}, "letters beyond a to z"),
    ({"address": "email:anna@example.org", "reason": "x"}, "Mail is not set up"),
    ({"address": "host:example.org", "reason": "x"}, "Nothing can be sent to host:example.org"),
]


async def test_what_cannot_be_is_said_at_once_and_nobody_is_asked(whole: Whole) -> None:
    for given, said in REFUSED:
        assert said in await whole.call("request_access", given, key=KEY), given
    assert await pending(whole) == []


async def test_an_address_of_the_users_own_is_theirs_to_allow_and_a_host_is_not(whole: Whole) -> None:
    webhook = await whole.ask("POST", "/webhooks", {"url": "https://example.com/in"}, token=STRANGER_TOKEN, code=201)
    wanted = {"address": webhook["address"], "reason": "to tell you there"}
    # Another user's webhook does not exist for this one.
    assert "There is no webhook" in await whole.call("request_access", wanted, key=KEY)
    assert "The user decides" in await whole.call("request_access", wanted, key=KEY, token=STRANGER_TOKEN)
    assert "An administrator decides" in await whole.call(
        "request_access", {"host": "example.org", "reason": "news"}, key="web:other", token=STRANGER_TOKEN
    )
    theirs = (await whole.ask("GET", "/approvals?state=pending", token=STRANGER_TOKEN))["items"]
    host, address = theirs
    assert (host["audience"], address["audience"]) == ("admin", "owner")
    assert address["args"] == {"address": webhook["address"], "for_user": "stranger"}
    # An administrator sees the host's; the address is not theirs, and a plain token answers nothing.
    assert [one["id"] for one in await pending(whole)] == [host["id"]]
    await answer(whole, address, code=404)
    await answer(whole, address, token=STRANGER_TOKEN, code=403)
    await answer(whole, host, token=STRANGER_TOKEN, code=403)
    token = {"user": "stranger", "approve": True, "name": "page"}
    approving = (await whole.ask("POST", "/tokens", token, code=201))["token"]
    await answer(whole, host, token=approving, code=403)
    await answer(whole, address, token=approving)
    await answer(whole, host)
    for approval in (address, host):
        assert (await ended(whole, approval, token=STRANGER_TOKEN))["state"] == "done"
    grants = (await whole.ask("GET", "/grants", token=STRANGER_TOKEN))["items"]
    assert [one["address"] for one in grants] == [webhook["address"]]


async def test_a_denied_expired_or_orphaned_request_grants_nothing(whole: Whole) -> None:
    wanted = {"host": "example.org", "reason": "news"}
    await whole.call("request_access", wanted, key=KEY)
    [approval] = await pending(whole)
    whole.model.reply("Pity.")
    await answer(whole, approval, "deny")
    await told(whole, "Pity.", key=KEY)
    assert "was denied within the last day" in await whole.call("request_access", wanted, key=KEY)
    assert (await whole.ask("GET", "/grants"))["items"] == []

    await whole.call("request_access", wanted, key="web:other")
    [approval] = await pending(whole)
    agent = await whole.ask("GET", "/agents/main")
    tools = {"fetch_url": "allow", "request_access": "deny"}
    await whole.ask("PATCH", "/agents/main", {"tools": tools, "revision": agent["revision"]})
    whole.model.reply("Pity again.")
    await answer(whole, approval)
    done = await ended(whole, approval)
    assert (done["state"], done["ended"]) == ("expired", "agent_changed")
    assert (await whole.ask("GET", "/grants"))["items"] == []
    await whole.say("hello", key="web:third")
    assert "request_access" not in whole.offered()


async def test_allowing_it_means_asking_each_time(whole: Whole) -> None:
    agent = await whole.ask("GET", "/agents/main")
    assert next(one for one in agent["tools_in_effect"] if one["name"] == "request_access")["policy"] == "ask"
    changed = await whole.ask(
        "PATCH", "/agents/main", {"tools": {"request_access": "allow"}, "revision": agent["revision"]}
    )
    assert changed["tools"] == {"request_access": "ask"}
    assert (await whole.call("request_access", {"host": "example.org", "reason": "x"})).startswith("Asked")


async def test_a_grant_that_was_given_meanwhile_is_not_recorded_again(whole: Whole) -> None:
    webhook = await whole.ask("POST", "/webhooks", {"url": "https://example.com/in"}, code=201)
    for wanted in ({"host": "example.org"}, {"address": webhook["address"]}):
        await whole.call("request_access", wanted | {"reason": "news"}, key=KEY)
        [approval] = await pending(whole)
        grant = await whole.ask("POST", "/grants", wanted | {"agent_id": "main"}, code=201)
        whole.model.reply("Thank you.")
        await answer(whole, approval)
        done = await ended(whole, approval)
        assert (done["state"], f"({grant['id']})" in done["result"]) == ("done", True)
        mine = sa.select(t.audit.c.detail).where(t.audit.c.object_id == grant["id"])
        recorded = whole.homing.store.write_now(lambda tx, mine=mine: tx.rows(mine))
        assert not [detail for (detail,) in recorded if "approval_id" in detail]
        await told(whole, "Thank you.", key=KEY)
