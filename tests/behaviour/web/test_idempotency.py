"""A request with an Idempotency-Key is done once, whatever the network does."""

import asyncio
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from homing.store import maintenance
from homing.store import tables as t
from support.asking import add, session
from support.site import Site, field_codes, problem
from support.worlds import World

KEY = {"Idempotency-Key": "k-1"}
PLAIN = {"session_key": "web:abc", "when": "every 2h", "message": "look"}


async def test_a_repeat_gets_the_first_answer_and_changes_nothing(site: Site) -> None:
    session(site.world)
    first = await site.owner.post("/api/jobs", json=PLAIN, headers=KEY)
    again = await site.owner.post("/api/jobs", json=dict(reversed(PLAIN.items())), headers=KEY)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert len((await site.owner.get("/api/jobs")).json()["items"]) == 1


async def test_the_same_key_with_another_body_is_refused(site: Site) -> None:
    session(site.world)
    await site.owner.post("/api/jobs", json=PLAIN, headers=KEY)
    other = await site.owner.post("/api/jobs", json=PLAIN | {"message": "other"}, headers=KEY)
    assert other.status_code == 422
    assert problem(other)["code"] == "key_reused"
    assert len((await site.owner.get("/api/jobs")).json()["items"]) == 1


async def test_a_key_is_one_users_and_one_paths(site: Site) -> None:
    said = {"text": "hi"}
    first = await site.owner.post("/api/sessions/web:a/messages", json=said, headers=KEY)
    elsewhere = await site.owner.post("/api/sessions/web:b/messages", json=said, headers=KEY)
    another = await site.stranger.post("/api/sessions/web:c/messages", json=said, headers=KEY)
    ids = {response.json()["inbound_id"] for response in (first, elsewhere, another)}
    assert len(ids) == 3


async def test_what_was_refused_may_be_tried_again_under_its_key(site: Site) -> None:
    missing = await site.owner.post("/api/jobs", json=PLAIN, headers=KEY)
    assert missing.status_code == 404
    session(site.world)
    assert (await site.owner.post("/api/jobs", json=PLAIN, headers=KEY)).status_code == 201


async def test_after_a_day_a_key_is_fresh(site: Site) -> None:
    session(site.world)
    first = await site.owner.post("/api/jobs", json=PLAIN, headers=KEY)
    _age_keys(site.world, timedelta(hours=25))
    later = await site.owner.post("/api/jobs", json=PLAIN, headers=KEY)
    assert later.status_code == 201
    assert later.json()["id"] != first.json()["id"]


def _age_keys(world: World, by: timedelta) -> None:
    world.write(lambda tx: tx.run(sa.update(t.idempotency).values(created_at=tx.now() - by)))


async def test_ten_first_requests_at_once_do_it_once(site: Site) -> None:
    session(site.world)
    client = site.owner
    answers = await asyncio.gather(*(client.post("/api/jobs", json=PLAIN, headers=KEY) for _ in range(10)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert sum("idempotency-replayed" not in answer.headers for answer in answers) == 1
    assert len((await client.get("/api/jobs")).json()["items"]) == 1


async def test_every_post_can_be_repeated(site: Site) -> None:
    job = add(site.world)
    first = await site.owner.post(f"/api/jobs/{job.id}/run", headers=KEY)
    again = await site.owner.post(f"/api/jobs/{job.id}/run", headers=KEY)
    assert (first.status_code, again.status_code) == (202, 202)
    assert first.json()["id"] == again.json()["id"]
    seen = await site.owner.post("/api/schedules/preview", json={"when": "in 2 hours"}, headers=KEY)
    site.world.clock.advance(60)
    assert (
        await site.owner.post("/api/schedules/preview", json={"when": "in 2 hours"}, headers=KEY)
    ).json() == seen.json()


async def test_a_secret_is_never_kept_for_a_repeat(site: Site) -> None:
    session(site.world)
    for path, body, member in (
        ("/api/tokens", {}, "token"),
        ("/api/webhooks", {"url": "https://example.com/in"}, "secret"),
        ("/api/sessions/web:abc/hooks", {}, "url"),
    ):
        first = await site.owner.post(path, json=body, headers=KEY)
        assert first.status_code == 201
        made: dict[str, Any] = first.json()
        again = await site.owner.post(path, json=body, headers=KEY)
        assert again.status_code == 409
        assert problem(again)["id"] == made["id"]
        kept = site.world.write(
            lambda tx, path=path: maintenance.kept_answer(tx, user_id="default", path=path, key=KEY["Idempotency-Key"])
        )
        assert kept is not None
        assert made[member] not in kept.answer
        assert made["id"] in kept.answer


async def test_a_key_has_a_length(site: Site) -> None:
    for key in ("", "k" * 257):
        response = await site.owner.post("/api/memories", json={"text": "x"}, headers={"Idempotency-Key": key})
        assert field_codes(response) == {"Idempotency-Key": "out_of_range"}


async def test_a_hook_takes_the_same_call_once(site: Site) -> None:
    session(site.world)
    hook = (await site.owner.post("/api/sessions/web:abc/hooks", json={})).json()["url"]
    path = hook.partition("4664")[2]
    for name in ("Idempotency-Key", "webhook-id"):
        first = await site.nobody.post(path, json={"text": "built"}, headers={name: f"id of {name}"})
        again = await site.nobody.post(path, json={"text": "built"}, headers={name: f"id of {name}"})
        assert (first.status_code, again.status_code) == (202, 202)
        assert first.json() == again.json()
        assert ("Idempotency-Replayed" in first.headers, again.headers["Idempotency-Replayed"]) == (False, "true")
    other = {"text": "broken"}
    reused = await site.nobody.post(path, json=other, headers={"Idempotency-Key": "id of Idempotency-Key"})
    assert (reused.status_code, reused.json()["code"]) == (422, "key_reused")
    # A sender of webhooks says the same again with another time in it.
    assert (await site.nobody.post(path, json=other, headers={"webhook-id": "id of webhook-id"})).status_code == 202
    calls = [
        await site.nobody.post(path, content=b"plain words", headers={"Content-Type": "text/plain"}),
        await site.nobody.post(path, json={"any": ["json", 1]}),
        await site.nobody.post(path, content=b"\xff\xfe not utf-8"),
        await site.nobody.post(path),
    ]
    assert {call.status_code for call in calls} == {202}
    assert (await site.nobody.post(path, content=b"{", headers={"Content-Type": "application/json"})).status_code == 202
    waiting = (await site.owner.get("/api/sessions/web:abc")).json()
    assert waiting["lane_size"] == 7
    assert {one["source"] for one in waiting["lane"]} == {"hook"}
    assert "plain words" in {one["text"] for one in waiting["lane"]}
