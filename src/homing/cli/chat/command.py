"""The command `homing chat`."""

import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Annotated

import typer

from homing.cli.completion import agents, sessions
from homing.cli.connection import CLI, Connection, running_server
from homing.cli.lookup import find_agent, session_to_write_to
from homing.cli.output import Screen
from homing.cli.problems import Problem, refused
from homing.client.home import known_token
from homing.client.remote import Client
from homing.model.agents import MAIN
from homing.model.contract import Json
from homing.settings import load


def chat(
    session: Annotated[
        str | None, typer.Argument(metavar="SESSION", help="A key or a title; else cli:main.", autocompletion=sessions)
    ] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", help="Who answers; without SESSION, in cli:AGENT.", autocompletion=agents)
    ] = None,
) -> None:
    """Chat with your agent in the terminal. Without a running server, everything runs in this process meanwhile."""
    settings = load()
    with ExitStack() as held:
        server = running_server(settings)
        if server is None:
            from homing.cli.process import own_server

            server = Client(held.enter_context(own_server(settings)), known_token(settings), user_agent=CLI)
        held.callback(server.close)
        connection = Connection(settings=settings, server=server, screen=Screen(as_json=False))
        found, missing = _find(connection, session, agent)

        def opened() -> Json:
            return found or server.ask("add_session", **missing)

        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            from homing.cli.chat.talk import talk_plainly

            talk_plainly(server, opened)
            return
        _talk(server, opened(), settings.home)


def _find(connection: Connection, named: str | None, agent: str | None) -> tuple[Json | None, Json]:
    """Find a session, or say how it is made; a named agent must be the one that answers there."""
    server = connection.server
    agent_id = None if agent is None else find_agent(server, agent)["id"]
    key = f"cli:{agent_id}" if agent_id and named is None else session_to_write_to(connection, named)
    try:
        found = server.ask("get_session", session_key=key)
    except Problem as problem:
        if problem.code != "not_found":
            raise
        return None, {"key": key, "agent_id": agent_id}
    if agent_id not in (None, found["agent_id"]):
        raise refused(
            f"In {key} it is {found['agent_id']} who answers.",
            hint=f"To change that: homing sessions update {key} --agent {agent_id}",
        )
    return found, {}


def _who(server: Client, session: Json) -> str:
    agent = server.ask("get_agent", agent_id=session["agent_id"])
    return agent["model_in_effect"] if agent["id"] == MAIN else f"{agent['name']} · {agent['model_in_effect']}"


def _talk(server: Client, session: Json, home: Path) -> None:
    from rich.text import Text

    from homing.cli.chat.paper import Paper
    from homing.cli.chat.stream import Stream
    from homing.cli.chat.talk import COMMANDS, Talk
    from homing.cli.widgets import QUIET

    status = server.ask("get_status")
    paper = Paper(session["timezone"], history=home / "chat_history", words=COMMANDS)
    title = f" · {session['title']}" if session["title"] else ""
    paper.say(Text.assemble(("Homing", "bold"), (f" · {session['key']}{title} · {_who(server, session)}", QUIET)))
    if status["model"]["offline"]:
        paper.say(Text(status["model"]["why"], style=QUIET))
    paper.say(Text("Ctrl-C stops an answer; twice, or Ctrl-D, leaves. /help\n", style=QUIET))
    with suppress(EOFError):
        Talk(server, Stream(server, session["key"]), session, paper).run()
