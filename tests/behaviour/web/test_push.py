"""Browsers over HTTP: added by their keys, one person's at a time, at most twenty, and never shown again."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from support.push import KEY, Browser
from support.site import Site, open_site, problem
from support.worlds import World


@pytest.fixture
async def site(world: World) -> AsyncIterator[Site]:
    site = open_site(replace(world, instance=replace(world.instance, push_key=lambda: KEY.public)))
    async with site.app.router.lifespan_context(site.app):
        yield site
    for client in site.clients:
        await client.aclose()


async def test_a_browser_is_added_listed_and_removed_and_its_secrets_are_never_shown(site: Site) -> None:
    owner, browser = site.owner, Browser()
    listed = (await owner.get("/api/push")).json()
    assert (listed["items"], listed["public_key"]) == ([], KEY.public)
    with capture_logs() as logs:
        added = await owner.post("/api/push", json=browser.subscription | {"public_key": KEY.public})
        listed = await owner.get("/api/push")
    assert added.status_code == 201
    device = added.json()
    assert set(device) == {"id", "name", "created_at", "last_at"}
    assert device["id"].startswith("push_")
    assert (device["name"], device["last_at"]) == ("phone", None)
    assert listed.json()["items"] == [device]
    for secret in (browser.endpoint, browser.auth, browser.p256dh):
        assert secret not in added.text + listed.text + repr(logs)
    assert (await owner.delete(f"/api/push/{device['id']}")).status_code == 200
    assert (await owner.get("/api/push")).json()["items"] == []
    assert (await owner.delete(f"/api/push/{device['id']}")).status_code == 404


async def test_the_same_endpoint_again_is_the_same_browser_with_new_keys(site: Site) -> None:
    owner, first = site.owner, Browser()
    device = (await owner.post("/api/push", json=first.subscription)).json()
    renewed = Browser().subscription | {"name": "my phone"}
    assert renewed["keys"] != first.subscription["keys"]
    again = await owner.post("/api/push", json=renewed)
    assert again.json() == device | {"name": "my phone"}
    assert len((await owner.get("/api/push")).json()["items"]) == 1


async def test_a_browser_moves_to_another_user_only_by_its_own_keys(site: Site) -> None:
    owner, stranger, browser = site.owner, site.stranger, Browser()
    mine = (await owner.post("/api/push", json=browser.subscription)).json()
    # The endpoint alone, which a push service could give away, proves nothing.
    refused = await stranger.post("/api/push", json=Browser().subscription)
    assert refused.status_code == 409
    assert browser.endpoint not in refused.text
    assert (await owner.get("/api/push")).json()["items"] == [mine]
    moved = await stranger.post("/api/push", json=browser.subscription)
    assert moved.status_code == 201
    assert moved.json()["id"] != mine["id"]
    assert (await owner.get("/api/push")).json()["items"] == []


async def test_others_browsers_are_neither_seen_nor_removed_nor_tested(site: Site) -> None:
    owner, stranger = site.owner, site.stranger
    device = (await owner.post("/api/push", json=Browser().subscription)).json()
    assert (await stranger.get("/api/push")).json()["items"] == []
    assert (await stranger.delete(f"/api/push/{device['id']}")).status_code == 404
    await stranger.post("/api/sessions", json={"key": "web:theirs"})
    refused = await stranger.post("/api/sessions/web:theirs/test", json={"address": f"push:{device['id']}"})
    assert refused.status_code == 422
    assert len((await owner.get("/api/push")).json()["items"]) == 1


async def test_a_test_goes_to_one_browser_and_no_session_can_have_it_as_an_address(site: Site) -> None:
    owner = site.owner
    device = (await owner.post("/api/push", json=Browser().subscription)).json()
    await owner.post("/api/push", json=Browser("laptop").subscription)
    await owner.post("/api/sessions", json={"key": "web:abc"})
    address = f"push:{device['id']}"
    tested = await owner.post("/api/sessions/web:abc/test", json={"address": address})
    assert (tested.status_code, tested.json()["address"], tested.json()["state"]) == (202, address, "pending")
    carried = (await owner.get("/api/deliveries")).json()["items"]
    assert [one["address"] for one in carried] == [address]
    refused = await owner.patch("/api/sessions/web:abc", json={"addresses": ["web:abc", address]})
    assert refused.status_code == 422


async def test_nobody_has_more_than_twenty_browsers_however_fast_they_come(site: Site) -> None:
    owner = site.owner
    browsers = [Browser(f"browser{n}") for n in range(24)]
    answers = await asyncio.gather(*(owner.post("/api/push", json=one.subscription) for one in browsers))
    assert sorted(answer.status_code for answer in answers) == [201] * 20 + [409] * 4
    assert len((await owner.get("/api/push")).json()["items"]) == 20
    taken = next(one for one, answer in zip(browsers, answers, strict=True) if answer.status_code == 201)
    assert (await owner.post("/api/push", json=taken.subscription)).status_code == 201, "one of them may come again"


async def test_one_browser_that_is_added_many_times_at_once_is_one(site: Site) -> None:
    owner, stranger, browser = site.owner, site.stranger, Browser()
    asked = [who.post("/api/push", json=browser.subscription) for who in (owner, stranger) * 6]
    assert {answer.status_code for answer in await asyncio.gather(*asked)} == {201}
    both = [(await who.get("/api/push")).json()["items"] for who in (owner, stranger)]
    assert sorted(map(len, both)) == [0, 1]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"endpoint": "http://push.example.net/x"}, "endpoint"),
        ({"endpoint": "https://localhost/x"}, "endpoint"),
        ({"endpoint": "https://192.168.1.1/x"}, "endpoint"),
        ({"endpoint": "https://push.example.net/" + "x" * 2048}, "endpoint"),
        ({"keys": {"p256dh": "AAAA", "auth": Browser().auth}}, "p256dh"),
        ({"keys": {"p256dh": Browser().p256dh, "auth": "AAAA"}}, "auth"),
        ({"keys": {"p256dh": Browser().p256dh}}, "keys.auth"),
        ({"name": ""}, "name"),
    ],
)
async def test_a_wrong_subscription_is_refused_by_field(site: Site, change: dict[str, Any], field: str) -> None:
    refused = await site.owner.post("/api/push", json=Browser().subscription | change)
    assert refused.status_code == 422
    assert [error["field"] for error in problem(refused)["errors"]] == [field]
    assert "push.example.net/x" not in refused.text


async def test_a_browser_of_another_key_is_told_to_subscribe_again(site: Site) -> None:
    refused = await site.owner.post("/api/push", json=Browser().subscription | {"public_key": Browser().p256dh})
    assert refused.status_code == 409
    assert "off and on again" in problem(refused)["detail"]


async def test_quiet_hours_are_two_times_of_day_and_null_takes_them_back(site: Site) -> None:
    owner = site.owner
    assert (await owner.get("/api/me")).json()["quiet_hours"] is None
    for given, kept in (("22:00-07:00", "22:00-07:00"), (" 22:00 - 07:30 ", "22:00-07:30")):
        assert (await owner.patch("/api/me", json={"quiet_hours": given})).json()["quiet_hours"] == kept
    for wrong in ("22-7", "22:00", "25:00-07:00", "07:00-07:00", "22:00+01:00-07:00", "", "at night"):
        refused = await owner.patch("/api/me", json={"quiet_hours": wrong})
        assert refused.status_code == 422, wrong
        assert "22:00-07:00" in problem(refused)["detail"]
    assert (await owner.patch("/api/me", json={"timezone": "Europe/Berlin"})).json()["quiet_hours"] == "22:00-07:30"
    assert (await owner.patch("/api/me", json={"quiet_hours": None})).json()["quiet_hours"] is None
