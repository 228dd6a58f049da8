"""`search`: words in your messages, automations, memories and conversations."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from homing.cli.connection import AsJson, connected
from homing.cli.format import instant, moment, now
from homing.model.contract import Json


class Kind(StrEnum):
    """Where to look."""

    MESSAGE = "message"
    JOB = "job"
    MEMORY = "memory"
    SESSION = "session"


def search(
    words: Annotated[list[str], typer.Argument(metavar="WORDS", help="All of them are in what is found.")],
    kind: Annotated[Kind | None, typer.Option(help="Only messages, automations, memories or conversations.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="The most to show.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Find words in your messages, automations, memories and conversations, the newest first."""
    with connected(as_json) as connection:
        asked = {"q": " ".join(words), "kind": kind.value if kind else None, "limit": limit}
        answer = connection.server.ask("search", **asked)
        connection.screen.show(answer, lambda: _drawn(answer))


def _drawn(answer: Json) -> Any:
    from rich.console import Group
    from rich.text import Text

    from homing.cli import widgets

    rows = [
        (
            item["kind"],
            item["title"] or item["session_key"] or "",
            _marked(item),
            moment(instant(item["at"]), now()),
        )
        for item in answer["items"]
    ]
    lines = [] if rows else [Text("Nothing has these words.")]
    if answer["next_cursor"]:
        lines.append(Text("There is more: give more words, or --limit.", style=widgets.QUIET))
    if answer["pending"]:
        lines.append(Text(f"{answer['pending']:,} messages are not indexed yet.", style=widgets.QUIET))
    headings = ("kind", "where", "words", "when")
    table = [widgets.Listing(headings=headings, rows=rows, gives=("words", "where"))] if rows else []
    return Group(*table, *lines)


def _marked(item: Json) -> Any:
    from rich.text import Text

    text = Text(item["words"])
    for start, end in item["marks"]:
        text.stylize("bold", start, end)
    return text
