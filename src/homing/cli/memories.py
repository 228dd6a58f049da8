"""`memories list`, `add`, `confirm`, `remove`."""

from typing import Annotated, Any

import typer

from homing.cli.connection import AsJson, connected
from homing.cli.lookup import find_one
from homing.model.contract import Json


def list_memories(
    q: Annotated[str | None, typer.Option(help="Words to look for.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many.")] = None,
    as_json: AsJson = False,
) -> None:
    """List what is remembered about you."""
    with connected(as_json) as connection:

        def drawn(found: list[Json]) -> Any:
            return _table(found)

        connection.screen.show_all(connection.server.pages("list_memories", limit=limit, q=q), drawn)


def add(text: Annotated[str, typer.Argument(metavar="TEXT", help="One fact.")], as_json: AsJson = False) -> None:
    """Remember a fact in every conversation of yours."""
    with connected(as_json) as connection:
        memory = connection.server.ask("add_memory", text=text)
        connection.screen.show(memory, lambda: f"Remembered ({memory['id']}).")


def confirm(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids or unique beginnings of them.")],
    as_json: AsJson = False,
) -> None:
    """Keep facts that came from a hook, an automation or other outside text."""
    with connected(as_json) as connection:
        known = list(connection.server.pages("list_memories"))
        for given in ids:
            memory = find_one(known, given, "memory", "mem")
            memory = connection.server.ask("confirm_memory", memory_id=memory["id"])
            connection.screen.show(memory, lambda m=memory: f'Confirmed "{m["text"]}" ({m["id"]}).')


def remove(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids or unique beginnings of them.")],
    as_json: AsJson = False,
) -> None:
    """Forget facts."""
    with connected(as_json) as connection:
        known = list(connection.server.pages("list_memories"))
        for given in ids:
            memory = find_one(known, given, "memory", "mem")
            connection.server.ask("remove_memory", memory_id=memory["id"])
            connection.screen.show(memory, lambda m=memory: f'Forgot "{m["text"]}" ({m["id"]}).')


def _table(memories: list[Json]) -> Any:
    from rich.text import Text

    from homing.cli import widgets
    from homing.cli.format import away, instant, now

    if not memories:
        return Text("Nothing is remembered yet. Say `remember …` in a chat, or: homing memories add TEXT")
    rows = [
        (memory["id"], memory["text"], _origin(memory), away(instant(memory["created_at"]), now()))
        for memory in memories
    ]
    return widgets.Listing(headings=("id", "text", "from", "since"), rows=rows, gives=("text",), fold=True)


def _origin(memory: Json) -> str:
    place = memory["session_key"] or ""
    return place if memory["confirmed"] else f"{place} (unconfirmed: {memory['source']})".strip()
