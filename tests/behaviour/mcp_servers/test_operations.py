"""MCP servers at the front door: added, tried, changed, accepted, removed; every refusal a sentence."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from behaviour.mcp_servers.sites import SERVERS, add, let_reach, listed
from homing.model.contract import OPERATIONS
from homing.store import maintenance
from support.http_mcp_server import HttpMcpServer
from support.mcp_scripts import SCRIPT, scripted
from support.site import Site, field_codes, open_site, problem
from support.worlds import World

SECRET = "s3cr3t-value"


def names(server: dict[str, Any], *, accepted: bool) -> list[str]:
    return [tool["name"] for tool in server["tools"] if tool["accepted"] == accepted]


async def test_a_server_is_started_once_and_its_tools_are_accepted_with_it(site: Site) -> None:
    server = await add(site, **scripted())

    assert (server["state"], server["error"], server["policy"], server["revision"]) == ("ready", None, "allow", 1)
    assert server["tools"][0] == {
        "name": "echo",
        "description": "Gives the text back.",
        "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}},
        "policy": "allow",
        "accepted": True,
        "change": None,
    }
    assert len(server["tools_sha256"]) == 64
    assert await listed(site) == [server]


async def test_a_process_that_is_no_worker_does_not_say_which_folder_is_the_share(site: Site, home: Path) -> None:
    server = await add(site, **scripted())

    assert server["state"] == "ready"
    assert site.world.write(maintenance.share_id) is None
    assert not (home / "share").exists()


async def test_a_server_that_does_not_come_up_is_kept_as_failing_with_its_last_words(site: Site) -> None:
    server = await add(site, **scripted("exit"))

    assert (server["state"], server["tools"]) == ("failing", [])
    assert server["error"] == "The server ended before it had answered. It said: KeyError: 'API_KEY'"


async def test_a_failing_server_is_mended_by_a_change_and_its_tools_wait_to_be_accepted(site: Site) -> None:
    await add(site, **scripted("exit"))
    changed = await site.owner.patch(f"{SERVERS}/bad", json={"args": ["-c", SCRIPT, "fine"], "revision": 1})
    server = changed.json()

    assert (server["state"], server["error"], server["revision"]) == ("changed", None, 2)
    assert names(server, accepted=True) == []
    accepted = await site.owner.post(f"{SERVERS}/bad/accept", json={"tools_sha256": server["tools_sha256"]})
    assert accepted.json()["state"] == "ready"
    assert names(accepted.json(), accepted=False) == []


async def test_new_and_changed_tools_are_off_until_the_very_tools_that_were_shown_are_accepted(site: Site) -> None:
    before = await add(site, **scripted())
    changed = (await site.owner.patch(f"{SERVERS}/bad", json={"args": ["-c", SCRIPT, "changed"]})).json()

    assert changed["state"] == "changed"
    assert names(changed, accepted=False) == ["echo", "new"]
    assert {tool["name"]: tool["change"] for tool in changed["tools"] if tool["change"]} == {
        "echo": "changed",
        "new": "new",
    }
    stale = await site.owner.post(f"{SERVERS}/bad/accept", json={"tools_sha256": before["tools_sha256"]})
    assert stale.status_code == 409
    assert problem(stale)["current"]["tools_sha256"] == changed["tools_sha256"]
    again = await site.owner.post(f"{SERVERS}/bad/accept", json={"tools_sha256": changed["tools_sha256"]})
    assert again.json()["state"] == "ready"


async def test_a_test_starts_the_server_and_shows_its_state(site: Site) -> None:
    await add(site, **scripted())
    fine = (await site.owner.post(f"{SERVERS}/bad/test")).json()

    assert (fine["state"], fine["error"], len(fine["tools"])) == ("ready", None, 12)


async def test_a_server_is_switched_off_and_on(site: Site) -> None:
    await add(site, **scripted())
    off = (await site.owner.patch(f"{SERVERS}/bad", json={"enabled": False})).json()
    tested = (await site.owner.post(f"{SERVERS}/bad/test")).json()
    on = (await site.owner.patch(f"{SERVERS}/bad", json={"enabled": True})).json()

    assert [off["state"], tested["state"], on["state"]] == ["off", "off", "ready"]


async def test_policies_of_single_tools_differ_from_the_servers(site: Site) -> None:
    await add(site, **scripted())
    server = (await site.owner.patch(f"{SERVERS}/bad", json={"tool_policies": {"write": "deny"}})).json()
    unknown = await site.owner.patch(f"{SERVERS}/bad", json={"tool_policies": {"nothing": "deny"}})

    assert {tool["name"]: tool["policy"] for tool in server["tools"]}["write"] == "deny"
    assert field_codes(unknown) == {"tool_policies": "unknown_tool"}


async def test_a_stale_revision_is_refused_with_the_server_as_it_is(site: Site) -> None:
    await add(site, **scripted())
    refused = await site.owner.patch(f"{SERVERS}/bad", json={"policy": "deny", "revision": 7})

    assert (refused.status_code, problem(refused)["code"]) == (409, "stale_revision")
    assert problem(refused)["current"]["revision"] == 1


async def test_a_removed_server_is_gone_and_its_name_free(site: Site) -> None:
    await add(site, **scripted())
    taken = await site.owner.post(SERVERS, json=scripted())
    removed = await site.owner.delete(f"{SERVERS}/bad")

    assert taken.status_code == 409
    assert removed.json() == {"agent_id": "main", "name": "bad", "removed": True}
    assert (await site.owner.delete(f"{SERVERS}/bad")).status_code == 404
    await add(site, **scripted())


async def test_a_repeated_idempotency_key_is_answered_without_another_start(site: Site) -> None:
    key = {"Idempotency-Key": "k"}
    first = await site.owner.post(SERVERS, json=scripted(), headers=key)
    again = await site.owner.post(SERVERS, json=scripted(), headers=key)
    other = await site.owner.post(SERVERS, json=scripted("exit"), headers=key)

    assert (first.status_code, again.status_code, again.headers["idempotency-replayed"]) == (201, 201, "true")
    assert again.json() == first.json()
    assert problem(other)["code"] == "key_reused"


REFUSED = {
    "uvx": ({"command": "uvx", "args": ["mcp-server-time"]}, 'install_packages with pip ["mcp-server-time"]'),
    "npx": ({"command": "/usr/bin/npx"}, "its tool install_packages"),
    "a missing command": ({"command": "no-such-server"}, "There is no program no-such-server on this machine"),
    "a relative command": ({"command": "./server"}, "There is no program"),
    "neither": ({}, "Give a command"),
    "both": ({"command": "python3", "url": "https://example.org/"}, "Give a command"),
    "the other transport": ({"command": "python3", "transport": "http"}, "has the transport stdio"),
    "a loader variable": ({"command": "python3", "env": {"LD_PRELOAD": "x"}}, "LD_PRELOAD cannot be set"),
    "a foreign secret": ({"command": "python3", "env": {"T": {"secret": "OTHER"}}}, "has no secret OTHER"),
    "an unset secret": ({"command": "python3", "env": {"T": {"secret": "GITHUB_TOKEN"}}}, "is not set on this machine"),
    "a host": ({"command": "python3", "hosts": ["127.0.0.1"]}, "an address needs its port"),
    "plain http": ({"url": "http://example.org/mcp"}, "must use https"),
    "a key in the URL": ({"url": "https://example.org/mcp?api_key=abc"}, "would store the value of api_key"),
    "a password in the URL": ({"url": "https://me:word@example.org/mcp"}, "without a name or password"),
    "a plain Authorization": (
        {"url": "https://example.org/", "headers": {"Authorization": "Bearer abc"}},
        "The value of the header Authorization would be stored",
    ),
    "a plain key": ({"url": "https://example.org/", "headers": {"X-Api-Key": "abc"}}, "header X-Api-Key would be"),
    "a header of ours": ({"url": "https://example.org/", "headers": {"Host": "x"}}, "header Host cannot be set"),
    "an empty header": ({"url": "https://example.org/", "headers": {"": "x"}}, "The name of a header is empty."),
    "a value of no kind": (
        {"command": "python3", "env": {"K": {"secret": "small"}}},
        'env.K must be a text of at most 8,192 characters, or {"secret": NAME} with the name of a secret',
    ),
    "a name with a space": (
        {"name": "my server", "command": "python3"},
        "name must have 1 to 24 small letters, digits and -, such as time.",
    ),
    "env over http": ({"url": "https://example.org/", "env": {"A": "x"}}, "are for programs"),
}


async def test_what_can_never_work_is_refused_and_not_kept(site: Site) -> None:
    let_reach(site.world)
    for case, (given, sentence) in REFUSED.items():
        answer = await site.owner.post(SERVERS, json={"name": "bad", **given})
        assert (answer.status_code, sentence in problem(answer)["detail"]) == (422, True), (case, answer.text)
    assert await listed(site) == []


async def test_secrets_come_from_the_environment_or_a_private_file_and_are_shown_by_name_only(
    site: Site, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_reach(site.world)
    env = {"TOKEN": {"secret": "GITHUB_TOKEN"}}
    (home / "secrets/GITHUB_TOKEN").write_text(f"{SECRET}\n")
    (home / "secrets/GITHUB_TOKEN").chmod(0o644)
    open_file = await site.owner.post(SERVERS, json=scripted("exit", env=env))
    (home / "secrets/GITHUB_TOKEN").chmod(0o600)
    failing = await add(site, **scripted("exit", env=env))
    monkeypatch.setenv("HOMING_SECRET_GITHUB_TOKEN", SECRET)
    (home / "secrets/GITHUB_TOKEN").unlink()
    ready = await add(site, **scripted(name="other", env=env))

    assert "can be read by others" in problem(open_file)["detail"]
    assert failing["error"].endswith("KeyError: 'API_KEY' [secret GITHUB_TOKEN]")
    assert (ready["env"], ready["policy"], ready["state"]) == (env, "ask", "ready")
    assert SECRET not in str(await listed(site))


async def test_a_server_over_http_is_added_with_the_agents_hosts(site: Site, http_server: HttpMcpServer) -> None:
    server = await add(site, name="web", url=http_server.url)

    assert (server["transport"], server["state"], server["policy"]) == ("http", "ready", "ask")
    http_server.mode = "401"
    tested = (await site.owner.post(f"{SERVERS}/web/test")).json()
    assert tested["state"] == "failing"
    assert "OAuth is not supported" in tested["error"]
    http_server.mode = "fine"
    assert (await site.owner.post(f"{SERVERS}/web/test")).json()["state"] == "ready"


async def test_a_process_without_hands_says_what_to_do(world: World) -> None:
    site = open_site(replace(world, instance=replace(world.instance, hands=None)))
    refused = await site.owner.post(SERVERS, json=scripted())

    assert (refused.status_code, problem(refused)["code"]) == (409, "no_sandbox")
    assert "homing up" in problem(refused)["detail"]
    assert await listed(site) == []


async def test_a_machine_without_a_sandbox_says_how_to_get_one(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    found = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name, **how: None if name == "bwrap" else found(name, **how))
    refused = await site.owner.post(SERVERS, json=scripted())

    assert (refused.status_code, problem(refused)["code"]) == (409, "no_sandbox")


async def test_only_admins_see_or_change_servers_and_no_mcp_client_does(site: Site) -> None:
    await add(site, **scripted())
    for answer in (
        await site.stranger.get(SERVERS),
        await site.stranger.post(SERVERS, json=scripted(name="other")),
        await site.stranger.patch(f"{SERVERS}/bad", json={"policy": "deny"}),
        await site.stranger.post(f"{SERVERS}/bad/test"),
        await site.stranger.delete(f"{SERVERS}/bad"),
    ):
        assert answer.status_code == 403, answer.text
    assert {operation.mcp for operation in OPERATIONS if operation.module == "mcp_servers"} == {False}


async def test_an_agent_that_is_not_there_has_no_servers(site: Site) -> None:
    assert (await site.owner.get("/api/agents/nobody/mcp-servers")).status_code == 404
    assert (await site.owner.post("/api/agents/nobody/mcp-servers", json=scripted())).status_code == 404
    assert (await site.owner.post(f"{SERVERS}/nothing/test")).status_code == 404
