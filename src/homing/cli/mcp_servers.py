"""`mcp-servers list`, `add`, `update`, `test`, `accept`, `remove`."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

import typer

from homing.cli.connection import AsJson, Connection, connected
from homing.cli.lookup import find_agent
from homing.cli.problems import refused
from homing.cli.resources import Resource, show_all
from homing.model.contract import Json

OfAgent = Annotated[str, typer.Option("--agent", metavar="AGENT", help="An id, a beginning of one, or a name.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="What the server is called.")]
Env = Annotated[
    list[str] | None,
    typer.Option("--env", metavar="NAME=VALUE", help="A variable for the program; NAME=secret:NAME gives it a secret."),
]
Header = Annotated[
    list[str] | None,
    typer.Option("--header", metavar="NAME=VALUE", help="A header for a server over HTTP; NAME=secret:NAME likewise."),
]
Host = Annotated[list[str] | None, typer.Option("--host", help="A host that the program may reach.")]
Policy = Annotated[str | None, typer.Option(help="allow, ask or deny; tools that ask are not offered yet.")]
Url = Annotated[str | None, typer.Option(help="The address of a server over HTTP.")]

_SERVERS = Resource(
    noun="MCP server",
    prefix="",
    none="No MCP servers. Add one: homing mcp-servers add NAME COMMAND…",
    columns={
        "name": "name",
        "state": "state",
        "policy": "policy",
        "tools": lambda one: _counted(one["tools"]),
        "runs": lambda one: one["url"] or " ".join([one["command"], *one["args"]]),
        "error": "error",
    },
    gives=("error", "runs"),
    fold=True,
)


def list_servers(agent: OfAgent = "main", as_json: AsJson = False) -> None:
    """List an agent's MCP servers."""
    with connected(as_json) as connection:
        found = connection.server.ask("list_mcp_servers", agent_id=_agent(connection, agent))
        show_all(connection, _SERVERS, found["items"])


def add(
    name: Name,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND…", help="The program and its arguments; write -- before it.")
    ] = None,
    url: Url = None,
    env: Env = None,
    header: Header = None,
    host: Host = None,
    policy: Policy = None,
    agent: OfAgent = "main",
    as_json: AsJson = False,
) -> None:
    """Give an agent an MCP server: `homing mcp-servers add time -- /opt/time/bin/mcp-server-time`."""
    body = {**_start(command, url), **_given(env, header, host, policy)}
    with connected(as_json) as connection:
        made = connection.server.ask("add_mcp_server", agent_id=_agent(connection, agent), name=name, **body)
        connection.screen.show(made, partial(_told, f"Added {name}.", made))


def update(
    name: Name,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND…", help="Another program; write -- before it.")
    ] = None,
    url: Url = None,
    env: Env = None,
    header: Header = None,
    host: Host = None,
    policy: Policy = None,
    tool: Annotated[
        list[str] | None, typer.Option("--tool", metavar="NAME=POLICY", help="The policy of one tool; '' the server's.")
    ] = None,
    on: Annotated[bool | None, typer.Option("--on/--off", help="Switch it on or off.")] = None,
    revision: Annotated[int | None, typer.Option(help="Only if it is still at this revision.")] = None,
    agent: OfAgent = "main",
    as_json: AsJson = False,
) -> None:
    """Change an MCP server; --env, --header and --host replace all of the old ones."""
    body = {**_start(command, url), **_given(env, header, host, policy)}
    if tool:
        body["tool_policies"] = {one: policy or None for one, policy in _pairs(tool, "--tool").items()}
    if on is not None:
        body["enabled"] = on
    if not body:
        raise refused("Say what to change, for example --policy or --off.", hint="homing mcp-servers update --help")
    if revision is not None:
        body["revision"] = revision
    with connected(as_json) as connection:
        changed = connection.server.ask("update_mcp_server", agent_id=_agent(connection, agent), name=name, **body)
        connection.screen.show(changed, partial(_told, f"Changed {name}.", changed))


def send_test(name: Name, agent: OfAgent = "main", as_json: AsJson = False) -> None:
    """Start an MCP server once, and show its tools or why it does not start."""
    with connected(as_json) as connection:
        tested = connection.server.ask("test_mcp_server", agent_id=_agent(connection, agent), name=name)
        connection.screen.show(tested, partial(_told, f"{name} was tried.", {"name": name, "policy": "", **tested}))
        if tested["error"]:
            raise typer.Exit(1)


def accept(
    name: Name,
    tools_sha256: Annotated[
        str | None, typer.Option("--tools-sha256", help="What you looked at; else the tools as they are now.")
    ] = None,
    agent: OfAgent = "main",
    as_json: AsJson = False,
) -> None:
    """Accept the tools of an MCP server as they are: new and changed ones are on from now on."""
    with connected(as_json) as connection:
        agent_id = _agent(connection, agent)
        servers = connection.server.ask("list_mcp_servers", agent_id=agent_id)["items"]
        known = next((one for one in servers if one["name"] == name), None)
        seen = tools_sha256 or (known["tools_sha256"] if known else "none")
        before = [tool["name"] for tool in known["tools"] if not tool["accepted"]] if known else []
        accepted = connection.server.ask("accept_mcp_tools", agent_id=agent_id, name=name, tools_sha256=seen)
        told = f"Accepted of {name}: {', '.join(before)}." if before else f"Every tool of {name} was accepted already."
        connection.screen.show(accepted, partial(_told, told, accepted))


def remove(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Which servers.")],
    agent: OfAgent = "main",
    as_json: AsJson = False,
) -> None:
    """Take MCP servers from an agent."""
    with connected(as_json) as connection:
        agent_id = _agent(connection, agent)
        for name in names:
            gone = connection.server.ask("remove_mcp_server", agent_id=agent_id, name=name)
            connection.screen.show(gone, partial("Removed {name} from {agent_id}.".format, **gone))


def _agent(connection: Connection, said: str) -> str:
    return find_agent(connection.server, said)["id"]


def _start(command: Sequence[str] | None, url: str | None) -> Json:
    body: Json = {"command": command[0], "args": list(command[1:])} if command else {}
    return body | ({"url": url} if url is not None else {})


def _given(
    env: Sequence[str] | None, header: Sequence[str] | None, host: Sequence[str] | None, policy: str | None
) -> Json:
    body: Json = {}
    for field, given in (("env", env), ("headers", header)):
        if given:
            pairs = _pairs(given, f"--{field.removesuffix('s')}")
            body[field] = {name: _value(value) for name, value in pairs.items()}
    if host:
        body["hosts"] = list(host)
    return body | ({"policy": policy or None} if policy is not None else {})


def _value(text: str) -> Any:
    return {"secret": text.removeprefix("secret:")} if text.startswith("secret:") else text


def _pairs(given: Sequence[str], option: str) -> dict[str, str]:
    pairs = [one.partition("=") for one in given]
    if wrong := next((name for name, equals, _ in pairs if not equals), None):
        raise refused(f"{option} is written NAME=VALUE, not {wrong}.")
    return {name: value for name, _, value in pairs}


def _counted(tools: Sequence[Json]) -> str:
    waiting = sum(not tool["accepted"] for tool in tools)
    return f"{len(tools)}, {waiting} to accept" if waiting else str(len(tools))


def _told(first: str, server: Json) -> str:
    lines = [first, f"State: {server['state']}"]
    if server["error"]:
        lines.append(f"Error: {server['error']}")
    lines += [f"  {_sign(tool)} {tool['name']}" for tool in server["tools"]]
    if any(not tool["accepted"] for tool in server["tools"]):
        lines.append(f"Tools with + are new or changed, and off: homing mcp-servers accept {server['name']}")
    if server["policy"] == "ask":
        lines.append(
            "Its policy is ask: its tools are not offered yet. To offer them without a question: --policy allow"
        )
    return "\n".join(lines)


def _sign(tool: Json) -> str:
    return "-" if tool["accepted"] else "+"
