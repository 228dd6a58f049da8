"""Revoking a token ends the browsers that were added with it, as it ends everything else that was made with it."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from homing.store import Tx
from homing.store import tables as t
from support.push import KEY, Browser
from support.site import OWNER_TOKEN, Site, open_site, sign_in
from support.worlds import World


@pytest.fixture
async def site(world: World) -> AsyncIterator[Site]:
    site = open_site(replace(world, instance=replace(world.instance, push_key=lambda: KEY.public)))
    async with site.app.router.lifespan_context(site.app):
        yield site
    for client in site.clients:
        await client.aclose()


def subscription(number: int) -> dict[str, Any]:
    given = Browser().subscription
    return given | {"endpoint": f"{given['endpoint']}{number}", "name": f"browser {number}"}


async def add(client: httpx2.AsyncClient, number: int) -> None:
    added = await client.post("/api/push", json=subscription(number))
    assert added.status_code == 201, added.text


async def names(site: Site) -> list[str]:
    return [one["name"] for one in (await site.owner.get("/api/push")).json()["items"]]


async def make(client: httpx2.AsyncClient) -> dict[str, Any]:
    made = await client.post("/api/tokens", json={"role": "admin"})
    assert made.status_code == 201, made.text
    return made.json()


async def test_revoking_a_token_ends_the_browsers_that_it_its_children_and_its_pages_added(site: Site) -> None:
    parent = await make(site.owner)
    child = await make(site.client(parent["token"]))
    page = site.nobody
    await sign_in(page, {"token": parent["token"]})
    await add(site.owner, 1)
    await add(site.client(parent["token"]), 2)
    await add(site.client(child["token"]), 3)
    await add(page, 4)
    assert await names(site) == ["browser 1", "browser 2", "browser 3", "browser 4"]
    assert (await site.owner.delete(f"/api/tokens/{parent['id']}")).status_code == 200
    assert await names(site) == ["browser 1"]


async def test_signing_out_ends_no_browser_and_adding_one_again_moves_it_to_the_new_token(site: Site) -> None:
    first, second = await make(site.owner), await make(site.owner)
    page = site.nobody
    await sign_in(page, {"token": first["token"]})
    await add(page, 1)
    assert (await page.post("/api/auth/sign-out")).status_code == 200
    assert await names(site) == ["browser 1"]
    await add(site.client(second["token"]), 1)
    assert (await site.owner.delete(f"/api/tokens/{first['id']}")).status_code == 200
    assert await names(site) == ["browser 1"]
    assert (await site.owner.delete(f"/api/tokens/{second['id']}")).status_code == 200
    assert await names(site) == []


async def test_a_browser_from_before_the_upgrade_goes_on(site: Site) -> None:
    token = await make(site.owner)
    await add(site.client(token["token"]), 1)

    def forget(tx: Tx) -> None:
        tx.run(sa.update(t.push).values(token_id=None))

    site.world.write(forget)
    assert (await site.owner.delete(f"/api/tokens/{token['id']}")).status_code == 200
    assert await names(site) == ["browser 1"]


async def test_a_browser_that_is_added_while_its_token_is_revoked_never_outlives_it(site: Site) -> None:
    for round_ in range(6):
        token = await make(site.owner)
        client, owner = site.client(token["token"]), site.client(OWNER_TOKEN)
        added, revoked = await asyncio.gather(
            client.post("/api/push", json=subscription(round_)), owner.delete(f"/api/tokens/{token['id']}")
        )
        assert added.status_code in (201, 401)
        assert revoked.status_code == 200
        assert await names(site) == []
