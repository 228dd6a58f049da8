"""`hooks add`, `list`, `remove`: doors for other programs into a session."""

from typing import Annotated, Any

import typer

from homing.cli.asking import AsJson, Desk, asking
from homing.cli.naming import find_one, session_key
from homing.cli.server import Json, pages, part

OfSession = Annotated[str | None, typer.Option("-s", "--session", help="A key or a title; else cli:main.")]


def add(
    session: Annotated[str | None, typer.Argument(metavar="SESSION", help="A key or a title; else cli:main.")] = None,
    name: Annotated[str | None, typer.Option("-n", "--name", help="What it is for.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a hook; its address is shown once."""
    with asking(as_json) as desk:
        hook = desk.server.ask("POST", _path(desk, session), {} if name is None else {"name": name})
        desk.screen.show(hook, lambda: f"{hook['url']}\nKeep it: it is shown only now ({hook['id']}).")


def list_hooks(
    session: Annotated[str | None, typer.Argument(metavar="SESSION", help="A key or a title; else cli:main.")] = None,
    as_json: AsJson = False,
) -> None:
    """List a session's hooks."""
    with asking(as_json) as desk:

        def drawn(found: list[Json]) -> Any:
            return _table(found)

        desk.screen.show_all(pages(desk.server, _path(desk, session), {}), drawn)


def remove(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids or unique beginnings of them.")],
    session: OfSession = None,
    as_json: AsJson = False,
) -> None:
    """Close hooks."""
    with asking(as_json) as desk:
        path = _path(desk, session)
        known = list(pages(desk.server, path, {}))
        for said in ids:
            hook = find_one(known, said, "hook of this session", "hook")
            desk.server.ask("DELETE", f"{path}/{part(hook['id'])}")
            desk.screen.show(hook, lambda h=hook: f"Closed {h['id']}.")


def _path(desk: Desk, session: str | None) -> str:
    return f"/api/sessions/{part(session_key(desk, session))}/hooks"


def _table(hooks: list[Json]) -> Any:
    from rich.text import Text

    from homing.cli import draw
    from homing.cli.look import away, instant, now

    if not hooks:
        return Text("No hooks. Make one: homing hooks add SESSION")
    rows = [
        (
            hook["id"], hook["name"] or "", away(instant(hook["created_at"]), now()),
            away(instant(hook["paused_until"]), now()) if hook["paused_until"] else "",
        )
        for hook in hooks
    ]  # fmt: skip
    return draw.Listing(headings=("id", "name", "since", "paused"), rows=rows, gives=("name",))
