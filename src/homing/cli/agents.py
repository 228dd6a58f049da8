"""`agents list`, `get`, `add`, `update`, `remove`."""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from homing.cli.completion import agents as completed
from homing.cli.connection import AsJson, Connection, connected
from homing.cli.lookup import find_agent
from homing.cli.problems import Problem, refused
from homing.cli.resources import Resource, show_all
from homing.model.agents import BUILT_IN, MAIN, id_from_name
from homing.model.contract import Json
from homing.model.packages import npm_name_in, pip_name

_LISTS = {"hosts": "host", "secrets": "secret", "guest_tools": "guest-tool"}

AgentSaid = Annotated[
    str, typer.Argument(metavar="AGENT", help="An id, a beginning of one, or a name.", autocompletion=completed)
]
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
    typer.Option(
        "--tool",
        metavar="NAME[=allow|ask|deny]",
        help="What it may do with a tool; may be given several times.",
    ),
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
_BEAT = "Its heartbeat"
Minutes = Annotated[
    str | None,
    typer.Option(
        "--heartbeat-minutes",
        rich_help_panel=_BEAT,
        help="How often it looks around by itself; 0 is never, '' uses the server's setting.",
    ),
]
Checklist = Annotated[
    str | None,
    typer.Option(
        "--checklist",
        metavar="TEXT|@FILE|-",
        rich_help_panel=_BEAT,
        help="What it goes through then, in each user's home; '' takes it away.",
    ),
]
ActiveHours = Annotated[
    str | None,
    typer.Option(rich_help_panel=_BEAT, help="When, such as 08:00-22:00; '' uses the server's setting."),
]
BeatScript = Annotated[
    str | None,
    typer.Option(
        "--heartbeat-script",
        metavar="TEXT|@FILE|-",
        rich_help_panel=_BEAT,
        help="Looks before each beat and says whether the agent is needed; '' takes it away.",
    ),
]
BeatLanguage = Annotated[
    str | None, typer.Option("--heartbeat-script-language", rich_help_panel=_BEAT, help="bash or python.")
]
Pip = Annotated[
    list[str] | None, typer.Option("--pip", metavar="NAME", help="A Python package for its programs: requests>=2.")
]
Npm = Annotated[list[str] | None, typer.Option("--npm", metavar="NAME", help="An npm package for its programs.")]


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
    minutes: Minutes = None,
    checklist: Checklist = None,
    active_hours: ActiveHours = None,
    script: BeatScript = None,
    script_language: BeatLanguage = None,
    pip: Pip = None,
    npm: Npm = None,
    as_json: AsJson = False,
) -> None:
    """Make an agent: `homing agents add Research --instructions @research.md --host example.org`."""
    texts = _texts(model, thinking, instructions)
    lists = {"hosts": host, "secrets": secret, "guest_tools": guest_tool}
    body = {"name": name, **texts, **{field: given for field, given in lists.items() if given}}
    body |= _beat(minutes, checklist, active_hours, script, script_language)
    if tool or no_tools:
        body["tools"] = _policies({} if no_tools else None, tool or ())
    if agent_id is not None:
        body["id"] = agent_id
    if pip or npm:
        body["packages"] = {"pip": pip or [], "npm": npm or []}
    with connected(as_json) as connection:
        made = connection.server.ask("add_agent", **body)
        ending = f"Talk to it: homing chat {made['id']} --agent {made['id']}"
        usual = id_from_name(name)
        taken = () if body.get("id") or made["id"] == usual else (f"The id {usual} is taken, so it is {made['id']}.",)
        connection.screen.show(
            made, lambda: _told(made, f"Added {made['name']} ({made['id']}).", *taken, *_building(made), ending)
        )


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
    minutes: Minutes = None,
    checklist: Checklist = None,
    active_hours: ActiveHours = None,
    script: BeatScript = None,
    script_language: BeatLanguage = None,
    pip: Pip = None,
    no_pip: Annotated[list[str] | None, typer.Option("--no-pip", help="Take a Python package away.")] = None,
    npm: Npm = None,
    no_npm: Annotated[list[str] | None, typer.Option("--no-npm", help="Take an npm package away.")] = None,
    revision: Annotated[int | None, typer.Option(help="Only if it is still at this revision.")] = None,
    as_json: AsJson = False,
) -> None:
    """Change an agent; '' restores a default. `homing agents update main --tool run_command=deny`."""
    if default_tools and (tool or no_tools):
        raise refused("--default-tools cannot be combined with --tool or --no-tools.")
    body = _texts(model, thinking, instructions) | ({} if name is None else {"name": name or None})
    body |= _beat(minutes, checklist, active_hours, script, script_language)
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
        if pip or npm or no_pip or no_npm:
            now = known.get("packages", {})
            body["packages"] = {
                "pip": _packages_wanted(now.get("pip", ()), pip, no_pip, pip_name, strangers),
                "npm": _packages_wanted(now.get("npm", ()), npm, no_npm, npm_name_in, strangers),
            }
        if not body:
            raise refused(
                "Say what to change, for example --instructions or --tool.", hint="homing agents update --help"
            )
        body["revision"] = known["revision"] if revision is None else revision
        changed = connection.server.ask("update_agent", agent_id=known["id"], **body)
        told = f"Changed {changed['name']} ({changed['id']}): revision {changed['revision']}."
        connection.screen.show(changed, lambda: _told(changed, told, *strangers, *_building(changed)))


def remove(
    ids: Annotated[
        list[str],
        typer.Argument(metavar="AGENT...", help="Ids, beginnings of them, or names.", autocompletion=completed),
    ],
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


def _beat(
    minutes: str | None,
    checklist: str | None,
    active_hours: str | None,
    script: str | None,
    script_language: str | None,
) -> Json:
    if minutes and not minutes.strip().isdecimal():
        raise refused(
            f"--heartbeat-minutes is a whole number of minutes, or '' for the server's setting, not {minutes}."
        )
    given = {
        "minutes": int(minutes) if minutes else minutes,
        "checklist": _read(checklist),
        "active_hours": active_hours,
        "script": _read(script),
        "script_language": script_language,
    }
    fields = {field: None if value == "" else value for field, value in given.items() if value is not None}
    return {"heartbeat": fields} if fields else {}


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
            raise refused(f"--tool is written NAME, NAME=allow, NAME=ask or NAME=deny, not {one}.")
        policies[name.strip()] = policy.strip() if equals else "allow"
    return policies


def _packages_wanted(
    now: Sequence[str],
    more: Sequence[str] | None,
    fewer: Sequence[str] | None,
    name_of: Callable[[str], str],
    strangers: list[str],
) -> list[str]:
    """Put what was given over what an agent has: a package that it has is wanted as it was said last."""
    wanted = {name_of(one): one for one in (*now, *(more or ()))}
    less = {name_of(one): one for one in fewer or ()}
    strangers += [f"Note: {one} was not among its packages." for name, one in less.items() if name not in wanted]
    return [one for name, one in wanted.items() if name not in less]


def _building(agent: Json) -> list[str]:
    environment = agent.get("environment", {})
    if environment.get("state") != "building":
        return []
    return [f"Its packages are being installed. How it goes: homing approvals get {environment['approval_id']}"]


def _told(agent: Json, *sentences: str) -> str:
    return "\n".join([*sentences, *(f"Note: {warning}" for warning in agent.get("warnings", ()))])


def _card(agent: Json) -> Any:
    from rich.console import Group
    from rich.text import Text

    from homing.cli import widgets

    tools = agent["tools_in_effect"]
    facts = [
        ("Id", agent["id"]),
        ("Model", agent["model"] or f"{agent['model_in_effect']} (the server's)"),
        ("Thinking", agent["thinking"]),
        ("Tools", _names(tools, "offered") + (" (defaults)" if agent["tools"] is None else "")),
        ("Asks first", ", ".join(tool["name"] for tool in tools if tool["policy"] == "ask") or None),
        ("Denied", _names(tools, "denied") or None),
        *((tool["name"], tool["why"]) for tool in tools if tool["state"] == "unavailable"),
        ("Hosts", ", ".join(agent.get("hosts", ())) or None),
        ("Granted hosts", ", ".join(agent.get("granted_hosts", ())) or None),
        ("Packages", _packages(agent)),
        ("Secrets", ", ".join(agent.get("secrets", ())) or None),
        ("For guests", ", ".join(agent["guest_tools"]) or None),
        ("Servers", ", ".join(map(_server, agent["mcp_servers"])) or None),
        *_beat_facts(agent.get("heartbeat", {})),
        ("Revision", str(agent["revision"])),
    ]
    told = agent.get("instructions")
    return Group(Text(agent["name"], style="bold"), widgets.facts(facts), *([Text(f"\n{told}")] if told else []))


def _beat_facts(beat: Json) -> list[tuple[str, str | None]]:
    minutes = beat.get("minutes")
    often = "never" if minutes == 0 else f"every {minutes} minutes" if minutes is not None else None
    told = [often, beat.get("active_hours"), "after a script" if beat.get("script") else None]
    return [("Heartbeat", ", ".join(filter(None, told)) or None), ("Checklist", beat.get("checklist"))]


def _packages(agent: Json) -> str | None:
    names, state = agent.get("packages", {}), agent.get("environment", {}).get("state", "none")
    listed = ", ".join([*names.get("pip", ()), *(f"{name} (npm)" for name in names.get("npm", ()))])
    more = {"building": " (others are being installed)", "failed": " (the last installation failed)"}.get(state, "")
    return f"{listed or 'none'}{more}" if listed or more else None


def _server(server: Json) -> str:
    from homing.cli.mcp_servers import state_words

    tools, offered = server["tools"], server["offered"]
    counted = f"{tools} tools" if offered == tools else f"{offered} of {tools} tools offered"
    return f"{server['name']} ({state_words(server['state'], server['policy'], offered)}, {counted})"


def _names(tools: Sequence[Json], state: str) -> str:
    return ", ".join(tool["name"] for tool in tools if tool["state"] == state)
