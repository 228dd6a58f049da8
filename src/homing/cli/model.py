"""`model get`, `set` and `list`: which model this server uses. A key is typed or piped in, never an argument."""

import sys
from typing import Annotated, Any

import typer

from homing.cli.connection import AsJson, Connection, connected
from homing.cli.problems import Problem, refused
from homing.model.contract import Json

_AUTO = "auto"
_MOST_PIPED = 10_000


def get(as_json: AsJson = False) -> None:
    """Show which model this server uses, and why."""
    with connected(as_json) as connection:
        answer = connection.server.ask("get_model")
        connection.screen.show(answer, lambda: _card(answer))


def set_model(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="Such as openai:gpt-5 or ollama:llama3.2; `offline` for none; `auto` for what the environment says.",
        ),
    ],
    base_url: Annotated[
        str | None, typer.Option(help="The address of another server, such as http://127.0.0.1:11434/v1.")
    ] = None,
    key: Annotated[
        bool, typer.Option("--key", help="Ask for the provider's key; piped in, it is the first line.")
    ] = False,
    no_key: Annotated[
        bool, typer.Option("--no-key", help="The server needs no key; forget the one that is kept.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Choose the model of this server: it is asked once, kept if it answers, and used from the next turn on."""
    if key and no_key:
        raise refused("Use --key or --no-key, not both.")
    given: Json = {"model": None if name == _AUTO else name}
    given |= {} if base_url is None else {"base_url": base_url}
    given |= {"key": _read_key()} if key else {"key": ""} if no_key else {}
    with connected(as_json) as connection:
        answer = _set(connection, given)
        connection.screen.show(answer, lambda: _card(answer))


def _set(connection: Connection, given: Json) -> Json:
    try:
        return connection.server.ask("set_model", **given)
    except Problem as problem:
        lacks_key = any(
            (error.get("field"), error.get("code")) == ("key", "missing") for error in problem.body.get("errors", ())
        )
        if str(given["model"]).startswith("ollama:") and "base_url" not in given:
            problem.hint = f"Say where it runs: homing model set {given['model']} --base-url http://127.0.0.1:11434/v1"
            raise
        if not lacks_key or "key" in given:
            raise
        if connection.screen.as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
            problem.hint = f"Pipe it in: homing model set {given['model']} --key < FILE"
            raise
    return connection.server.ask("set_model", **given, key=_read_key())


def _read_key() -> str:
    """Read the key without showing it."""
    if sys.stdin.isatty():
        return typer.prompt("Key", hide_input=True, err=True, default="", show_default=False)
    return sys.stdin.readline(_MOST_PIPED).strip()


def list_models(
    base_url: Annotated[str | None, typer.Option(help="A server to ask for its models.")] = None,
    as_json: AsJson = False,
) -> None:
    """List models that can be chosen: of servers on this machine, and of one you name."""
    with connected(as_json) as connection:
        answer = connection.server.ask("list_models", base_url=base_url)
        connection.screen.show(answer, lambda: _listing(answer))


def _card(answer: Json) -> Any:
    from rich.console import Group
    from rich.text import Text

    from homing.cli import widgets

    chosen: Json = answer["chosen"] or {}
    own: Json = answer["own_models"]
    apart = [f"{agent['id']} ({agent['model']})" for agent in own["agents"]]
    apart += [
        f"{own[what]} {word}" for what, word in (("sessions", "conversations"), ("jobs", "automations")) if own[what]
    ]
    facts = widgets.facts(
        [
            ("Model", answer["model"]),
            ("Why", answer["why"]),
            ("Address", chosen.get("base_url")),
            ("Key", "kept in Homing's home" if chosen.get("has_key") else None),
            ("Problem", answer["problem"]),
            ("Not here", answer["cannot_set"]),
            ("Own models", ", ".join(apart)),
        ]
    )
    return Group(facts, *(Text(f"Note: {warning}") for warning in answer["warnings"]))


def _listing(answer: Json) -> Any:
    from rich.console import Group
    from rich.text import Text

    from homing.cli import widgets

    rows = [(one["model"], one["server"], one["base_url"]) for one in answer["items"]]
    rows += [
        (one["model"], one["name"], "has a key" if one["has_key"] else "needs a key")
        for one in answer["providers"]
        if one["installed"]
    ]
    lines = [answer["note"]] if answer["note"] else []
    lines += [f"Did you mean {answer['suggested_url']}?"] if answer["suggested_url"] else []
    lines.append("Choose one: homing model set NAME [--base-url URL] [--key]")
    table = widgets.Listing(headings=("model", "from", "where"), rows=rows, gives=("where", "from"))
    return Group(table, *map(Text, lines))
