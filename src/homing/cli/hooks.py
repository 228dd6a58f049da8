"""`hooks add`, `list`, `remove`: doors for other programs into a session."""

from typing import Annotated, Any

import typer

from homing.cli.connection import AsJson, connected
from homing.cli.lookup import find_one, session_key
from homing.cli.problems import Problem, refused
from homing.model.contract import Json

OfSession = Annotated[str | None, typer.Option("-s", "--session", help="A key or a title; else cli:main.")]


def add(
    session: Annotated[str | None, typer.Argument(metavar="SESSION", help="A key or a title; else cli:main.")] = None,
    name: Annotated[str | None, typer.Option("-n", "--name", help="What it is for.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a hook; its address is shown once."""
    with connected(as_json) as connection:
        hook = connection.server.ask("add_hook", session_key=session_key(connection, session), name=name)
        connection.screen.show(hook, lambda: f"{hook['url']}\nKeep it: it is shown only now ({hook['id']}).")


def list_hooks(
    session: Annotated[str | None, typer.Argument(metavar="SESSION", help="A key or a title; else cli:main.")] = None,
    as_json: AsJson = False,
) -> None:
    """List a session's hooks."""
    with connected(as_json) as connection:
        key = session_key(connection, session)

        def drawn(found: list[Json]) -> Any:
            return _table(found, key)

        connection.screen.show_all(connection.server.pages("list_hooks", session_key=key), drawn)


def remove(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids or unique beginnings of them.")],
    session: OfSession = None,
    as_json: AsJson = False,
) -> None:
    """Close hooks."""
    with connected(as_json) as connection:
        key = session_key(connection, session)
        known = list(connection.server.pages("list_hooks", session_key=key))
        for given in ids:
            hook = _find(known, given, key)
            connection.server.ask("remove_hook", session_key=key, hook_id=hook["id"])
            connection.screen.show(hook, lambda h=hook: f"Closed {h['id']}.")


def _find(known: list[Json], given: str, key: str) -> Json:
    try:
        return find_one(known, given, "hook", "hook")
    except Problem as problem:
        if problem.code != "not_found":
            raise
        hint = "For a hook of another session, name it: homing hooks remove ID --session SESSION"
        raise refused(f"There is no hook {given} in {key}.", code="not_found", hint=hint) from None


def _table(hooks: list[Json], key: str) -> Any:
    from rich.text import Text

    from homing.cli import widgets
    from homing.cli.format import away, instant, now

    if not hooks:
        return Text(f"No hooks in {key}. Make one: homing hooks add {key}")
    rows = [
        (
            hook["id"],
            hook["name"] or "",
            key,
            away(instant(hook["created_at"]), now()),
            away(instant(hook["paused_until"]), now()) if hook["paused_until"] else "",
        )
        for hook in hooks
    ]
    return widgets.Listing(headings=("id", "name", "session", "since", "paused"), rows=rows, gives=("name",))
