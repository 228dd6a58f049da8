"""Bounds of requests, at every door that reads input: what is too much is refused, and the refusal is short."""

import json
from typing import Any

import pytest

from homing.model.contract import OPERATIONS
from homing.store import inbounds
from support.asking import add, session
from support.doors import Doors, open_doors, problem_of
from support.site import Site, field_codes, problem
from support.worlds import World

JSON = {"Content-Type": "application/json"}
MEMBERS = json.dumps({f"{number:05x}": 1 for number in range(75_000)}).encode()
SOME = json.dumps({f"{number:05x}": 1 for number in range(201)}).encode()
LISTS = b'{"text": [' + b",".join([b"[]"] * 300_000) + b"]}"
DEEP = b'{"text": ' + b"[" * 33 + b"]" * 33 + b"}"
MORE_THAN_ASKED = 16 * 1024

READING = [row for row in OPERATIONS if row.has_body and row.name not in ("sign_out", "call_hook", "add_file")]


def path_of(path: str) -> str:
    return path.replace("{key}", "web:abc").replace("{id}", "job_x")


@pytest.mark.parametrize("body", [MEMBERS, SOME, LISTS, DEEP], ids=["members", "some", "lists", "deep"])
async def test_a_body_of_too_many_members_or_levels_is_refused_shortly_at_every_address(
    site: Site, body: bytes
) -> None:
    session(site.world)
    for route in READING:
        response = await site.owner.request(route.method, path_of(route.public_path), content=body, headers=JSON)
        assert response.status_code == 400, (route.name, response.text[:200])
        assert problem(response)["code"] == "malformed", route.name
        assert len(response.content) < 1024, route.name
    assert (await site.owner.get("/api/jobs")).json()["items"] == []


def test_every_operation_that_has_a_body_was_asked() -> None:
    assert {route.name for route in READING} >= {"add_job", "send_message", "sign_in", "update_me", "create_token"}


async def test_twenty_errors_are_told_and_the_rest_is_counted(site: Site) -> None:
    response = await site.owner.post("/api/jobs", json={f"unknown_{number}": 1 for number in range(150)})
    told = problem(response)
    assert len(told["errors"]) == 20
    assert told["detail"].endswith(" more."), told["detail"][-80:]
    more = int(told["detail"].rpartition("And ")[2].partition(" ")[0])
    assert told["detail"].count("There is no field") + more == 150


NAMES = {
    "plain": "x" * 3000,
    "wide": "\N{BIRD}" * 3000,
    "control": "\x01" * 3000,
    "quotes": '"' * 3000,
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
async def test_an_answer_is_never_much_longer_than_its_request(site: Site, name: str) -> None:
    session(site.world)
    job = add(site.world).id
    bodies: list[Any] = [
        {f"{number}{name}": 1 for number in range(150)},
        {"schedule": {f"{number}{name}": 1 for number in range(150)}},
        {"when": name, "message": "x"},
        {"when": "in 2 hours", "message": "x", "timezone": name},
        {"when": "in 2 hours", "message": "x", "session": name},
        {"schedule": {"kind": "cron", "cron": name}, "message": "x"},
        {"addresses": [name] * 500},
        {name[:100] + str(number): 1 for number in range(20)},
    ]
    for method, path in (("POST", "/api/jobs"), ("PATCH", f"/api/jobs/{job}"), ("POST", "/api/sessions"),
                         ("PATCH", "/api/sessions/web:abc"), ("POST", "/api/schedules/preview")):  # fmt: skip
        for given in bodies:
            asked = json.dumps(given, ensure_ascii=False).encode()
            response = await site.owner.request(method, path, content=asked, headers=JSON)
            assert 400 <= response.status_code < 500, (path, response.text[:200])
            assert len(response.content) <= len(asked) + MORE_THAN_ASKED, (path, len(response.content), len(asked))
            told = problem(response)
            assert len(told["errors"]) <= 20
            assert all(len(error["field"]) <= 100 for error in told["errors"]), path


async def test_a_query_of_many_names_is_refused_shortly(site: Site) -> None:
    query = "&".join(f"n{number}=1" for number in range(1500))
    response = await site.owner.get(f"/api/jobs?{query}")
    assert len(field_codes(response)) == 20
    assert len(response.content) < len(query) + MORE_THAN_ASKED


async def hooked(site: Site, body: bytes, kind: str = "application/json") -> str:
    """Call a hook and read what the conversation got."""
    made = (await site.owner.post("/api/sessions/web:abc/hooks", json={"name": "ci"})).json()
    path = "/api/hooks/" + made["url"].rpartition("/")[2]
    response = await site.nobody.post(path, content=body, headers={"Content-Type": kind})
    assert response.status_code == 202, response.text
    inbound_id = response.json()["inbound_id"]
    inbound = site.world.write(lambda tx: inbounds.inbound_by_id(tx, inbound_id))
    assert inbound is not None
    return inbound.text


async def test_what_a_hook_brings_is_kept_as_text_and_not_walked(site: Site) -> None:
    session(site.world)
    assert await hooked(site, b'{"text": "built \\u2713"}') == "built \N{CHECK MARK}"
    assert await hooked(site, b' {\n "text" : "built" }\n') == "built"
    for raw in (
        b'{"action": "push", "n": 1}',
        b'{"text": "a", "more": 1}',
        b'{"text": 7}',
        b'{"text": "cut',
        b"[" * 99,
    ):
        assert await hooked(site, raw) == raw.decode()
    assert await hooked(site, b'{"text": "built"}', "text/plain") == '{"text": "built"}'
    for huge in (MEMBERS, LISTS, b"[" * 1_000_000, b'{"text": ' + b"[" * 900_000):
        text = await hooked(site, huge)
        assert text.startswith(huge[:1000].decode())
        assert len(text) < 17_000
        assert "cut" in text


@pytest.fixture
def doors(world: World) -> Doors:
    return open_doors(world)


async def test_mcp_counts_arguments_and_bodies_as_the_front_door_does(doors: Doors) -> None:
    session(doors.world)
    many = {f"{number:05x}": 1 for number in range(201)}
    deep: Any = []
    for _ in range(40):
        deep = [deep]
    for name, arguments in (
        ("schedule_task", {"session_key": "web:abc", **many}),
        ("schedule_task", {"session_key": "web:abc", "job": many}),
        ("send_message", {"session_key": "web:abc", "text": deep}),
        ("send_message", many),
    ):
        told = problem_of(await doors.call(name, arguments))
        assert told["code"] == "malformed", (name, told)
        assert len(json.dumps(told)) < 2048
    twenty = problem_of(await doors.call("send_message", {f"unknown_{number}": 1 for number in range(150)}))
    assert len(twenty["errors"]) == 20
    nameless = problem_of(await doors.call("x" * 50_000, {}))
    assert len(json.dumps(nameless)) < 2048
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    async with doors.http() as http:
        for huge in (MEMBERS, LISTS):
            asked = json.dumps(call | {"params": {"name": "send_message", "arguments": json.loads(huge)}})
            headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
            response = await http.post("/mcp", content=asked, headers=headers)
            assert response.status_code in (400, 413)
            assert len(response.content) < 2048


async def test_jobs_in_a_text_are_counted_too(doors: Doors) -> None:
    session(doors.world)
    for text in (SOME.decode(), '{"job": ' * 5000, '{"a": ' + "[" * 20_000):
        told = problem_of(await doors.call("schedule_task", {"session_key": "web:abc", "job": text}))
        assert len(json.dumps(told)) < 4096
    unknown = {f"zz{number}": 1 for number in range(190)}
    made = await doors.call(
        "schedule_task", {"session_key": "web:abc", "when": "in 1 hour", "message": "look", **unknown}
    )
    assert not made.is_error
    assert len(str(made.content)) < 4096
