"""`mcp-servers list`, `get`, `add`, `update`, `test`, `accept`, `remove`."""

import re
import sys
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

import typer

from homing.cli.connection import AsJson, Connection, connected
from homing.cli.format import away, instant, now
from homing.cli.lookup import find_agent
from homing.cli.output import note
from homing.cli.problems import FAILED, refused
from homing.cli.resources import Resource, show_all
from homing.cli.visible import json_text
from homing.model.agents import MAIN
from homing.model.contract import Json
from homing.model.mcp_servers import is_secret_name

_LONGEST_SHOWN = 2000
_INTERPRETER = re.compile(r"(python|node|bash|sh|ruby|perl|deno|bun)[0-9.]*")
_SCRIPT = re.compile(r"\.(py|[cm]?js|ts|sh|rb|pl)$")

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
Policy = Annotated[str | None, typer.Option(help="allow, ask (a person approves each call) or deny.")]
Url = Annotated[str | None, typer.Option(help="The address of a server over HTTP.")]

_SERVERS = Resource(
    noun="MCP server",
    prefix="",
    none="No MCP servers. Add one: homing mcp-servers add NAME COMMAND…",
    columns={
        "name": "name",
        "state": lambda one: state_words(one["state"], one["policy"], _offered(one["tools"])),
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


def get(name: Name, agent: OfAgent = "main", as_json: AsJson = False) -> None:
    """Show an MCP server: what it runs, the names of its variables, its hosts, its error, each tool with its policy."""
    with connected(as_json) as connection:
        [found] = _meant(connection, _agent(connection, agent), [name])
        connection.screen.show(found, partial(_card, found))


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
        _end(made)


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
        body["tool_policies"] = {one: policy or None for one, policy in _tool_policies(tool).items()}
    if on is not None:
        body["enabled"] = on
    if not body:
        raise refused("Say what to change, for example --policy or --off.", hint="homing mcp-servers update --help")
    if revision is not None:
        body["revision"] = revision
    with connected(as_json) as connection:
        changed = connection.server.ask("update_mcp_server", agent_id=_agent(connection, agent), name=name, **body)
        connection.screen.show(changed, partial(_told, f"Changed {name}.", changed))
        _end(changed)


def send_test(name: Name, agent: OfAgent = "main", as_json: AsJson = False) -> None:
    """Start an MCP server once, and show its tools or why it does not start."""
    with connected(as_json) as connection:
        tested = connection.server.ask("test_mcp_server", agent_id=_agent(connection, agent), name=name)
        connection.screen.show(tested, partial(_told, f"{name} was tried.", {"name": name, "policy": "", **tested}))
        _end(tested)


def accept(
    name: Name,
    tools_sha256: Annotated[
        str | None, typer.Option("--tools-sha256", help="What you looked at; else the tools as they are now.")
    ] = None,
    agent: OfAgent = "main",
    as_json: AsJson = False,
) -> None:
    """Show the new and changed tools of an MCP server and accept them; a terminal is asked first."""
    with connected(as_json) as connection:
        agent_id = _agent(connection, agent)
        servers = connection.server.ask("list_mcp_servers", agent_id=agent_id)["items"]
        known = next((one for one in servers if one["name"] == name), None)
        seen = tools_sha256 or (known["tools_sha256"] if known else "none")
        waiting = [tool for tool in known["tools"] if not tool["accepted"]] if known else []
        before = [tool["name"] for tool in waiting]
        for tool in waiting:
            note(_definition(tool))
        asks = bool(waiting) and not as_json and sys.stdin.isatty() and sys.stderr.isatty()
        if asks and not typer.confirm("Accept them?", err=True):
            raise refused("Nothing was accepted.", code="asked")
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
        for name in [one["name"] for one in _meant(connection, agent_id, names)]:
            gone = connection.server.ask("remove_mcp_server", agent_id=agent_id, name=name)
            connection.screen.show(gone, partial("Removed {name} from {agent_id}.".format, **gone))


def _agent(connection: Connection, said: str) -> str:
    return find_agent(connection.server, said)["id"]


def _meant(connection: Connection, agent_id: str, names: Sequence[str]) -> list[Json]:
    """Find all of them before anything is done to the first."""
    servers = {one["name"]: one for one in connection.server.ask("list_mcp_servers", agent_id=agent_id)["items"]}
    if missing := next((name for name in names if name not in servers), None):
        hint = f"`homing mcp-servers list --agent {agent_id}` shows them."
        raise refused(f"The agent {agent_id} has no MCP server {missing}.", code="not_found", hint=hint)
    return [servers[name] for name in dict.fromkeys(names)]


def _end(server: Json) -> None:
    """Tell scripts that a server did not start."""
    if server["error"]:
        raise typer.Exit(FAILED)


def _start(command: Sequence[str] | None, url: str | None) -> Json:
    body: Json = {"command": command[0], "args": list(command[1:])} if command else {}
    return body | ({"url": url} if url is not None else {})


def _given(
    env: Sequence[str] | None, header: Sequence[str] | None, host: Sequence[str] | None, policy: str | None
) -> Json:
    body: Json = {}
    for field, given in (("env", env), ("headers", header)):
        if given:
            option = f"--{field.removesuffix('s')}"
            body[field] = {name: _value(option, name, value) for name, value in _pairs(given, option).items()}
    if host:
        body["hosts"] = list(host)
    return body | ({"policy": policy or None} if policy is not None else {})


def _value(option: str, name: str, text: str) -> Any:
    if not text.startswith("secret:"):
        return text
    secret = text.removeprefix("secret:")
    if not is_secret_name(secret):
        raise refused(
            f"{secret or 'An empty text'} is not the name of a secret: write capital letters, digits and _, for example"
            f" {option} {name}=secret:TRACKER_KEY. Its value stays on the server."
        )
    return {"secret": secret}


def _tool_policies(given: Sequence[str]) -> dict[str, str]:
    policies = _pairs(given, "--tool")
    if wrong := next((one for one in policies.items() if one[1] not in ("allow", "ask", "deny", "")), None):
        raise refused(f"--tool is written NAME=allow, NAME=deny or NAME= (the server's policy), not {'='.join(wrong)}.")
    return policies


def _pairs(given: Sequence[str], option: str) -> dict[str, str]:
    pairs = [one.partition("=") for one in given]
    if wrong := next((one for one in pairs if not (one[0] and one[1])), None):
        raise refused(f"{option} is written NAME=VALUE, not {''.join(wrong) or 'nothing'}.")
    return {name: value for name, _, value in pairs}


def _counted(tools: Sequence[Json]) -> str:
    counts = {
        "denied": sum(tool["policy"] == "deny" for tool in tools),
        "asking first": sum(tool["policy"] == "ask" for tool in tools),
        "to accept": sum(not tool["accepted"] for tool in tools),
    }
    return ", ".join([str(len(tools)), *(f"{count} {what}" for what, count in counts.items() if count)])


def _offered(tools: Sequence[Json]) -> int:
    return sum(tool["accepted"] and tool["policy"] != "deny" for tool in tools)


def state_words(state: str, policy: str, offered: int) -> str:
    """Say the state of a server, and why one that is ready offers nothing."""
    if offered or state not in ("ready", "changed"):
        return state
    return f"{state} (denied)" if policy == "deny" else state


def _card(server: Json) -> Any:
    from rich.console import Group
    from rich.text import Text

    from homing.cli import widgets

    facts = [
        ("Agent", server["agent_id"]),
        ("State", state_words(server["state"], server["policy"], _offered(server["tools"]))),
        ("Error", server["error"]),
        ("Next try", server["retry_at"] and away(instant(server["retry_at"]), now())),
        ("Runs", server["url"] or " ".join([server["command"], *server["args"]])),
        ("Env", _names(server["env"])),
        ("Headers", _names(server["headers"])),
        ("Hosts", ", ".join(server["hosts"])),
        ("Policy", server["policy"]),
        ("Tools", _counted(server["tools"])),
        *((tool["name"], _tool_words(tool)) for tool in server["tools"]),
        ("Revision", str(server["revision"])),
    ]
    return Group(Text(server["name"], style="bold"), widgets.facts(facts))


def _names(values: Json) -> str:
    """Name variables or headers; what they hold is not for a screen, except which secret."""
    return ", ".join(
        name if isinstance(held, str) else f"{name}=secret:{held['secret']}" for name, held in values.items()
    )


def _tool_words(tool: Json) -> str:
    accepted = "" if tool["accepted"] else ", to accept"
    return f"{tool['policy']}{accepted}: {tool['description'].strip().partition(chr(10))[0]}".removesuffix(": ")


def _mend(server: Json) -> list[str]:
    """Say what to do about a server that did not start."""
    name = server["name"] if server.get("agent_id", MAIN) == MAIN else f"{server['name']} --agent {server['agent_id']}"
    lines = [
        f"To mend it: homing mcp-servers update {name} … (then it is tried again). Or: homing mcp-servers remove {name}"
    ]
    command = (server.get("command") or "").rpartition("/")[2]
    if _INTERPRETER.fullmatch(command) and any("/" in arg or _SCRIPT.search(arg) for arg in server["args"]):
        lines.append(
            f"Of your files, {command} sees none in the sandbox: name the script itself by its whole path (and make it"
            " executable), or put it into a virtual environment."
        )
    return lines


def _told(first: str, server: Json) -> str:
    lines = [first, f"State: {server['state']}"]
    if server["error"]:
        lines += [f"Error: {server['error']}", *_mend(server)]
    lines += [f"  {_sign(tool)} {tool['name']}{_unless_allowed(tool)}" for tool in server["tools"]]
    if any(not tool["accepted"] for tool in server["tools"]):
        lines.append(f"Tools with + are new or changed, and off: homing mcp-servers accept {server['name']}")
    if server["policy"] == "ask":
        lines.append("Its policy is ask: a person approves each call. To allow them without a question: --policy allow")
    return "\n".join(lines)


def _unless_allowed(tool: Json) -> str:
    return "" if tool["policy"] == "allow" else f" ({tool['policy']})"


def _definition(tool: Json) -> str:
    """Show what would be accepted: the words and the schema that a model is given."""
    schema = json_text(tool["input_schema"])
    return f"{tool['name']} ({tool['change']})\n{_cut(tool['description'].strip())}\n{_cut(schema)}\n"


def _cut(text: str) -> str:
    more = f"… ({len(text)} characters; --json of `homing mcp-servers get` shows all)"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}{more}"


def _sign(tool: Json) -> str:
    return "-" if tool["accepted"] else "+"
