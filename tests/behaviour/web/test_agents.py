"""Agents over HTTP: made, read, changed and removed by admins; others see who they are and what they can do."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from homing.model.agents import BUILT_IN, INSTRUCTIONS
from homing.model.errors import Forbidden
from homing.operations.agents import add_agent, get_agent, remove_agent, update_agent
from homing.operations.runs import run_job
from homing.operations.shapes.agent import AddAgent, AgentRef, UpdateAgent
from homing.operations.shapes.job_asks import JobRef
from homing.store import maintenance
from homing.store import tables as t
from support.asking import add, agent, session
from support.site import Site, open_site, problem
from support.worlds import World


async def added(site: Site, **fields: Any) -> dict[str, Any]:
    response = await site.owner.post("/api/agents", json={"name": "Research", **fields})
    assert response.status_code == 201, response.text
    return response.json()


async def test_an_agent_is_made_from_its_name_alone_and_read_again(site: Site) -> None:
    made = await added(site)
    assert {name: made[name] for name in ("id", "name", "model", "model_in_effect", "thinking", "tools")} == {
        "id": "research",
        "name": "Research",
        "model": None,
        "model_in_effect": "offline",
        "thinking": None,
        "tools": None,
    }
    assert made["instructions"] == INSTRUCTIONS
    assert (made["hosts"], made["secrets"], made["guest_tools"], made["mcp_servers"]) == ([], [], [], [])
    assert made["heartbeat"] == {"minutes": None, "checklist": None, "active_hours": None}
    assert made["revision"] == 1
    assert "warnings" not in made
    assert (await site.owner.get("/api/agents/research")).json() == made
    assert [one["id"] for one in (await site.owner.get("/api/agents")).json()["items"]] == ["main", "other", "research"]


async def test_an_agent_keeps_everything_that_it_was_given(site: Site) -> None:
    given: dict[str, Any] = {
        "id": "fruit-1",
        "name": " Fruit ",
        "model": "offline",
        "thinking": "low",
        "instructions": "Only fruit.",
        "tools": {"recall": "allow", "run_command": "deny"},
        "hosts": ["Example.org", "*.example.com", "127.0.0.1:8080", "example.org"],
        "secrets": ["GITHUB_TOKEN"],
        "guest_tools": ["recall"],
        "heartbeat": {"minutes": 30, "checklist": "- look", "active_hours": "08:00-22:00"},
    }
    made = await added(site, **given)
    expected = given | {"name": "Fruit", "hosts": ["example.org", "*.example.com", "127.0.0.1:8080"]}
    assert {name: made[name] for name in expected} == expected
    assert made["warnings"][0] == "The checklist waits for a model: the offline model does not go through it."
    effect = {tool["name"]: (tool["policy"], tool["state"]) for tool in made["tools_in_effect"]}
    assert effect["recall"] == ("allow", "offered")
    assert effect["remember"] == effect["run_command"] == ("deny", "denied")


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("Größe & Maß", ["grosse-mass", "grosse-mass-2"]),
        ("日本", ["agent", "agent-2"]),
        ("x" * 40, ["x" * 32, "x" * 28 + "-2"]),
    ],
)
async def test_an_id_is_made_from_the_name_and_never_taken_twice(site: Site, name: str, ids: list[str]) -> None:
    assert [(await added(site, name=name))["id"] for _ in ids] == ids


REFUSED: list[tuple[dict[str, Any], str, str, str]] = [
    ({"id": "Not An Id"}, "invalid", "id", "small letters"),
    ({"name": ""}, "invalid", "name", "empty"),
    ({"model": "nobody:nothing"}, "unknown_model", "model", "no model"),
    ({"thinking": "hard"}, "invalid", "thinking", "must be one of off"),
    ({"instructions": "x" * 32_769}, "invalid", "instructions", "32,768"),
    ({"tools": {"format_disk": "allow"}}, "unknown_tool", "tools", "The tools are: schedule_task"),
    ({"tools": {"recall": "perhaps"}}, "invalid", "tools.recall", "'allow', 'ask' or 'deny'"),
    ({"tools": {"recall": "ask"}}, "invalid", "tools.recall", "cannot wait for an approval"),
    ({"tools": {"ask_question": "ask"}}, "invalid", "tools.ask_question", "cannot wait for an approval"),
    ({"tools": {"cron": "allow", "schedule_task": "allow"}}, "invalid", "tools", "one tool"),
    ({"guest_tools": ["dance"]}, "unknown_tool", "guest_tools", "no tool dance"),
    ({"hosts": ["10.0.0.1"]}, "invalid", "hosts", "needs its port"),
    ({"hosts": ["http://example.org/"]}, "invalid", "hosts", "is not a host"),
    ({"secrets": ["token=abc"]}, "invalid", "secrets", "capital letters"),
    ({"heartbeat": {"active_hours": "always"}}, "invalid", "heartbeat.active_hours", "08:00-22:00"),
    ({"heartbeat": {"minutes": -1}}, "invalid", "heartbeat.minutes", "0 or more"),
    ({"tool": {}}, "invalid", "tool", "Did you mean tools?"),
    ({"revision": 3}, "invalid", "revision", "no field revision"),
    ({"model_in_effect": "x"}, "invalid", "model_in_effect", "cannot be set"),
]


@pytest.mark.parametrize(("fields", "code", "field", "sentence"), REFUSED)
async def test_what_cannot_be_is_refused_with_a_sentence(
    world: World, fields: dict[str, Any], code: str, field: str, sentence: str
) -> None:
    def judge(name: str) -> str | None:
        return f"There is no model {name}."

    site = open_site(replace(world, instance=replace(world.instance, why_unusable=judge)))
    response = await site.owner.post("/api/agents", json={"name": "Research", **fields})
    body = problem(response)
    assert (response.status_code, body["code"], body["errors"][0]["field"]) == (422, code, field)
    assert sentence in body["detail"]
    assert len((await site.owner.get("/api/agents")).json()["items"]) == 2


async def test_only_the_fields_given_change_and_null_means_the_default(site: Site) -> None:
    await added(
        site, instructions="Only fruit.", hosts=["example.org"], tools={"recall": "allow"}, heartbeat={"minutes": 5}
    )
    owner = site.owner
    changed = (await owner.patch("/api/agents/research", json={"name": "Fruit"})).json()
    assert (changed["name"], changed["instructions"], changed["hosts"]) == ("Fruit", "Only fruit.", ["example.org"])
    assert changed["revision"] == 2
    beats = (await owner.patch("/api/agents/research", json={"heartbeat": {"checklist": "- look"}})).json()["heartbeat"]
    assert beats == {"minutes": 5, "checklist": "- look", "active_hours": None}
    nulls = dict.fromkeys(("name", "model", "thinking", "instructions", "tools", "hosts", "heartbeat"))
    back = (await owner.patch("/api/agents/research", json=nulls)).json()
    assert (back["name"], back["instructions"], back["tools"], back["hosts"]) == ("research", INSTRUCTIONS, None, [])
    assert back["heartbeat"]["minutes"] is None
    same = (await owner.patch("/api/agents/research", json={"name": "research"})).json()
    assert same["revision"] == back["revision"], "nothing changed, so it is the same revision"


async def test_an_edit_of_an_older_revision_is_refused_with_the_agent_as_it_is(site: Site) -> None:
    await added(site)
    owner = site.owner
    first = await owner.patch("/api/agents/research", json={"name": "Fruit", "revision": 1})
    assert first.json()["revision"] == 2
    second = await owner.patch("/api/agents/research", json={"name": "Pears", "revision": 1})
    body = problem(second)
    assert (second.status_code, body["code"]) == (409, "stale_revision")
    assert body["current"] == first.json()


async def test_of_two_admins_who_edit_at_once_one_wins_and_the_other_is_told(site: Site) -> None:
    await added(site)
    owner = site.owner
    edits = [owner.patch("/api/agents/research", json={"name": f"Name {n}", "revision": 1}) for n in range(4)]
    answers = await asyncio.gather(*edits)
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409]
    [winner] = [answer.json() for answer in answers if answer.status_code == 200]
    assert (await owner.get("/api/agents/research")).json() == winner


async def test_an_agent_with_conversations_cannot_be_removed_and_main_never(site: Site) -> None:
    await added(site)
    owner = site.owner
    for key in ("web:one", "web:two"):
        await owner.post("/api/sessions", json={"key": key, "agent_id": "research"})
    refused = await owner.delete("/api/agents/research")
    body = problem(refused)
    assert (refused.status_code, body["code"], body["sessions"]) == (409, "wrong_state", 2)
    assert "2 conversations use the agent research. In use by: web:two, web:one." in body["detail"]
    assert problem(await owner.delete("/api/agents/main"))["code"] == "wrong_state"
    for key in ("web:one", "web:two"):
        await owner.delete(f"/api/sessions/{key}")
    assert (await owner.delete("/api/agents/research")).json() == {"id": "research", "removed": True}
    assert (await owner.get("/api/agents/research")).status_code == 404
    assert (await owner.patch("/api/agents/research", json={"name": "x"})).status_code == 404
    assert (await owner.delete("/api/agents/research")).status_code == 404
    assert (await owner.post("/api/sessions", json={"agent_id": "research"})).status_code == 422


async def test_who_removes_an_agent_is_told_whose_conversations_use_it(site: Site) -> None:
    await added(site)
    for n in range(5):
        await site.owner.post("/api/sessions", json={"key": f"web:{n}", "agent_id": "research"})
    await site.stranger.post("/api/sessions", json={"key": "web:hers", "title": "Roses", "agent_id": "research"})
    body = problem(await site.owner.delete("/api/agents/research"))
    assert "In use by: Roses (web:hers) of the user stranger, web:4, web:3, web:2, web:1 and 1 more." in body["detail"]
    assert "changed by that user only" in body["detail"]
    assert (body["sessions"], len(body["conversations"])) == (6, 5)
    assert body["conversations"][0] == {"key": "web:hers", "title": "Roses", "user_id": "stranger"}


async def test_a_removed_id_can_be_used_again_without_what_the_old_agent_had(site: Site) -> None:
    await added(site, instructions="Old.", hosts=["example.org"])
    owner = site.owner
    granted = await owner.post("/api/grants", json={"agent_id": "research", "address": "email:anna@example.org"})
    assert granted.status_code == 201
    server = {"name": "time", "transport": "http", "url": "https://example.com/mcp"}
    assert (await owner.post("/api/agents/research/mcp-servers", json=server)).status_code == 201
    await owner.delete("/api/agents/research")
    assert (await added(site))["id"] == "research-2", "a made id is a fresh one"
    again = await added(site, id="research")
    assert (again["instructions"], again["hosts"], again["revision"]) == (INSTRUCTIONS, [], 2)
    assert again["mcp_servers"] == []
    assert (await owner.get("/api/grants")).json()["items"] == []
    twice = await owner.post("/api/agents", json={"name": "Research", "id": "research"})
    assert (twice.status_code, problem(twice)["code"]) == (409, "wrong_state")


async def test_an_agent_is_not_removed_while_a_conversation_with_it_is_made(site: Site) -> None:
    """On both databases: there is never a living session whose agent is gone."""
    owner = site.owner
    for n in range(8):
        await added(site, id=f"a{n}")
        made, removed = await asyncio.gather(
            owner.post("/api/sessions", json={"key": f"web:{n}", "agent_id": f"a{n}"}),
            owner.delete(f"/api/agents/a{n}"),
        )
        assert (made.status_code, removed.status_code) in ((201, 409), (422, 200))


PRIVATE = {"instructions", "hosts", "secrets", "heartbeat"}


async def test_people_who_are_not_admins_see_who_agents_are_and_change_nothing(site: Site) -> None:
    await added(site, instructions="The cellar key is under the mat.", hosts=["cellar.example"], secrets=["CELLAR"])
    listed = await site.stranger.get("/api/agents")
    assert "ellar" not in listed.text
    one = (await site.stranger.get("/api/agents/research")).json()
    assert one == listed.json()["items"][2]
    assert not PRIVATE & one.keys()
    assert {"id", "name", "model", "model_in_effect", "tools_in_effect"} <= one.keys()
    assert (await site.stranger.post("/api/agents", json={"name": "Mine"})).status_code == 403
    assert (await site.stranger.patch("/api/agents/research", json={"name": "Mine"})).status_code == 403
    assert (await site.stranger.delete("/api/agents/research")).status_code == 403


async def test_an_agent_changes_no_agent_although_its_user_is_an_admin(site: Site) -> None:
    caller = agent(site.world, "person")
    asks: list[tuple[Any, Any]] = [
        (add_agent, AddAgent(name="Mine")),
        (update_agent, UpdateAgent(agent_id="main", tools=None)),
        (remove_agent, AgentRef(agent_id="other")),
    ]
    for operation, ask in asks:
        with pytest.raises(Forbidden):
            site.world.ask(operation, ask, caller=caller)
    shown = site.world.ask(get_agent, AgentRef(agent_id="main"), caller=caller).plain()
    assert not PRIVATE & shown.keys()


async def test_changes_of_agents_are_audited(site: Site) -> None:
    await added(site)
    await site.owner.patch("/api/agents/research", json={"name": "Fruit", "hosts": ["example.org"]})
    await site.owner.delete("/api/agents/research")
    c = t.audit.c
    rows = site.world.write(lambda tx: tx.rows(sa.select(c.user_id, c.action, c.object_id, c.detail).order_by(c.at)))
    assert [tuple(row) for row in rows] == [
        ("default", "add_agent", "research", {"name": "Research", "revision": 1}),
        ("default", "update_agent", "research", {"fields": ["hosts", "name"], "revision": 2}),
        ("default", "remove_agent", "research", {"name": "Fruit", "revision": 2}),
    ]


async def test_a_model_that_cannot_call_tools_is_reported_when_it_is_chosen(world: World) -> None:
    deaf = replace(world.instance, calls_tools=lambda name: name != "openai:old")
    site = open_site(replace(world, instance=deaf))
    made = await added(site, model="openai:old")
    assert made["warnings"][:2] == [
        "The model openai:old cannot call tools: this agent can only talk, and sets no reminders."
    ]
    changed = (await site.owner.patch("/api/agents/research", json={"model": None})).json()
    assert "warnings" not in changed


async def test_where_no_worker_has_a_sandbox_its_tools_say_so(site: Site) -> None:
    def tool(agent: dict[str, Any]) -> dict[str, Any]:
        return next(one for one in agent["tools_in_effect"] if one["name"] == "run_command")

    made = await added(site)
    assert tool(made)["state"] == "unavailable"
    assert "`homing doctor` says why" in tool(made)["why"]
    site.world.write(
        lambda tx: maintenance.beat(tx, "worker_2", name="x", schedules=False, next_wake_at=None, can=["workspace"])
    )
    assert tool((await site.owner.get("/api/agents/research")).json())["state"] == "offered"


async def test_tools_that_cannot_be_used_here_say_why(world: World) -> None:
    site = open_site(world.with_settings(sandbox=False))
    made = await added(site)
    effect = {tool["name"]: tool for tool in made["tools_in_effect"]}
    assert effect["run_command"]["state"] == "unavailable"
    assert "HOMING_SANDBOX" in effect["run_command"]["why"]
    assert effect["recall"] == {
        "name": "recall",
        "policy": "allow",
        "default": "allow",
        "policies": ["allow", "deny"],
        "state": "offered",
        "why": None,
    }
    assert effect.keys() == BUILT_IN.keys() - {"cron", "schedule_message"}


async def jobs_of(site: Site, key: str) -> set[tuple[str, str]]:
    found = (await site.owner.get("/api/jobs", params={"session_key": key})).json()["items"]
    return {(job["name"], job["agent_id"]) for job in found}


async def test_a_sessions_automations_follow_it_to_another_agent(site: Site) -> None:
    world = site.world.with_settings(heartbeat_minutes=10)
    owner = site.owner
    await added(site)
    jobs = {name: add(world, name=name, **more) for name, more in KINDS.items()}
    world.ask(run_job, JobRef(job_id=jobs["event"].id))  # which gives the session its heartbeat
    await owner.delete(f"/api/jobs/{jobs['removed'].id}")
    changed = await owner.patch("/api/sessions/web:abc", json={"agent_id": "research"})
    assert (changed.status_code, changed.json()["agent_id"]) == (200, "research")
    assert await jobs_of(site, "web:abc") == {(name, "research") for name in ("plain", "isolated", "event")}
    beats = world.write(lambda tx: tx.rows(sa.select(t.job.c.agent_id).where(t.job.c.kind == "system")))
    assert [agent_id for (agent_id,) in beats] == ["research"]
    back = await owner.post(f"/api/jobs/{jobs['removed'].id}/undo", json={"revision": 2})
    assert back.json()["agent_id"] == "research", "what was removed comes back to the agent of today"
    assert (await owner.get(f"/api/jobs/{jobs['plain'].id}")).json()["revision"] == 1, "nobody edited the job itself"
    again = await owner.patch("/api/sessions/web:abc", json={"agent_id": None})
    assert again.json()["agent_id"] == "main"
    assert {agent for _, agent in await jobs_of(site, "web:abc")} == {"main"}


KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "isolated": {"session": "isolated"},
    "removed": {},
    "event": {"payload": {"kind": "system_event"}, "wake": "next_heartbeat"},
}


async def test_a_change_of_agent_for_an_older_revision_or_to_nobody_changes_nothing(site: Site) -> None:
    add(site.world, name="plain")
    owner = site.owner
    stale = await owner.patch("/api/sessions/web:abc", json={"agent_id": "other", "revision": 9})
    assert problem(stale)["code"] == "stale_revision"
    assert (await owner.patch("/api/sessions/web:abc", json={"agent_id": "nobody"})).status_code == 422
    assert await jobs_of(site, "web:abc") == {("plain", "main")}
    assert (await owner.get("/api/sessions/web:abc")).json()["agent_id"] == "main"


async def test_an_address_granted_to_one_agent_does_not_go_along_to_another(site: Site) -> None:
    owner = site.owner
    session(site.world)
    mail = "email:anna@example.org"
    await owner.post("/api/grants", json={"agent_id": "main", "address": mail})
    webhook = (await owner.post("/api/webhooks", json={"url": "https://example.com/"})).json()["address"]
    kept = ["web:abc", webhook, mail]
    assert (await owner.patch("/api/sessions/web:abc", json={"addresses": kept})).status_code == 200
    refused = await owner.patch("/api/sessions/web:abc", json={"agent_id": "other"})
    body = problem(refused)
    assert (refused.status_code, body["code"], body["address"]) == (409, "wrong_state", mail)
    assert "Grant it to other too" in body["detail"]
    without = await owner.patch("/api/sessions/web:abc", json={"agent_id": "other", "addresses": kept[:2]})
    assert (without.json()["agent_id"], without.json()["addresses"]) == ("other", kept[:2])
    await owner.post("/api/grants", json={"agent_id": "other", "address": mail})
    assert (await owner.patch("/api/sessions/web:abc", json={"addresses": kept})).json()["addresses"] == kept
    both = await owner.patch("/api/sessions/web:abc", json={"agent_id": "main"})
    assert both.json()["addresses"] == kept


async def test_an_automation_added_while_the_agent_changes_has_the_new_agent(site: Site) -> None:
    owner = site.owner
    session(site.world)
    for n in range(8):
        agent_id = ("other", "main")[n % 2]
        asked: dict[str, Any] = {"session_key": "web:abc", "when": "every 2h", "message": f"look {n}"}
        changed, *made = await asyncio.gather(
            owner.patch("/api/sessions/web:abc", json={"agent_id": agent_id}),
            *(owner.post("/api/jobs", json=asked) for _ in range(2)),
        )
        assert [one.status_code for one in (changed, *made)] == [200, 201, 201]
        assert {agent for _, agent in await jobs_of(site, "web:abc")} == {agent_id}
