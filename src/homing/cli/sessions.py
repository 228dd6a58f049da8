"""`sessions list`, `get`, `update`, `branch`, `export`, `read`, `test`, `delete`."""

import sys
from functools import partial
from typing import Annotated, Any

import typer

from homing.cli.completion import agents, sessions
from homing.cli.connection import AsJson, Connection, connected
from homing.cli.files import Into, save
from homing.cli.lookup import find_agent, session_key
from homing.cli.output import note
from homing.cli.problems import Problem, refused
from homing.model.agents import MAIN
from homing.model.contract import Json

SessionSaid = Annotated[
    str, typer.Argument(metavar="SESSION", help="A key, a title, or NAME for cli:NAME.", autocompletion=sessions)
]
_LAST_MESSAGES = 10


def list_sessions(
    q: Annotated[str | None, typer.Option(help="Words in its title or key.")] = None,
    channel: Annotated[str | None, typer.Option(help="web, cli, api, cron …")] = None,
    archived: Annotated[bool, typer.Option("--archived", help="Only archived ones.")] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="The most to show.")] = None,
    as_json: AsJson = False,
) -> None:
    """List conversations, the newest first. With --q, archived ones are found too."""
    with connected(as_json) as connection:
        found = connection.server.pages(
            "list_sessions", limit=limit, q=q, channel=channel, archived=True if archived else None
        )

        def drawn(sessions: list[Json]) -> Any:
            from homing.cli.conversations import sessions_table

            return sessions_table(sessions, q, channel, archived or None)

        connection.screen.show_all(found, drawn)


def get(session: SessionSaid, as_json: AsJson = False) -> None:
    """Show a conversation: its open turn, what waits, and the last messages."""
    with connected(as_json) as connection:
        key = session_key(connection, session)
        answer = connection.server.ask("get_session", session_key=key)

        def drawn() -> Any:
            from homing.cli.conversations import session_card

            last = connection.server.ask("list_messages", session_key=key, limit=_LAST_MESSAGES)
            return session_card(answer, last["items"])

        connection.screen.show(answer, drawn)


def update(
    session: SessionSaid,
    address: Annotated[
        list[str] | None, typer.Option("--address", help="Also send its messages there; may be given several times.")
    ] = None,
    no_address: Annotated[list[str] | None, typer.Option("--no-address", help="No longer send them there.")] = None,
    title: Annotated[str | None, typer.Option(help="What it is called.")] = None,
    tz: Annotated[str | None, typer.Option("--tz", help="Its time zone.")] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="The model of this conversation; '' for the agent's.")
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option("--agent", help="Who answers from now on, also its automations.", autocompletion=agents),
    ] = None,
    pinned: Annotated[bool | None, typer.Option("--pin/--unpin", help="Keep it at the top of the page's list.")] = None,
    archived: Annotated[
        bool | None, typer.Option("--archive/--unarchive", help="Hide it from lists until a message arrives.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Change a conversation: where its messages go, its title, time zone, model and agent; pin or archive it."""
    with connected(as_json) as connection:
        key = session_key(connection, session)
        said = {"title": title, "timezone": tz, "pinned": pinned, "archived": archived}
        body: Json = {name: given for name, given in said.items() if given is not None}
        if model is not None:
            body["model"] = model or None
        if agent is not None:
            body["agent_id"] = find_agent(connection.server, agent)["id"]
        if address or no_address:
            known = connection.server.ask("get_session", session_key=key)
            wanted = list(dict.fromkeys([*known["addresses"], *(address or ())]))
            body["addresses"] = [one for one in wanted if one not in (no_address or ())]
            body["revision"] = known["revision"]
        if not body:
            raise refused("Say what to change.", hint="homing sessions update --help")
        answer = connection.server.ask("update_session", session_key=key, **body)
        connection.screen.show(answer, lambda: _updated(answer, agent_named=agent is not None))


def _updated(session: Json, *, agent_named: bool) -> str:
    called = f'"{session["title"]}" ({session["key"]})' if session["title"] else session["key"]
    zone = f", in {session['timezone']}" if session["timezone"] else ""
    agent = f", with {session['agent_id']}" if agent_named or session["agent_id"] != MAIN else ""
    model = f", answered by {session['model']}" if session["model"] else ""
    return f"{called}{zone}{agent}{model} sends its messages to {', '.join(session['addresses']) or 'nobody'}."


def branch(
    session: SessionSaid,
    seq: Annotated[
        int,
        typer.Argument(
            metavar="SEQ", min=1, help="The number of a message (seq): `homing sessions export --format json` shows it."
        ),
    ],
    text: Annotated[
        str | None, typer.Option("--text", help="Send this instead of that message, which must be your own.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Continue from an earlier message in a new conversation. Automations stay with the old one."""
    with connected(as_json) as connection:
        key = session_key(connection, session)
        said = {"text": text} if text is not None else {}
        made = connection.server.ask("branch_session", session_key=key, seq=seq, **said)
        connection.screen.show(made, lambda: f"{made['key']} continues from there: homing chat {made['key']}")


def export(
    session: SessionSaid,
    as_format: Annotated[str, typer.Option("--format", help="markdown or json.")] = "markdown",
    output: Into = None,
) -> None:
    """Write a whole conversation to a file: who said what and when."""
    with connected(as_json=False) as connection:
        key = session_key(connection, session)
        save(connection, output, "export", partial(connection.server.export_session, key, format=as_format))


def read(session: SessionSaid, as_json: AsJson = False) -> None:
    """Mark all of a conversation as read."""
    with connected(as_json) as connection:
        key = session_key(connection, session)
        last = connection.server.ask("get_session", session_key=key)["last_message"]
        answer = connection.server.ask("mark_read", session_key=key, seq=last["seq"] if last else 0)
        left = f" {answer['unread']} arrived just now." if answer["unread"] else ""
        connection.screen.show(answer, lambda: f"All of {key} is read.{left}")


def send_test(
    session: SessionSaid,
    address: Annotated[
        str,
        typer.Argument(metavar="ADDRESS", help="Its own, a webhook of yours, or a granted one."),
    ],
    as_json: AsJson = False,
) -> None:
    """Send a test message to one address."""
    with connected(as_json) as connection:
        key = session_key(connection, session)
        delivery = connection.server.ask("test_address", session_key=key, address=address)
        told = f"On its way to {address} ({delivery['id']}). See how far it got: homing deliveries list"
        connection.screen.show(delivery, lambda: told)


def delete(
    session: SessionSaid,
    delete_automations: Annotated[
        bool, typer.Option("--delete-automations", help="Delete its automations too, without asking.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Delete a conversation; asks first if automations are bound to it."""
    with connected(as_json) as connection:
        key = session_key(connection, session)
        answer, with_them = _delete(connection, key, delete_automations)
        names = [f"{job['name']} ({job['id']})" for job in answer.get("removed", ())]
        also = f" and its old automations {', '.join(names)}" if names else " and its automations" if with_them else ""
        connection.screen.show(answer, lambda: f"Deleted {key}{also}.")


def _delete(connection: Connection, key: str, delete_automations: bool) -> tuple[Json, bool]:
    try:
        answer = connection.server.ask("delete_session", session_key=key, delete_automations=delete_automations)
        return answer, delete_automations
    except Problem as problem:
        if problem.code != "blocked_by_automations":
            raise
        automations = problem.body.get("automations", [])
        if connection.screen.as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
            problem.hint = f"To delete both: homing sessions delete {key} --delete-automations"
            raise
    note(f"{key} has automations:")
    for job in automations:
        note(f"  {job['id']}  {job['name']}{'' if job['enabled'] else ' (paused)'}")
    if not typer.confirm("Delete the conversation and its automations?", err=True):
        raise refused("Nothing was deleted.", code="asked")
    return connection.server.ask("delete_session", session_key=key, delete_automations=True), True
