"""`add_mcp_server`: an agent asks for a server; approved, it is started once and its tools are accepted (rule 45)."""

import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pytest

from behaviour.approvals.answers import answer, ended, pending, shown, told
from homing.model.mcp_servers import FOUND_OUT, McpServer, Secret
from homing.store import tables as t
from homing.tools.add_mcp_server import card_of, server_of
from support.mcp_scripts import SCRIPT, scripted
from support.package_index import PackageIndex
from support.sandboxes import need_bubblewrap
from support.site import STRANGER_TOKEN
from support.whole import Whole, open_whole

KEY = "web:fruit"
SERVER = McpServer(
    agent_id="main",
    name="owl",
    transport="stdio",
    command="owl-server",
    args=("--quiet",),
    url=None,
    env={"TOKEN": Secret(name="OWL_TOKEN"), "MODE": "night"},
    headers={},
    hosts=("owl.example",),
    policy="ask",
)


@pytest.fixture(autouse=True)
def _passable(tmp_path: Path) -> None:
    """As root a program inside has another uid, and must be able to pass."""
    tmp_path.chmod(0o755)


@pytest.fixture
async def whole(database: str, tmp_path: Path) -> AsyncIterator[Whole]:
    need_bubblewrap()
    async with open_whole(database, tmp_path / "home") as whole:
        yield whole


async def servers(whole: Whole) -> list[dict[str, Any]]:
    return (await whole.ask("GET", "/agents/main/mcp-servers"))["items"]


async def asked(whole: Whole, *, key: str = KEY, **given: Any) -> dict[str, Any]:
    said = await whole.call("add_mcp_server", {"reason": "to echo", **given}, key=key)
    assert said.startswith("Asked (appr_"), said
    [approval] = await pending(whole)
    return approval


def test_the_card_shows_every_column_that_somebody_chooses() -> None:
    columns = {column.name for column in t.mcp_server.c} - {"n"}
    assert {field.name for field in fields(McpServer)} == columns
    assert set(card_of(SERVER)) == columns - FOUND_OUT
    assert server_of(card_of(SERVER)) == SERVER
    assert card_of(SERVER)["env"] == {"TOKEN": {"secret": "OWL_TOKEN"}, "MODE": "night"}

    @dataclass(frozen=True, kw_only=True)
    class Wider(McpServer):
        surprise: str = "runs as root"

    chosen = {field.name: getattr(SERVER, field.name) for field in fields(SERVER)}
    assert card_of(Wider(**chosen))["surprise"] == "runs as root"


async def test_an_approved_server_is_started_and_its_tools_are_accepted_and_told(whole: Whole) -> None:
    approval = await asked(whole, **scripted())
    assert (approval["audience"], approval["title"]) == ("admin", "Main asks for the MCP server bad")
    assert approval["args"] == {
        "agent_id": "main",
        "name": "bad",
        "transport": "stdio",
        "command": "python3",
        "args": scripted()["args"],
        "url": None,
        "env": {},
        "headers": {},
        "hosts": [],
        "policy": "allow",
    }
    assert await servers(whole) == []
    await answer(whole, approval, token=STRANGER_TOKEN, code=404)

    whole.model.reply("I can echo.")
    await answer(whole, approval)
    done = await ended(whole, approval)
    await told(whole, "I can echo.", key=KEY)
    assert done["state"] == "done"
    assert done["result"].startswith("Added bad with the tools echo, fail,")
    assert "Added bad with the tools echo" in shown(whole)
    [server] = await servers(whole)
    assert (server["state"], server["tools"][0]["accepted"]) == ("ready", True)
    assert "echo: hello" in await whole.call("bad_echo", {"text": "hello"}, key=KEY)
    assert "has an MCP server bad already" in await whole.call("add_mcp_server", scripted(), key=KEY)


async def test_a_server_without_tools_is_added_and_that_is_said(whole: Whole) -> None:
    approval = await asked(whole, **scripted("bare"))
    whole.model.reply("It can do nothing.")
    await answer(whole, approval)
    done = await ended(whole, approval)
    assert done["result"] == "Added bad. It offers no tools."
    await told(whole, "It can do nothing.", key=KEY)


async def test_a_server_that_does_not_come_up_changes_nothing_and_its_words_are_told(whole: Whole) -> None:
    given = {"name": "broken", "command": "sh", "args": ["-c", "echo no owls here >&2; exit 3"]}
    approval = await asked(whole, **given)
    whole.model.reply("It did not start.")
    await answer(whole, approval)
    done = await ended(whole, approval)
    assert done["state"] == "failed"
    assert "no owls here" in done["error"]
    await told(whole, "It did not start.", key=KEY)
    assert await servers(whole) == []


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "name is missing"),
    ({"name": "Owl!", "command": "sh"}, "small letters, digits and -"),
    ({"name": "owl"}, "Give a command"),
    ({"name": "owl", "command": "uvx", "args": ["owl-server@1.2", "-q"]}, 'install_packages with pip ["owl-server"]'),
    ({"name": "owl", "command": "npx", "args": ["-y", "@a/owl"]}, 'install_packages with npm ["@a/owl"]'),
    ({"name": "owl", "command": "uvx", "args": ["--from", "x", "owl"]}, "its tool install_packages"),
    ({"name": "owl", "command": "no-such-owl"}, "no-such-owl"),
    ({"name": "owl", "command": "sh", "env": {"LD_PRELOAD": "x"}}, "cannot be set"),
    ({"name": "owl", "command": "sh", "env": {"T": {"secret": "OTHER"}}}, "has no secret OTHER"),
    ({"name": "owl", "command": "sh", "env": {"API_KEY": "hunter2"}}, "would be shown and stored"),
    ({"name": "owl", "url": "http://127.0.0.1:1/"}, "must use https"),
    ({"name": "owl", "url": "https://owl.example/", "headers": {"Authorization": "x"}}, "would be stored"),
    ({"name": "owl", "command": "sh", "policy": "allow"}, "has no policy"),
    ({"name": "owl", "command": "sh", "agent_id": "other"}, "has no agent_id"),
]


async def test_what_cannot_be_is_said_at_once_and_nobody_is_asked(whole: Whole) -> None:
    for given, said in REFUSED:
        assert said in await whole.call("add_mcp_server", given, key=KEY), given
    assert (await whole.ask("GET", "/approvals"))["items"] == []


async def test_a_server_for_uvx_comes_by_the_two_steps_that_its_refusal_names(
    whole: Whole, index: PackageIndex
) -> None:
    index.add_wheel(
        "owlserver", files={"owlserver.py": SCRIPT + "\ndef main(): pass\n"}, scripts=("owlserver = owlserver:main",)
    )
    given = {"name": "owl", "command": "uvx", "args": ["owlserver"]}
    said = await whole.call("add_mcp_server", given, key=KEY)
    assert 'First install_packages with pip ["owlserver"]' in said
    assert "add_mcp_server with the command owlserver," in said

    await whole.call("install_packages", {"pip": ["owlserver"]}, key=KEY)
    [packages] = await pending(whole)
    whole.model.reply("It is installed.")
    await answer(whole, packages)
    await told(whole, "It is installed.", key=KEY)
    approval = await asked(whole, name="owl", command="owlserver")
    whole.model.reply("I can echo.")
    await answer(whole, approval)
    assert (await ended(whole, approval))["state"] == "done"
    await told(whole, "I can echo.", key=KEY)
    assert "echo: hello" in await whole.call("owl_echo", {"text": "hello"}, key=KEY)


async def test_a_secret_is_named_on_the_card_and_given_to_the_server_alone(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_bubblewrap()
    monkeypatch.setitem(os.environ, "HOMING_SECRET_OWL_TOKEN", "hunter2")
    async with open_whole(database, tmp_path / "home") as whole:
        whole.change_agent(secrets=("OWL_TOKEN",))
        approval = await asked(whole, **scripted(env={"TOKEN": {"secret": "OWL_TOKEN"}}))
        assert approval["args"]["env"] == {"TOKEN": {"secret": "OWL_TOKEN"}}
        # What leaves the sandbox is asked for each time.
        assert approval["args"]["policy"] == "ask"
        assert "hunter2" not in str(approval)
        # Taken from the agent before the yes, it is not given.
        whole.change_agent(secrets=())
        whole.model.reply("Pity.")
        await answer(whole, approval)
        done = await ended(whole, approval)
        assert done["state"] == "failed"
        assert await servers(whole) == []
