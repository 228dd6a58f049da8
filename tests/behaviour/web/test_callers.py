"""Who gets in, by which proof, under which name, and how often."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from homing.model.errors import Invalid
from homing.model.people import OWNER
from homing.operations.people import create_code, page_secret
from homing.settings import load
from homing.store import Tx, people
from homing.web.callers import KEY
from homing.web.hosts import check_exposure
from homing.web.limits import Limits
from support.asking import session
from support.site import COOKIE, OWNER_TOKEN, Site, give_token, open_site, problem, sign_in
from support.worlds import World, make_instance

HERE = {"Origin": "http://127.0.0.1:4664"}


async def test_a_revoked_token_opens_nothing_any_more(site: Site) -> None:
    made = (await site.owner.post("/api/tokens", json={})).json()
    other = site.client(made["token"])
    assert (await other.get("/api/me")).json()["user_id"] == OWNER
    assert (await site.owner.delete(f"/api/tokens/{made['id']}")).status_code == 200
    refused = await other.get("/api/me")
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"] == "Bearer"
    assert "homing open" in problem(refused)["detail"]


async def test_revoking_a_token_ends_the_browsers_that_came_in_by_it_and_no_others(site: Site) -> None:
    made = (await site.owner.post("/api/tokens", json={})).json()
    code = site.world.write(lambda tx: create_code(site.world.ctx(tx), made_from=made["id"]))
    unused = site.world.write(lambda tx: create_code(site.world.ctx(tx), made_from=made["id"]))
    browsers = [await signed_in(site, proof) for proof in ({"token": made["token"]}, {"code": code})]
    other = await signed_in(site, {"token": OWNER_TOKEN})
    assert [(await browser.get("/api/me")).status_code for browser in browsers] == [200, 200]
    assert (await site.owner.delete(f"/api/tokens/{made['id']}")).status_code == 200
    assert [(await browser.get("/api/me")).status_code for browser in browsers] == [401, 401]
    assert (await site.nobody.post("/api/auth/sign-in", json={"code": unused})).status_code == 401
    assert (await other.get("/api/me")).status_code == 200


async def signed_in(site: Site, proof: dict[str, str]) -> httpx2.AsyncClient:
    """Give a browser that has signed in."""
    browser = site.nobody
    await sign_in(browser, proof)
    return browser


async def test_a_token_ends_when_it_was_to_end(site: Site) -> None:
    def ended(tx: Tx) -> None:
        past = tx.now() - timedelta(seconds=1)
        people.add_token(tx, user_id=OWNER, role="user", kind="token", secret="hom_old", expires_at=past)

    site.world.write(ended)
    assert (await site.client("hom_old").get("/api/me")).status_code == 401
    assert (await site.nobody.post("/api/auth/sign-in", json={"token": "hom_old"})).status_code == 401


async def test_neither_a_code_nor_a_cookie_is_a_token(site: Site) -> None:
    give_token(site.world, OWNER, "admin", "a-code", kind="code")
    give_token(site.world, OWNER, "admin", "a-cookie.key", kind="cookie")
    keyed = {KEY: "key"}
    assert (await site.client("a-code").get("/api/me")).status_code == 401
    assert (await site.client("a-cookie.key").get("/api/me")).status_code == 401
    assert (await site.client(Cookie=f"{COOKIE}={OWNER_TOKEN}", **keyed).get("/api/me")).status_code == 401
    assert (await site.client(Cookie=f"{COOKIE}=a-code", **keyed).get("/api/me")).status_code == 401
    assert (await site.client(Cookie=f"{COOKIE}=a-cookie", **keyed).get("/api/me")).status_code == 200


async def test_a_cookie_without_the_pages_key_opens_nothing(site: Site) -> None:
    """Browsers send it to every port of the host, so any server on another port has it."""
    give_token(site.world, OWNER, "admin", "cookie-of-0.1.0", kind="cookie")
    browser = site.nobody
    await sign_in(browser, {"token": OWNER_TOKEN})
    caught, key = browser.cookies[COOKIE], browser.headers[KEY]
    for cookie in (caught, f"{caught}.", f"{caught}.{caught}", "cookie-of-0.1.0"):
        for headers in ({}, {KEY: ""}, {KEY: "guessed"}, {KEY: caught}):
            thief = site.client(Cookie=f"{COOKIE}={cookie}", **headers)
            for path in ("/api/me", "/api/events"):
                assert (await thief.get(path)).status_code == 401, (path, headers)
    assert (await site.client(**{KEY: key}).get("/api/me")).status_code == 401
    assert (
        await site.nobody.get("/api/me", params={KEY: key}, headers={"Cookie": f"{COOKIE}={caught}"})
    ).status_code == 401
    assert (await browser.get("/api/me")).json()["role"] == "admin"


async def test_a_header_that_proves_nothing_is_told_how_to(site: Site) -> None:
    for header in (b"", b"Bearer", b"Bearer ", b"Basic aG9taW5n", b"hom_owner", b"Bearer \xff\xfe"):
        response = await site.nobody.get("/api/me", headers=[(b"Authorization", header)])
        assert response.status_code == 401, header
        problem(response)


async def test_a_code_signs_in_once_with_a_cookie_no_script_can_read(site: Site) -> None:
    give_token(site.world, OWNER, "admin", "a-code", kind="code")
    browser = site.nobody
    signed = await sign_in(browser, {"code": "a-code"}, **HERE)
    assert signed.json()["user_id"] == OWNER
    assert "cookie" not in signed.json()
    cookie = signed.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=")
    for part in ("HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=2592000"):
        assert part in cookie
    assert "Secure" not in cookie, "plain http on one's own machine has no other"
    assert (await browser.get("/api/me")).json()["role"] == "admin"
    again = await site.nobody.post("/api/auth/sign-in", json={"code": "a-code"})
    assert again.status_code == 401
    secret = page_secret(cookie.partition("=")[2].partition(";")[0], signed.json()["key"])
    kept = site.world.write(lambda tx: people.find_token(tx, secret))
    assert kept is not None
    assert kept.kind == "cookie"


async def test_a_token_signs_in_too_and_what_the_page_adds_says_so(site: Site) -> None:
    browser = site.nobody
    await sign_in(browser, {"token": OWNER_TOKEN})
    session(site.world)
    job = await browser.post("/api/jobs", json={"session_key": "web:abc", "when": "in 2 hours", "message": "look"})
    assert job.json()["origin"]["door"] == "page"
    by_cli = await site.client(OWNER_TOKEN, **{"User-Agent": "homing-cli"}).post(
        "/api/jobs", json={"session_key": "web:abc", "when": "in 2 hours", "message": "look again"}
    )
    assert by_cli.json()["origin"]["door"] == "cli"


async def test_signing_out_ends_the_cookie_here_and_there(site: Site) -> None:
    browser = site.nobody
    await sign_in(browser, {"token": OWNER_TOKEN})
    stolen = site.client(Cookie=f"{COOKIE}={browser.cookies[COOKIE]}", **{KEY: browser.headers[KEY]})
    assert (await stolen.get("/api/me")).status_code == 200
    out = await browser.post("/api/auth/sign-out")
    assert out.status_code == 200
    assert "Max-Age=0" in out.headers["set-cookie"]
    assert (await stolen.get("/api/me")).status_code == 401
    assert (await site.nobody.post("/api/auth/sign-out")).status_code == 200


async def test_a_cookie_rolls_on_while_it_is_used(site: Site) -> None:
    def nearly_old(tx: Tx) -> None:
        ends = tx.now() + timedelta(days=20)
        give: dict[str, Any] = {"user_id": OWNER, "role": "user", "expires_at": ends}
        token = people.add_token(tx, kind="token", secret="brief", **give)
        people.add_token(tx, kind="cookie", secret="rolling.key", made_from=token.id, **give)

    site.world.write(nearly_old)
    # Its token ends in twenty days: it does not roll beyond.
    fixed = await site.client(Cookie=f"{COOKIE}=rolling", **{KEY: "key"}).get("/api/me")
    assert "set-cookie" not in fixed.headers
    browser = site.nobody
    await sign_in(browser, {"token": OWNER_TOKEN})
    assert "set-cookie" not in (await browser.get("/api/me")).headers
    if not site.world.postgres:
        site.world.clock.advance(timedelta(days=29))
        rolled = await browser.get("/api/me")
        assert "Max-Age=2592000" in rolled.headers["set-cookie"]
        site.world.clock.advance(timedelta(days=29))
        assert (await browser.get("/api/me")).status_code == 200
        site.world.clock.advance(timedelta(days=31))
        assert (await browser.get("/api/me")).status_code == 401


async def test_behind_https_the_cookie_never_goes_over_plain_http(world: World) -> None:
    settings = replace(world.settings, public_url="https://homing.example.org")
    site = open_site(replace(world, instance=make_instance(settings)))
    client = site.client(Host="homing.example.org")
    signed = await client.post("/api/auth/sign-in", json={"token": OWNER_TOKEN})
    assert "Secure" in signed.headers["set-cookie"]


async def test_signing_in_takes_one_proof(site: Site) -> None:
    for body in ({}, {"code": "a", "token": "b"}, {"password": "x"}):
        assert (await site.nobody.post("/api/auth/sign-in", json=body)).status_code == 422, body


async def test_numbers_and_this_machine_are_our_names(site: Site) -> None:
    for host in ("127.0.0.1:4664", "localhost:4664", "[::1]:4664", "192.168.1.7", "x.localhost:1"):
        assert (await site.client(Host=host).get("/healthz")).status_code == 200, host


async def test_any_other_name_is_refused_so_that_dns_cannot_be_rebound(site: Site) -> None:
    for host in ("evil.example", "evil.example:4664", "127.0.0.1.evil.example", "localhost.evil", "a b"):
        for path in ("/api/me", "/healthz", "/"):
            response = await site.client(OWNER_TOKEN, Host=host).get(path)
            assert response.status_code == 403, (host, path)
            assert "HOMING_PUBLIC_URL" in problem(response)["detail"]


async def test_the_public_name_is_ours(world: World) -> None:
    settings = replace(world.settings, public_url="https://homing.example.org:8443/x")
    site = open_site(replace(world, instance=make_instance(settings)))
    assert (await site.client(Host="homing.example.org:8443").get("/healthz")).status_code == 200
    assert (await site.client(Host="example.org").get("/healthz")).status_code == 403


async def test_another_sites_page_cannot_use_the_cookie(site: Site) -> None:
    browser = site.nobody
    await sign_in(browser, {"token": OWNER_TOKEN}, **HERE)
    for origin in ("https://evil.example", "http://127.0.0.1:9999", "null", "http://localhost:4664"):
        forged = await browser.post("/api/memories", json={"text": "x"}, headers={"Origin": origin})
        assert forged.status_code == 403, origin
        login = await site.nobody.post("/api/auth/sign-in", json={"token": OWNER_TOKEN}, headers={"Origin": origin})
        assert login.status_code == 403
        out = await browser.post("/api/auth/sign-out", headers={"Origin": origin})
        assert out.status_code == 403
    assert (await browser.post("/api/memories", json={"text": "x"}, headers=HERE)).status_code == 201
    program = site.client(OWNER_TOKEN, Origin="https://my.tool")
    assert (await program.post("/api/memories", json={"text": "y"})).status_code == 201, "a token is proof enough"


async def test_whoever_asks_too_often_is_told_when_to_come_back(world: World) -> None:
    site = open_site(world, Limits(requests_per_second=1, requests_at_once=3, sign_ins_per_minute=2))
    for _ in range(3):
        assert (await site.owner.get("/api/me")).status_code == 200
    refused = await site.owner.get("/api/me")
    assert refused.status_code == 429
    assert problem(refused)["code"] == "slow_down"
    assert refused.headers["retry-after"] == "1"
    assert (await site.stranger.get("/api/me")).status_code == 200, "one caller's haste is not another's"
    world.clock.advance(1.0)
    assert (await site.owner.get("/api/me")).status_code == 200


async def test_guessing_codes_is_slow(world: World) -> None:
    site = open_site(world, Limits(sign_ins_per_minute=2))

    async def guess(client: httpx2.AsyncClient) -> int:
        return (await client.post("/api/auth/sign-in", json={"code": "guess"})).status_code

    assert [await guess(site.nobody) for _ in range(3)] == [401, 401, 429]
    assert await guess(site.client(address="10.0.0.9")) == 401
    world.clock.advance(60.0)
    assert await guess(site.nobody) == 401


async def test_every_answer_carries_the_headers_that_protect_a_page(site: Site) -> None:
    for path in ("/api/me", "/api/nothing", "/", "/healthz"):
        headers = (await site.owner.get(path)).headers
        assert headers["content-security-policy"].startswith("default-src 'self'")
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert headers["x-request-id"].startswith("req_")
        assert "access-control-allow-origin" not in headers
    assert (await site.owner.get("/api/me")).headers["cache-control"] == "no-store"


async def test_no_secret_stands_in_the_log(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    session(site.world)
    hook = (await site.owner.post("/api/sessions/web:abc/hooks", json={})).json()["url"]
    token = hook.rpartition("/")[2]
    await site.nobody.post(f"/api/hooks/{token}", json={"text": "very private"})
    give_token(site.world, OWNER, "admin", "a-code", kind="code")
    await site.nobody.post("/api/auth/sign-in", json={"code": "a-code"})
    logged = capsys.readouterr().out
    assert " request " in logged
    assert "/api/hooks/…" in logged
    for secret in (token, OWNER_TOKEN, "a-code", "very private"):
        assert secret not in logged


def test_listening_to_others_takes_a_token(tmp_path: Path) -> None:
    home = {"HOMING_HOME": str(tmp_path), "TZ": "UTC"}
    check_exposure(load(home))
    check_exposure(load(home | {"HOMING_HOST": "localhost"}))
    with pytest.raises(Invalid, match="HOMING_TOKEN"):
        check_exposure(load(home | {"HOMING_HOST": "0.0.0.0"}))
    check_exposure(load(home | {"HOMING_HOST": "0.0.0.0", "HOMING_TOKEN": "long and random, and longer"}))
    (tmp_path / "token").write_text("hom_of_some_length_at_random\n")
    check_exposure(load(home | {"HOMING_HOST": "0.0.0.0"}))


async def test_guessing_tokens_is_slow_and_stops_nobody_who_is_known(world: World) -> None:
    site = open_site(world, Limits(wrong_proofs_per_minute=3))
    assert (await site.owner.get("/api/me")).status_code == 200
    guesses = [await site.client(f"hom_guess{number}").get("/api/me") for number in range(5)]
    assert [guess.status_code for guess in guesses] == [401, 401, 401, 429, 429]
    assert problem(guesses[-1])["code"] == "slow_down"
    assert int(guesses[-1].headers["retry-after"]) >= 1
    assert (await site.owner.get("/api/me")).status_code == 200, "a token that was right before is looked up"
    made = (await site.owner.post("/api/tokens", json={})).json()["token"]
    assert (await site.client(made).get("/api/me")).status_code == 200, "so is one that is shown for the first time"
    assert (await site.client("hom_guess9", address="10.0.0.9").get("/api/me")).status_code == 401
    world.clock.advance(60.0)
    assert (await site.client("hom_guess10").get("/api/me")).status_code == 401
    addresses = [f"2001:db8:1:2::{number}" for number in range(5)]
    neighbours = [await site.client("hom_x", address=address).get("/api/me") for address in addresses]
    assert [one.status_code for one in neighbours] == [401, 401, 401, 429, 429], "one house has many IPv6 addresses"


async def test_another_sites_page_cannot_use_up_the_owners_tries(world: World) -> None:
    site = open_site(world, Limits(sign_ins_per_minute=2))
    for _ in range(5):
        evil = await site.nobody.post("/api/auth/sign-in", content=b"x", headers={"Origin": "https://evil.example"})
        assert evil.status_code == 403
    signed = await site.nobody.post("/api/auth/sign-in", json={"token": OWNER_TOKEN}, headers=HERE)
    assert signed.status_code == 200


async def test_made_up_hooks_are_limited_and_push_out_nobodys_bucket(world: World) -> None:
    site = open_site(world, Limits(wrong_proofs_per_minute=3, requests_per_second=1, requests_at_once=2))
    session(world)
    hook = (await site.owner.post("/api/sessions/web:abc/hooks", json={})).json()["url"].rpartition("/")[2]
    assert (await site.nobody.post(f"/api/hooks/{hook}")).status_code == 202
    made_up = [(await site.nobody.post(f"/api/hooks/made-up-{number}")).status_code for number in range(5)]
    assert made_up == [404, 404, 404, 429, 429]
    calls = [(await site.nobody.post(f"/api/hooks/{hook}")).status_code for _ in range(2)]
    assert calls == [202, 429], "the hook goes on, within its own limit"


async def test_another_sites_page_can_neither_call_a_hook_nor_lock_anybody_out(world: World) -> None:
    site = open_site(world, Limits(wrong_proofs_per_minute=3))
    session(world)
    hook = (await site.owner.post("/api/sessions/web:abc/hooks", json={})).json()["url"].rpartition("/")[2]
    for token in (*(f"made-up-{number}" for number in range(5)), hook):
        evil = await site.nobody.post(f"/api/hooks/{token}", content=b"x", headers={"Origin": "https://evil.example"})
        assert evil.status_code == 403
    made_up = [(await site.nobody.post(f"/api/hooks/made-up-{number}")).status_code for number in range(4)]
    assert made_up == [404, 404, 404, 429]
    assert (await site.client("hom_guess").get("/api/me")).status_code == 401, "hooks and tokens are counted apart"
    assert (await site.nobody.post(f"/api/hooks/{hook}")).status_code == 202


async def test_an_origin_that_is_no_address_is_refused(site: Site) -> None:
    for origin in ("http://[", "http://[::1", "[", "\x1b]0;pwn"):
        for path in ("/api/auth/sign-in", "/api/auth/sign-out"):
            refused = await site.nobody.post(path, json={}, headers={"Origin": origin})
            assert refused.status_code == 403, (origin, path)
            assert problem(refused)["code"] == "forbidden"


def test_beyond_this_machine_a_token_must_be_long(tmp_path: Path) -> None:
    settings = load({"HOMING_HOME": str(tmp_path), "TZ": "UTC", "HOMING_HOST": "0.0.0.0", "HOMING_TOKEN": "a" * 23})
    with pytest.raises(Invalid, match="at least 24"):
        check_exposure(settings)
    check_exposure(replace(settings, token="a" * 24))
    check_exposure(replace(settings, host="127.0.0.1", token="a"))
    settings.token_file.write_text("short\n")
    with pytest.raises(Invalid, match=str(settings.token_file)):
        check_exposure(replace(settings, token=None))
