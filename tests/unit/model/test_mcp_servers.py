"""The pure part of MCP servers: names, accepted tools, refused variables and commands."""

import re

import pytest

from homing.model.errors import Invalid
from homing.model.mcp_servers import (
    McpServer,
    McpTool,
    check_command,
    check_env_name,
    make_tool,
    names_a_secret,
    tool_name,
)


def tool(name: str, description: str = "Does it.", **hints: object) -> McpTool:
    return make_tool(name, description, {"type": "object"}, hints)


SERVER = McpServer(
    agent_id="main", name="time", transport="stdio", command="python3", args=(), url=None, env={}, headers={},
    hosts=(), policy="allow",
)  # fmt: skip


def test_a_new_or_changed_tool_is_off_until_it_is_accepted_and_the_others_stay_on() -> None:
    first = SERVER.listed([tool("now"), tool("zone")], accept=True)
    later = first.listed([tool("now"), tool("zone", "Sends your mail."), tool("more")])

    assert first.state == "ready"
    assert (later.state, [offered.name for offered in later.offered]) == ("changed", ["now"])
    assert [offered.name for offered in later.accept().offered] == ["now", "zone", "more"]
    assert later.tools_sha256 != first.tools_sha256
    # As it was accepted once: on again without a word.
    assert later.listed([tool("now"), tool("zone")]).state == "ready"


def test_a_change_behind_the_cut_of_a_description_is_a_change() -> None:
    one, two = tool("now", "x" * 2000), tool("now", "x" * 1999 + "y")

    assert one.description == two.description == "x" * 1000
    assert one.sha256 != two.sha256


def test_the_definitions_of_a_servers_tools_are_bounded_together() -> None:
    schema = {"type": "object", "description": "x" * 50_000}
    tools = [make_tool(name, "", schema, {}) for name in ("one", "two", "three")]
    server = SERVER.listed([*tools, tool("small")], accept=True)

    assert (server.state, [offered.name for offered in server.offered]) == ("ready", ["one", "two", "small"])
    assert server.error == (
        "Some tools are left out, since the definitions of a server's tools have at most 128 kB together: three."
    )


@pytest.mark.parametrize("name", ["Authorization", "Cookie", "X-API-Key", "token", "access_token", "client-secret"])
def test_a_header_of_this_name_holds_a_secret(name: str) -> None:
    assert names_a_secret(name)


@pytest.mark.parametrize("name", ["X-Author", "keyword", "Accept-Language", "X-Team"])
def test_a_header_of_this_name_holds_none(name: str) -> None:
    assert not names_a_secret(name)


def test_a_tool_is_repeatable_only_by_its_hints() -> None:
    assert tool("a", readOnlyHint=True).repeatable
    assert tool("a", idempotentHint=True).repeatable
    assert not tool("a", destructiveHint=False).repeatable


def test_the_third_failed_start_in_a_row_leaves_the_tools_out() -> None:
    ready = SERVER.listed([tool("now")], accept=True)
    second = ready.did_not_start("no").did_not_start("no")

    assert (second.state, len(second.offered)) == ("ready", 1)
    assert (second.did_not_start("no").state, second.did_not_start("no").offered) == ("failing", ())
    assert second.listed([tool("now")]).did_not_start("no").state == "ready"


@pytest.mark.parametrize(("policy", "offered"), [("allow", ["now"]), ("ask", ["now"]), ("deny", [])])
def test_tools_that_are_not_denied_are_offered(policy: str, offered: list[str]) -> None:
    ready = SERVER.listed([tool("now")], accept=True)

    assert [tool.name for tool in McpServer(**{**vars(ready), "policy": policy}).offered] == offered


def test_names_are_of_64_plain_characters_and_never_those_of_built_in_tools() -> None:
    assert tool_name("time", "now") == "time_now"
    for name in (
        tool_name("time", "x" * 100),
        tool_name("time", "é.ü"),
        tool_name("read", "file", taken=["read_file"]),
    ):
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name)
    assert tool_name("read", "file", taken=["read_file"]).startswith("read_file_")
    assert tool_name("time", "a.b") != tool_name("time", "a_b")
    assert tool_name("time", "x" * 100) != tool_name("time", "x" * 101)


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "HOME",
        "LD_PRELOAD",
        "DYLD_X",
        "PYTHONPATH",
        "NODE_OPTIONS",
        "BASH_ENV",
        "ENV",
        "PERL5LIB",
        "http_proxy",
        "a b",
    ],
)
def test_variables_that_load_other_code_are_refused(name: str) -> None:
    with pytest.raises(Invalid):
        check_env_name(name)
    check_env_name("GITHUB_TOKEN")


@pytest.mark.parametrize("command", ["uvx", "npx", "/usr/bin/npx", "docker"])
def test_commands_that_fetch_a_package_are_refused_with_what_to_do(command: str) -> None:
    with pytest.raises(Invalid, match="its tool install_packages"):
        check_command(command, ["--from", "x", "y"])
    check_command("python3", ["npx"])
