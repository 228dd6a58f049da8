"""Session keys are unique per user: another user's conversation of the same key is not reached and not noticed."""

from typing import Any

import httpx2

from support.doors import Doors, open_doors, text_of
from support.site import STRANGER_TOKEN, Site

KEY = "cli:main"


async def talk(client: httpx2.AsyncClient, text: str) -> dict[str, Any]:
    sent = await client.post(f"/api/sessions/{KEY}/messages", json={"text": text})
    assert sent.status_code == 202, sent.text
    return sent.json()


async def test_two_users_have_conversations_of_the_same_key(site: Site) -> None:
    owner, stranger = site.owner, site.stranger
    assert (await stranger.post("/api/sessions", json={"key": KEY, "title": "Theirs"})).status_code == 201
    assert (await owner.post("/api/sessions", json={"key": KEY, "title": "Mine"})).status_code == 201
    assert (await owner.post("/api/sessions", json={"key": KEY})).json()["code"] == "session_exists"
    for client, title in ((owner, "Mine"), (stranger, "Theirs")):
        assert (await client.get(f"/api/sessions/{KEY}")).json()["title"] == title
        job = {"session_key": KEY, "when": "every day at 9", "message": title}
        assert (await client.post("/api/jobs", json=job)).status_code == 201
        [mine] = (await client.get("/api/jobs", params={"session_key": KEY})).json()["items"]
        assert mine["payload"]["message"] == title
    both = (await owner.get("/api/admin/jobs", params={"session_key": KEY})).json()["items"]
    assert {job["user_id"] for job in both} == {"default", "stranger"}
    [theirs] = (await owner.get("/api/admin/jobs", params={"session_key": KEY, "user_id": "stranger"})).json()["items"]
    assert theirs["user_id"] == "stranger"


async def test_a_message_and_a_hook_go_to_the_callers_own_conversation(site: Site) -> None:
    owner, stranger = site.owner, site.stranger
    await talk(stranger, "theirs")
    await talk(owner, "mine")
    hook = (await owner.post(f"/api/sessions/{KEY}/hooks", json={})).json()
    assert (await site.nobody.post(hook["url"], json={"text": "for the owner"})).status_code == 202
    assert [i["text"] for i in (await stranger.get(f"/api/sessions/{KEY}")).json()["lane"]] == ["theirs"]
    assert [i["text"] for i in (await owner.get(f"/api/sessions/{KEY}")).json()["lane"]] == ["mine", "for the owner"]
    assert (await stranger.get(f"/api/sessions/{KEY}/hooks")).json()["items"] == []
    assert (await owner.delete(f"/api/sessions/{KEY}")).json()["deleted"]
    assert (await stranger.get(f"/api/sessions/{KEY}")).status_code == 200


async def test_no_answer_tells_which_keys_others_have(site: Site) -> None:
    await site.owner.post("/api/sessions", json={"key": "web:taken"})
    stranger = site.stranger
    asks = (
        ("GET", "/api/sessions/{}", None),
        ("PATCH", "/api/sessions/{}", {"title": "x"}),
        ("DELETE", "/api/sessions/{}", None),
        ("GET", "/api/sessions/{}/messages", None),
        ("GET", "/api/sessions/{}/events", None),
        ("GET", "/api/sessions/{}/hooks", None),
        ("POST", "/api/sessions/{}/cancel", {}),
        ("POST", "/api/sessions/{}/test", {"address": "web:x"}),
        ("GET", "/api/jobs?session_key={}", None),
        ("GET", "/api/runs?session_key={}", None),
        ("GET", "/api/deliveries?session_key={}", None),
        ("GET", "/api/upcoming?session_key={}", None),
        # Last, for these make it.
        ("POST", "/api/sessions/{}/messages", {"text": "hello"}),
        ("POST", "/api/sessions", {"key": "{}"}),
    )
    for method, path, body in asks:
        told: list[tuple[int, str]] = []
        for key in ("web:taken", "web:freed"):
            given = {name: str(value).format(key) for name, value in body.items()} if body is not None else None
            response = await stranger.request(method, path.format(key), json=given)
            answer = response.json()
            told.append((response.status_code, str(answer.get("detail", "")).replace(key, "KEY")))
        assert told[0] == told[1], f"{method} {path}"


async def test_an_mcp_client_reaches_only_its_users_conversation_of_a_key(site: Site) -> None:
    doors: Doors = open_doors(site.world)
    await talk(site.owner, "mine")
    added = {"session_key": KEY, "action": "add", "when": "every day at 9", "message": "x"}
    reply = await doors.call("schedule_task", added, token=STRANGER_TOKEN)
    assert reply.is_error
    await talk(site.stranger, "theirs")
    assert text_of(await doors.call("schedule_task", added, token=STRANGER_TOKEN)).startswith("Added")
    assert (await site.owner.get("/api/jobs")).json()["items"] == []
