"""Tokens: children end with their parent, admins see everybody's, and what is done to others is written down."""

from datetime import datetime, timedelta
from functools import partial
from typing import Any

import httpx2
import sqlalchemy as sa

from homing.model.people import OWNER
from homing.store import Tx, people
from homing.store import tables as t
from support.site import OWNER_TOKEN, STRANGER_TOKEN, Site, problem, sign_in


async def make(client: httpx2.AsyncClient, **body: Any) -> dict[str, Any]:
    made = await client.post("/api/tokens", json=body)
    assert made.status_code == 201, made.text
    return made.json()


async def works(site: Site, token: str) -> bool:
    return (await site.client(token).get("/api/me")).status_code == 200


def audited(site: Site) -> list[tuple[str, str, str]]:
    rows = site.world.write(lambda tx: tx.rows(sa.select(t.audit).order_by(t.audit.c.at)))
    return [(row.user_id, row.action, row.object_id) for row in rows]


async def test_a_token_made_by_another_ends_with_it(site: Site) -> None:
    parent = await make(site.owner, role="admin", expires="in 2 hours")
    child = await make(site.client(parent["token"]))
    sooner = await make(site.client(parent["token"]), expires="in 1 hour")
    later = await make(site.client(parent["token"]), expires="in 3 days")
    assert child["expires_at"] == later["expires_at"] == parent["expires_at"]
    assert sooner["expires_at"] < parent["expires_at"]


async def test_revoking_a_token_ends_everything_that_was_made_with_it(site: Site) -> None:
    parent = await make(site.owner, role="admin")
    child = await make(site.client(parent["token"]), role="admin")
    grandchild = await make(site.client(child["token"]), user="ada")
    other = await make(site.owner)
    assert (await site.owner.delete(f"/api/tokens/{parent['id']}")).status_code == 200
    assert [await works(site, one["token"]) for one in (parent, child, grandchild, other)] == [False] * 3 + [True]
    shown = (await site.owner.get("/api/tokens")).json()["items"]
    assert not {parent["id"], child["id"]} & {one["id"] for one in shown}
    assert (await site.owner.delete(f"/api/tokens/{parent['id']}")).status_code == 404


async def test_a_token_of_the_page_ends_with_the_token_that_signed_in_and_not_with_the_cookie(site: Site) -> None:
    root = await make(site.owner, role="admin")
    browser = site.nobody
    await sign_in(browser, {"token": root["token"]})
    made = await make(browser, name="phone")
    assert (await browser.post("/api/auth/sign-out")).status_code == 200
    assert await works(site, made["token"])
    await site.owner.delete(f"/api/tokens/{root['id']}")
    assert not await works(site, made["token"])


async def test_only_an_admins_proof_revokes_an_admins_token(site: Site) -> None:
    lesser = await make(site.owner)
    [owners] = [one for one in (await site.owner.get("/api/tokens")).json()["items"] if one["role"] == "admin"]
    refused = await site.client(lesser["token"]).delete(f"/api/tokens/{owners['id']}")
    assert (refused.status_code, problem(refused)["code"]) == (403, "forbidden")
    assert await works(site, OWNER_TOKEN)
    assert (await site.stranger.delete(f"/api/tokens/{owners['id']}")).status_code == 404


async def test_an_admin_finds_names_and_ends_everybodys_tokens_and_it_is_written_down(site: Site) -> None:
    theirs = await make(site.stranger, name="phone")
    given = await make(site.owner, user="stranger", name="laptop")
    users = (await site.owner.get("/api/users")).json()["items"]
    assert {one["user_id"]: one["tokens"] for one in users} == {OWNER: 1, "stranger": 3}
    shown = (await site.owner.get("/api/tokens", params={"user": "stranger"})).json()["items"]
    assert {one["name"] for one in shown} == {None, "phone", "laptop"}
    assert (await site.owner.delete(f"/api/tokens/{theirs['id']}")).status_code == 200
    assert not await works(site, theirs["token"])
    assert audited(site) == [(OWNER, "create_token", given["id"]), (OWNER, "revoke_token", theirs["id"])]
    assert (await site.owner.get("/api/tokens", params={"user": "nobody"})).status_code == 404
    assert (await site.stranger.get("/api/users")).status_code == 403
    assert (await site.stranger.get("/api/tokens", params={"user": OWNER})).status_code == 403
    mine = (await site.stranger.get("/api/tokens", params={"user": "stranger"})).json()["items"]
    assert given["id"] in {one["id"] for one in mine}


async def test_only_who_may_approve_gives_it_to_another_token(site: Site) -> None:
    site.world.write(partial(_let_approve, may=False))
    refused = await site.owner.post("/api/tokens", json={"approve": True})
    assert refused.status_code == 403
    site.world.write(partial(_let_approve, may=True))
    made = await make(site.owner, approve=True, name="phone")
    assert (made["approve"], made["name"]) == (True, "phone")
    assert (await make(site.client(made["token"]), approve=True))["approve"]
    assert not (await make(site.owner))["approve"]


def _let_approve(tx: Tx, *, may: bool) -> None:
    tx.run(sa.update(t.token).where(t.token.c.hash == people.hash_secret(OWNER_TOKEN)).values(approve=may))


async def test_the_last_use_of_a_token_is_written_down_once_a_minute(site: Site) -> None:
    async def last_used() -> datetime | None:
        await site.app.state.homing.authenticator.close()
        found = site.world.write(lambda tx: people.find_token(tx, STRANGER_TOKEN))
        assert found is not None
        return found.last_used_at

    assert await last_used() is None
    await site.stranger.get("/api/me")
    first = await last_used()
    assert first is not None
    [shown] = (await site.stranger.get("/api/tokens")).json()["items"]
    assert abs(datetime.fromisoformat(shown["last_used_at"]) - first) < timedelta(seconds=1)
    if not site.world.postgres:
        site.world.clock.advance(timedelta(seconds=59))
        await site.stranger.get("/api/me")
        assert await last_used() == first
        site.world.clock.advance(timedelta(seconds=2))
        await site.stranger.get("/api/me")
        assert await last_used() == first + timedelta(seconds=61)
