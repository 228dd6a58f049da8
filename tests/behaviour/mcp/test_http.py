"""MCP over HTTP as the official client speaks it: the same replies as at other doors, and nobody gets in unproved."""

import contextlib
import json
from typing import Any

import pytest
from mcp import Client

from homing.model.errors import SlowDown
from homing.model.people import OWNER
from homing.operations.agents import update_agent
from homing.operations.jobs import list_jobs
from homing.operations.sessions import add_session
from homing.operations.shapes.agent import UpdateAgent
from homing.operations.shapes.base import read
from homing.operations.shapes.job_asks import ListJobs
from homing.operations.shapes.session_asks import AddSession
from homing.store import Tx, sessions
from homing.tools.schedule_task import schedule_task
from support.asking import add, session
from support.doors import Doors, problem_of, text_of
from support.site import OWNER_TOKEN, STRANGER_TOKEN, problem
from support.worlds import STRANGER, World

WATCH = {"action": "add", "when": "every weekday at 8", "message": "Check the fruit prices", "name": "fruit watch"}
LISTING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
HEADERS = {"Accept": "application/json, text/event-stream"}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_clients_of_the_old_and_of_the_new_protocol_are_let_in(doors: Doors, mode: str) -> None:
    session(doors.world)
    async with doors.client(mode=mode) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == [
            "schedule_task", "send_message", "list_messages",
        ]  # fmt: skip
        assert client.server_info is not None
        assert (client.server_info.name, client.server_info.version) == ("homing", "0.0-test")
        reply = await client.call_tool("schedule_task", {"session_key": "web:abc", **WATCH})
    assert text_of(reply).startswith('Added "fruit watch" (job_')


async def test_the_reply_is_word_for_word_that_of_the_agents_tool(doors: Doors) -> None:
    world = doors.world
    add(world, name="fruit watch", when="every weekday at 8")
    listed = await doors.call("schedule_task", {"session_key": "web:abc", "action": "list"})

    def by_agent(tx: Tx) -> str:
        home = sessions.find(tx, "web:abc", user_id=OWNER)
        assert home is not None
        return schedule_task(world.ctx(tx), home, {"action": "list"}).text

    assert text_of(listed) == world.write(by_agent)
    assert listed.structured_content is None


async def test_a_job_added_here_belongs_to_the_named_session_and_knows_its_door(doors: Doors) -> None:
    session(doors.world)
    await doors.call("schedule_task", {"session_key": "web:abc", **WATCH})
    [job] = doors.world.ask(list_jobs, ListJobs()).items
    assert (job.session_key, job.name, job.origin.door) == ("web:abc", "fruit watch", "mcp")


async def test_every_field_of_a_job_is_understood_here(doors: Doors) -> None:
    session(doors.world)
    reply = await doors.call("schedule_task", {"session_key": "web:abc", **WATCH, "maxRuns": "3", "writeBack": "none"})
    assert "at most 3 runs" in text_of(reply)
    [job] = doors.world.ask(list_jobs, ListJobs()).items
    assert (job.max_runs, job.write_back) == (3, "none")


async def test_a_message_is_sent_and_read_back_and_its_session_is_made(doors: Doors) -> None:
    sent = await doors.call("send_message", {"session_key": "api:new", "text": "Hello"})
    assert sent.structured_content["session_key"] == "api:new"
    assert sent.structured_content["will"] == "start"
    assert json.loads(text_of(sent)) == sent.structured_content
    page = await doors.call("list_messages", {"session_key": "api:new", "limit": 5})
    assert page.structured_content == {"items": [], "next_cursor": None}


async def test_waiting_ends_with_the_plain_answer_when_nobody_answers(doors: Doors) -> None:
    sent = await doors.call("send_message", {"session_key": "api:new", "text": "Hello", "wait": 1})
    assert sent.structured_content["will"] == "start"


async def test_with_all_tools_an_operation_answers_what_the_api_answers(doors: Doors) -> None:
    job = add(doors.world, name="fruit watch")
    got = await doors.call("get_job", {"job_id": job.id}, every=True)
    async with doors.http() as http:
        assert got.structured_content == (await http.get(f"/api/jobs/{job.id}")).json()


async def test_an_admins_client_sees_of_agents_what_everybody_sees(doors: Doors) -> None:
    doors.world.ask(
        update_agent, read(UpdateAgent, {"agent_id": "main", "instructions": "hush", "hosts": ["wiki.example"]})
    )
    got = await doors.call("list_agents", {}, every=True)
    agents = (got.structured_content or {})["items"]
    assert "main" in {agent["id"] for agent in agents}
    assert not any({"instructions", "hosts", "secrets", "heartbeat"} & set(agent) for agent in agents)


async def test_a_client_gives_no_conversation_another_agent(doors: Doors) -> None:
    doors.world.ask(add_session, read(AddSession, {"key": "web:abc"}))
    got = await doors.call("update_session", {"session_key": "web:abc", "agent_id": "main"}, every=True)
    assert got.is_error
    assert "Only a person gives a conversation another agent" in str(got.content)
    got = await doors.call("add_session", {"key": "web:new", "agent_id": "other"}, every=True)
    assert got.is_error
    assert "Only a person gives a conversation another agent" in str(got.content)
    assert not (await doors.call("add_session", {"key": "web:new"}, every=True)).is_error
    assert not (await doors.call("update_session", {"session_key": "web:abc", "title": "Abc"}, every=True)).is_error


REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    ("send_message", {"session_key": "web:abc", "txt": "hi", "text": "hi"}, "invalid", "Did you mean text?"),
    ("send_message", {"session_key": "web:abc"}, "invalid", "text is missing."),
    ("send_message", {"session_key": "web:abc", "text": "hi", "wait": 500}, "invalid", "wait must be 120 or less"),
    ("send_message", {"session_key": "slack:C1", "text": "hi"}, "invalid", "slack:"),
    ("list_messages", {"session_key": "web:none"}, "not_found", "There is no session web:none."),
    ("list_messages", {"session_key": "web:abc", "limit": "many"}, "invalid", "limit must be a whole number"),
    ("schedule_task", WATCH, "invalid", "session_key is missing."),
    ("schedule_task", {"session_key": "web:none", **WATCH}, "not_found", "send_message makes a new one."),
    ("schedule_task", {"session_key": "web:abc", "action": "add", "message": "hi"}, "invalid", "A correct call:"),
    ("schedule_task", {"session_key": "web:abc", "action": "add", "whn": "in 1h"}, "invalid", "Did you mean when?"),
    ("schedule_task", {"session_key": "web:abc", "action": "get", "job_id": "x"}, "not_found", "x"),
    ("list_message", {"session_key": "web:abc"}, "not_found", "Did you mean list_messages?"),
    ("add_job", {}, "not_found", "--tools all"),
]


@pytest.mark.parametrize(("name", "arguments", "code", "says"), REFUSED)
async def test_a_refusal_is_a_result_that_says_what_to_do(
    doors: Doors, name: str, arguments: dict[str, Any], code: str, says: str
) -> None:
    session(doors.world)
    told = problem_of(await doors.call(name, arguments))
    assert told["code"] == code
    assert says in told["detail"]


async def test_an_unknown_argument_is_named_by_its_field(doors: Doors) -> None:
    result = await doors.call("add_job", {"session_key": "web:abc", "mesage": "x"}, every=True)
    [error] = problem_of(result)["errors"]
    assert (error["field"], error["code"]) == ("mesage", "unknown_field")


async def test_a_conflict_names_what_stands_in_the_way(doors: Doors) -> None:
    job = add(doors.world)
    told = problem_of(await doors.call("delete_session", {"session_key": "web:abc"}, every=True))
    assert told["code"] == "blocked_by_automations"
    assert told["automations"] == [{"id": job.id, "name": job.name, "enabled": True}]


async def test_text_that_no_database_keeps_is_cleaned_and_depth_is_refused(doors: Doors) -> None:
    sent = await doors.call("send_message", {"session_key": "api:new", "text": "a\x00b"})
    assert not sent.is_error
    deep: dict[str, Any] = {}
    for _ in range(40):
        deep = {"job": deep}
    session(doors.world)
    told = problem_of(await doors.call("schedule_task", {"session_key": "web:abc", "job": deep}))
    assert told["code"] == "malformed"


async def test_nobody_gets_in_without_a_token_we_know(doors: Doors) -> None:
    for token in (None, "hom_wrong"):
        async with doors.http(token) as http:
            response = await http.post("/mcp", json=LISTING, headers=HEADERS)
        assert response.status_code == 401
        assert problem(response)["code"] == "unauthenticated"
        assert response.headers["www-authenticate"] == "Bearer"


async def test_other_sites_other_names_and_other_methods_are_refused(doors: Doors) -> None:
    async with doors.http() as http:
        page = await http.post("/mcp", json=LISTING, headers=HEADERS | {"Origin": "https://evil.example"})
        name = await http.post("/mcp", json=LISTING, headers=HEADERS | {"Host": "evil.example"})
        stream = await http.get("/mcp", headers=HEADERS)
        ours = await http.post("/mcp", json=LISTING, headers=HEADERS | {"Origin": "http://127.0.0.1:4664"})
    assert (page.status_code, name.status_code, stream.status_code, ours.status_code) == (403, 403, 405, 200)
    assert stream.headers["allow"] == "POST"
    assert problem(stream)["code"] == "wrong_method"
    assert "POST" in problem(stream)["detail"]


async def test_whoever_asks_too_often_is_told_when_to_come_back_here_too(doors: Doors) -> None:
    haste = doors.app.state.homing.requests
    with contextlib.suppress(SlowDown):
        while True:
            haste.take(OWNER)
    async with doors.http() as http, doors.http(STRANGER_TOKEN) as other:
        refused = await http.post("/mcp", json=LISTING, headers=HEADERS)
        let_in = await other.post("/mcp", json=LISTING, headers=HEADERS)
    assert (refused.status_code, let_in.status_code) == (429, 200)
    assert problem(refused)["code"] == "slow_down"
    assert int(refused.headers["retry-after"]) >= 1


async def test_a_body_beyond_the_limit_or_beyond_reading_is_refused_and_changes_nothing(doors: Doors) -> None:
    async with doors.http() as http:
        json_type = HEADERS | {"Content-Type": "application/json"}
        big = await http.post("/mcp", content=b" " * 1_100_000, headers=json_type)
        broken = await http.post("/mcp", content=b'{"jsonrpc": ', headers=json_type)
        which = await http.post("/mcp?tools=some", json=LISTING, headers=HEADERS)
    assert (big.status_code, broken.status_code, which.status_code) == (413, 400, 400)


def _wrong_asks(world: World) -> dict[str, dict[str, Any]]:
    job = add(world, name="fruit watch")
    run_id = f"{job.id}:1770000000000"
    return {
        "get_session": {"session_key": "web:abc"},
        "update_session": {"session_key": "web:abc", "title": "Mine"},
        "delete_session": {"session_key": "web:abc", "delete_automations": True},
        "list_messages": {"session_key": "web:abc"},
        "cancel_turn": {"session_key": "web:abc"},
        "list_hooks": {"session_key": "web:abc"},
        "add_hook": {"session_key": "web:abc"},
        "add_job": {"session_key": "web:abc", "when": "in 1 hour", "message": "hi"},
        "get_job": {"job_id": job.id},
        "update_job": {"job_id": job.id, "name": "mine"},
        "remove_job": {"job_id": job.id},
        "disable_job": {"job_id": job.id},
        "run_job": {"job_id": job.id},
        "why_job": {"job_id": job.id},
        "get_run": {"run_id": run_id},
        "schedule_task": {"session_key": "web:abc", "action": "list"},
    }


async def test_another_users_things_are_not_found(doors: Doors) -> None:
    world = doors.world
    asks = _wrong_asks(world)
    session(world, "web:strange", STRANGER.user_id)
    async with doors.client(STRANGER_TOKEN, every=True) as stranger:
        for name, arguments in asks.items():
            told = problem_of(await stranger.call_tool(name, arguments))
            assert told["code"] == "not_found", name
        by_id = {"session_key": "web:strange", "action": "remove", "job_id": asks["get_job"]["job_id"]}
        assert problem_of(await stranger.call_tool("schedule_task", by_id))["code"] == "not_found"
        assert (await _items(stranger, "list_jobs"), await _items(stranger, "list_runs")) == ([], [])
        assert [one["key"] for one in await _items(stranger, "list_sessions")] == ["web:strange"]
        assert problem_of(await stranger.call_tool("admin_list_jobs", {}))["code"] == "forbidden"
    async with doors.client(OWNER_TOKEN, every=True) as owner:
        [job] = await _items(owner, "list_jobs")
    assert (job["name"], job["revision"]) == ("fruit watch", 1)


async def _items(client: Client, name: str) -> list[dict[str, Any]]:
    return (await client.call_tool(name, {})).structured_content["items"]
