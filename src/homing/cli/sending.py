"""`homing send`: one message from a script, and if wanted its answer."""

import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from homing.cli.completion import sessions
from homing.cli.connection import AsJson, Connection, connected, need_server
from homing.cli.lookup import session_to_write_to
from homing.cli.problems import FAILED, refused
from homing.model.contract import Json

_LONGEST_WAIT = 120


def send(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[SESSION] TEXT|-",
            help="A key, a title, or NAME for cli:NAME, else HOMING_SESSION; and what to say; - reads it from stdin.",
            autocompletion=sessions,
        ),
    ],
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the answer and print it.")] = False,
    file: Annotated[
        list[Path] | None, typer.Option("-f", "--file", metavar="PATH", help="A file to send with it; may be repeated.")
    ] = None,
    queue: Annotated[bool, typer.Option("--queue", help="Give it its own turn, not a running one.")] = False,
    as_json: AsJson = False,
) -> None:
    """Send a message to a conversation."""
    *named, text = words
    if len(named) > 1:
        raise refused("Write the text in quotes: homing send SESSION 'TEXT'.")
    session = named[0] if named else None
    given = sys.stdin.read().strip() if text == "-" else text
    if not given:
        raise refused("There is nothing to send. Write the text after the session, or - and pipe it in.")
    body: dict[str, Any] = {"text": given} | ({"mode": "queue"} if queue else {})
    with connected(as_json) as connection:
        if wait:
            need_server(connection, "--wait")
        key = session_to_write_to(connection, session)
        if file:
            body["files"] = [connection.server.add_file(path)["id"] for path in file]
        answer = connection.server.ask("send_message", session_key=key, **body, wait=_LONGEST_WAIT if wait else None)
        if wait and "outcome" not in answer:
            answer = _wait_longer(connection, key, answer)
        connection.screen.show(answer, lambda: _drawn(answer, answering=connection.server.alive))
        if answer.get("outcome") in ("failed", "cancelled"):
            raise typer.Exit(FAILED)


def _wait_longer(connection: Connection, key: str, sent: Json) -> Json:
    """The server's patience is over, ours is not: look for the closing of the turn that took the message."""
    while True:
        time.sleep(1)
        messages = connection.server.ask("list_messages", session_key=key, limit=200)["items"]
        taken = next((m["turn_id"] for m in messages if m["inbound_id"] == sent["inbound_id"]), None)
        closing = next((m for m in messages if taken and m["turn_id"] == taken and m["role"] == "assistant"), None)
        if closing is not None:
            return {**sent, "turn_id": taken, "outcome": closing["meta"].get("outcome", "answered"), "message": closing}


def _drawn(answer: Json, *, answering: bool) -> Any:
    from rich.markdown import Markdown

    message = answer.get("message")
    if message is not None:
        return Markdown(message["text"])
    will = {
        "start": "It is being answered." if answering else "It waits for an engine.",
        "inject": "The running turn takes it along.",
        "queue": "It waits its turn.",
    }
    return f"Sent to {answer['session_key']} ({answer['inbound_id']}). {will.get(answer['will'], '')}".rstrip()
