"""`agents list`, `get`, `add`, `update`, `remove`."""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from homing.cli.connection import AsJson, Connection, connected
from homing.cli.lookup import find_agent
from homing.cli.problems import Problem, refused
from homing.cli.resources import Resource, show_all
from homing.model.agents import BUILT_IN, MAIN, id_from_name
from homing.model.contract import Json

_LISTS = {"hosts": "host", "secrets": "secret", "guest_tools": "guest-tool"}

AgentSaid = Annotated[str, typer.Argument(metavar="AGENT", help="An id, a beginning of one, or a name.")]
Model = Annotated[str | None, typer.Option(help="Such as openai-chat:gpt-5; '' is the server's.")]
Thinking = Annotated[
    str | None, typer.Option(help="off, on, minimal, low, medium, high, xhigh or max; '' uses the model's default.")
]
Instructions = Annotated[
    str | None,
    typer.Option(metavar="TEXT|@FILE|-", help="What it is told before every turn; - reads stdin; '' is our default."),
]
Tool = Annotated[
    list[str] | None,
    typer.Option("--tool", metavar="NAME[=allow|deny]", help="Allow or deny a tool; may be given several times."),
]
DefaultTools = Annotated[bool, typer.Option("--default-tools", help="This version's defaults, now and after updates.")]
NoTools = Annotated[bool, typer.Option("--no-tools", help="Begin with none, then add those of --tool.")]
Host = Annotated[
    list[str] | None,
    typer.Option("--host", help="A host that its programs may reach: example.org, *.example.org, 127.0.0.1:8080."),
]
Secret = Annotated[
    list[str] | None, typer.Option("--secret", metavar="NAME", help="A secret, by name, that its servers may get.")
]
GuestTool = Annotated[
    list[str] | None, typer.Option("--guest-tool", metavar="NAME", help="A tool that also works for guests.")
]


def _tools_cell(agent: Json) -> str:
    offered = [tool["name"] for tool in agent["tools_in_effect"] if tool["state"] == "offered"]
    return f"{len(offered)} (defaults)" if agent["tools"] is None else ", ".join(offered) or "none"


_AGENTS = Resource(
    noun="agent",
    prefix="",
    none="No agents.",
    columns={
        "id": "id",
        "name": "name",
        "model": lambda agent: agent["model"] or f"{agent['model_in_effect']} (the server's)",
        "tools": _tools_cell,
    },
    gives=("tools", "model", "name"),
    fold=True,
)


def list_agents(as_json: AsJson = False) -> None:
    """List the agents."""
    with connected(as_json) as connection:
        show_all(connection, _AGENTS, connection.server.pages("list_agents"))


def get(agent: AgentSaid, as_json: AsJson = False) -> None:
    """Show an agent: its model, its tools and why one does not work here, its instructions."""
    with connected(as_json) as connection:
        found = connection.server.ask("get_agent", agent_id=find_agent(connection.server, agent)["id"])
        connection.screen.show(found, partial(_card, found))


def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is called.")],
    agent_id: Annotated[str | None, typer.Option("--id", help="Small letters, digits, -; else from its name.")] = None,
    model: Model = None,
    thinking: Thinking = None,
    instructions: Instructions = None,
    tool: Tool = None,
    no_tools: NoTools = False,
    host: Host = None,
    secret: Secret = None,
    guest_tool: GuestTool = None,
    as_json: AsJson = False,
) -> None:
    """Make an agent: `homing agents add Research --instructions @research.md --host example.org`."""
    texts = _texts(model, thinking, instructions)
    lists = {"hosts": host, "secrets": secret, "guest_tools": guest_tool}
    body = {"name": name, **texts, **{field: given for field, given in lists.items() if given}}
    if tool or no_tools:
        body["tools"] = _policies({} if no_tools else None, tool or ())
    if agent_id is not None:
        body["id"] = agent_id
    with connected(as_json) as connection:
        made = connection.server.ask("add_agent", **body)
        ending = f"Talk to it: homing chat {made['id']} --agent {made['id']}"
        usual = id_from_name(name)
        taken = () if body.get("id") or made["id"] == usual else (f"The id {usual} is taken, so it is {made['id']}.",)
        connection.screen.show(made, lambda: _told(made, f"Added {made['name']} ({made['id']}).", *taken, ending))


def update(
    agent: AgentSaid,
    name: Annotated[str | None, typer.Option("-n", "--name", help="What it is called.")] = None,
    model: Model = None,
    thinking: Thinking = None,
    instructions: Instructions = None,
    tool: Tool = None,
    no_tools: NoTools = False,
    default_tools: DefaultTools = False,
    host: Host = None,
    no_host: Annotated[list[str] | None, typer.Option("--no-host", help="Take a host away.")] = None,
    secret: Secret = None,
    no_secret: Annotated[list[str] | None, typer.Option("--no-secret", help="Take a secret away.")] = None,
    guest_tool: GuestTool = None,
    no_guest_tool: Annotated[list[str] | None, typer.Option("--no-guest-tool", help="Take a tool away.")] = None,
    revision: Annotated[int | None, typer.Option(help="Only if it is still at this revision.")] = None,
    as_json: AsJson = False,
) -> None:
    """Change an agent; '' restores a default. `homing agents update main --tool run_command=deny`."""
    if default_tools and (tool or no_tools):
        raise refused("--default-tools cannot be combined with --tool or --no-tools.")
    body = _texts(model, thinking, instructions) | ({} if name is None else {"name": name or None})
    more = {"hosts": host, "secrets": secret, "guest_tools": guest_tool}
    fewer = {"hosts": no_host, "secrets": no_secret, "guest_tools": no_guest_tool}
    with connected(as_json) as connection:
        known = connection.server.ask("get_agent", agent_id=find_agent(connection.server, agent)["id"])
        if default_tools:
            body["tools"] = None
        elif tool or no_tools:
            body["tools"] = _policies({} if no_tools else known["tools"], tool or ())
        strangers: list[str] = []
        for field, noun in _LISTS.items():
            if more[field] or fewer[field]:
                wanted = dict.fromkeys([*known.get(field, ()), *(more[field] or ())])
                less = [one.lower() if field == "hosts" else one for one in fewer[field] or ()]
                strangers += [f"Note: {one} was not among its {noun}s." for one in less if one not in wanted]
                body[field] = [one for one in wanted if one not in less]
        if not body:
            raise refused(
                "Say what to change, for example --instructions or --tool.", hint="homing agents update --help"
            )
        body["revision"] = known["revision"] if revision is None else revision
        changed = connection.server.ask("update_agent", agent_id=known["id"], **body)
        told = f"Changed {changed['name']} ({changed['id']}): revision {changed['revision']}."
        connection.screen.show(changed, lambda: _told(changed, told, *strangers))


def remove(
    ids: Annotated[list[str], typer.Argument(metavar="AGENT...", help="Ids, beginnings of them, or names.")],
    as_json: AsJson = False,
) -> None:
    """Remove agents that no conversation uses."""
    with connected(as_json) as connection:
        for agent in [find_agent(connection.server, given) for given in ids]:
            gone = _removed(connection, agent["id"])
            connection.screen.show(gone, partial("Removed {name} ({id}).".format, **agent))


def _removed(connection: Connection, agent_id: str) -> Json:
    try:
        return connection.server.ask("remove_agent", agent_id=agent_id)
    except Problem as problem:
        if problem.body.get("conversations"):
            problem.hint = f"To give one another agent: homing sessions update SESSION --agent {MAIN}"
        raise


def _texts(model: str | None, thinking: str | None, instructions: str | None) -> Json:
    given = {"model": model, "thinking": thinking, "instructions": _read(instructions)}
    return {field: text or None for field, text in given.items() if text is not None}


def _read(given: str | None) -> str | None:
    if given == "-":
        return sys.stdin.read()
    if given is None or not given.startswith("@"):
        return given
    try:
        return Path(given[1:]).read_text("utf-8")
    except UnicodeDecodeError:
        raise refused(f"{given[1:]} is not UTF-8 text.") from None
    except OSError as error:
        raise refused(f"{given[1:]} cannot be read: {error.strerror}.") from None


def _policies(known: Json | None, given: Sequence[str]) -> Json:
    """Put what was given over what an agent has, which may be the defaults."""
    defaults = {name: tool.default for name, tool in BUILT_IN.items() if tool.default != "deny"}
    policies: Json = dict(defaults if known is None else known)
    for one in given:
        name, equals, policy = one.partition("=")
        if equals and policy.strip() not in ("allow", "ask", "deny"):
            raise refused(f"--tool is written NAME, NAME=allow or NAME=deny, not {one}.")
        policies[name.strip()] = policy.strip() if equals else "allow"
    return policies


def _told(agent: Json, *sentences: str) -> str:
    return "\n".join([*sentences, *(f"Note: {warning}" for warning in agent.get("warnings", ()))])


def _card(agent: Json) -> Any:
    from rich.console import Group
    from rich.text import Text

    from homing.cli import widgets

    tools = agent["tools_in_effect"]
    beat = {name: value for name, value in agent.get("heartbeat", {}).items() if value is not None}
    facts = [
        ("Id", agent["id"]),
        ("Model", agent["model"] or f"{agent['model_in_effect']} (the server's)"),
        ("Thinking", agent["thinking"]),
        ("Tools", _names(tools, "offered") + (" (defaults)" if agent["tools"] is None else "")),
        ("Denied", _names(tools, "denied") or None),
        *((tool["name"], tool["why"]) for tool in tools if tool["state"] == "unavailable"),
        ("Hosts", ", ".join(agent.get("hosts", ())) or None),
        ("Secrets", ", ".join(agent.get("secrets", ())) or None),
        ("For guests", ", ".join(agent["guest_tools"]) or None),
        ("Servers", ", ".join(map(_server, agent["mcp_servers"])) or None),
        ("Heartbeat", ", ".join(f"{name} {value}" for name, value in beat.items()) or None),
        ("Revision", str(agent["revision"])),
    ]
    told = agent.get("instructions")
    return Group(Text(agent["name"], style="bold"), widgets.facts(facts), *([Text(f"\n{told}")] if told else []))


def _server(server: Json) -> str:
    from homing.cli.mcp_servers import state_words

    tools, offered = server["tools"], server["offered"]
    counted = f"{tools} tools" if offered == tools else f"{offered} of {tools} tools offered"
    return f"{server['name']} ({state_words(server['state'], server['policy'], offered)}, {counted})"


def _names(tools: Sequence[Json], state: str) -> str:
    return ", ".join(tool["name"] for tool in tools if tool["state"] == state)
